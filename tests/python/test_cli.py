"""The command `infini`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from infinicore import rt
from infinicore.cli import doctor, info, main


def test_info_lists_devices_and_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    for device in rt.devices():
        assert f"{device.kind}:{device.index}" in out
        assert device.name in out
    for kind, reason in rt.absent_kinds().items():
        assert kind in out
        assert reason in out


def test_info_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["default"] == rt.kind()
    assert len(found["devices"]) == len(rt.devices())
    assert found["devices"][0]["memory_total"] > 0
    assert found["absent"] == rt.absent_kinds()
    assert "shared memory" in found["collectives"]["cpu"]


def test_config_tells_where_things_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--root"]) == 0
    root = Path(capsys.readouterr().out.strip())
    assert (root / "lib" / "libinfinirt.so").exists()
    assert main(["config", "--cflags", "--libs"]) == 0
    words = capsys.readouterr().out.split()
    assert words[0] == f"-I{root / 'include'}"
    assert "-linfinirt" in words
    assert main(["config", "--cmake-dir"]) == 0
    assert capsys.readouterr().out.strip() == str(root / "lib" / "cmake" / "Infini")


def test_doctor_reports_and_tests(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFINI_SOMETHING", "shown")
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for part in ("Python", "libinfini_", "INFINI_SOMETHING", "shown", "pass"):
        assert part in out
    monkeypatch.setattr(doctor, "copy", broken)
    assert main(["doctor"]) == 1
    assert "FAIL: AssertionError: broken on purpose" in capsys.readouterr().out


def broken() -> None:
    """A test that fails."""
    raise AssertionError("broken on purpose")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "expected a command"),
        (["config"], "expected at least one of --root"),
        (["demo", "--mib", "none"], "expected a whole number above 0, got 'none'"),
        (["fly"], "invalid choice: 'fly'"),
    ],
)
def test_wrong_arguments_are_explained(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert words in capsys.readouterr().err


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "infinicore", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("infinicore ")


PACKAGES = {
    "fine": "path = '{library}'",
    "asked": "def path():\n    return '{library}'",
    "broken": "raise ImportError('no driver')",
    "missing": "path = '/nowhere/libinfini_missing.so'",
}


def test_back_ends_of_installed_packages(tmp_path: Path) -> None:
    """Entry points are opened at import; errors are listed and do not raise."""
    library = next(backend.path for backend in rt.backends() if backend.device_count)
    for name, source in PACKAGES.items():
        (tmp_path / f"{name}_plugin.py").write_text(source.format(library=library))
        folder = tmp_path / f"{name}_plugin-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}-plugin\nVersion: 1.0\n"
        )
        (folder / "entry_points.txt").write_text(
            f"[infinicore.backends]\n{name} = {name}_plugin:path\n"
        )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from infinicore import rt\n"
        "for b in rt.backends(): print(b.name, '|', b.path, '|', b.reason)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = {line.split(" | ")[0].strip(): line for line in done.stdout.splitlines()}
    assert "ImportError: no driver" in lines["broken"]
    assert "/nowhere/libinfini_missing.so" in done.stdout
    assert sum(library in line for line in done.stdout.splitlines()) == 1  # opened once


def test_info_says_where_programs_run_on_the_host() -> None:
    """The output for device types whose back ends compile no kernels."""
    device = {"index": 0, "name": "x", "memory_free": 1, "memory_total": 1, "vendor": "v"}
    found = {
        "default": "cpu",
        "devices": [{**device, "kind": kind, "version": "1"} for kind in ("cpu", "kunlun")],
        "collectives": {},
        "absent": {},
    }
    lines = [line for line in info.text(found).splitlines() if "interpreted" in line]
    assert [line.split()[0] for line in lines] == ["kunlun"]
