"""Back ends that cannot be used: each is reported by name with the reason, and the CPU remains
usable."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kit import build, process
from kit.binding import root

REPORT = """
print([(i.name.decode(), i.device_count, i.reason.decode()) for i in rt.backends()])
memory = make.buffer(64, 3)
assert memory.read() == bytes([3]) * 64
"""

# Back ends that come with the package, whether or not there is a device for them.
FILES = (root() / "lib/backends").glob("*.so")
PACKAGED = {path.stem.removeprefix("libinfini_") for path in FILES} - {"cpu"}


def report(*libraries: str | Path, **changes: str | None) -> dict[str, tuple[int, str]]:
    path = ":".join(map(str, libraries))
    said = process.python(REPORT, INFINI_BACKEND_PATH=path, INFINI_DEVICE="cpu", **changes)
    found = eval(said)  # what our own program printed
    assert found[0] == ("cpu", 1, "")
    return {name: (count, reason) for name, count, reason in found[1:] if name not in PACKAGED}


CASES = {
    "abi99": ["version 99", "newer infinicore"],
    "abi0": ["version 0", "rebuild the back end"],
    "small": ["24 bytes", "rebuild"],
    "lacking": ["submit", "event_elapsed"],
    "refusing": ["returned null"],
    "crash": ["crashed in its probe", "Abort"],
    "exit": ["ended its process", "exit code 3"],
    "absent": ["the simulated hardware is switched off"],
    "cpu": ["already loaded", "libinfini_cpu"],
}


@pytest.mark.parametrize("variant", CASES)
def test_reported_and_skipped(sample, variant):
    library, words = sample(variant), CASES[variant]
    found = report(library)
    assert len(found) == 1
    name, (count, reason) = next(iter(found.items()))
    assert count == 0
    assert name in (library.name, "sample", "cpu")
    for word in words:
        assert word in reason, reason


@pytest.mark.parametrize("variant", ["hang", "stuck"])
def test_one_that_hangs_is_given_up(sample, variant):
    library = sample(variant)
    code = process.PRELUDE + REPORT
    done = process.run(
        [sys.executable, "-c", code],
        60,  # the default of 5 s, plus a start on a busy machine
        INFINI_BACKEND_PATH=str(library),
        INFINI_DEVICE="cpu",
        INFINI_PROBE_SECONDS=None,
    )
    assert done.returncode == 0, done.stderr
    assert "hung in its probe (no answer in 5 s" in done.stdout
    warnings = [line for line in done.stderr.splitlines() if "warning" in line]
    assert len(warnings) == 1, done.stderr
    assert str(library) in warnings[0]
    assert "INFINI_PROBE_SECONDS" in warnings[0]


def test_the_time_for_probes_can_be_set(sample):
    found = report(sample("hang"), INFINI_PROBE_SECONDS="1")
    assert "no answer in 1 s" in next(iter(found.values()))[1]
    found = report(sample("hang"), INFINI_PROBE_SECONDS="soon")
    assert "no answer in 5 s" in next(iter(found.values()))[1]


def test_a_library_that_is_no_back_end(tmp_path):
    source, library = tmp_path / "other.cc", tmp_path / "other.so"
    source.write_text("int nothing;\n")
    found = report(build.shared_library(source, library))
    assert list(found) == ["other.so"]
    assert "infini_backend_open" in found["other.so"][1]


def test_files_that_are_no_libraries(tmp_path):
    text, missing = tmp_path / "text.so", tmp_path / "missing.so"
    text.write_text("no library")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "broken.so").write_bytes(b"\x7fELF broken")
    found = report(text, missing, folder)
    assert set(found) == {"text.so", "missing.so", "broken.so"}
    for count, reason in found.values():
        assert count == 0
        assert "cannot be opened" in reason


def test_a_good_one_beside_bad_ones(sample):
    found = report(sample("crash"), sample(), sample("abi99"))
    assert found["sample"] == (2, "")
    assert len(found) == 3


def test_a_second_one_of_the_same_name(sample):
    found = process.python(
        "print([(i.name.decode(), i.device_count, i.path.decode()) for i in rt.backends()])",
        INFINI_BACKEND_PATH=f"{sample()}:{sample('second')}",
        INFINI_DEVICE="cpu",
    )
    kinds = [(name, count) for name, count, _ in eval(found) if name == "sample" or count]
    assert kinds == [("cpu", 1), ("sample", 2), ("sample", 0)]


def test_loading_says_why_not(sample):
    said = process.python(
        "print(rt.load_backend(sys.argv[1]), rt.message())\n"
        "print(rt.load_backend('/no/such/file.so'))",
        sample("abi99"),
        INFINI_DEVICE=None,
        INFINI_BACKEND_PATH=None,
    ).splitlines()
    assert said[0].startswith("INFINI_STATUS_DEVICE_NOT_FOUND infinirtLoadBackend: ")
    assert "version 99" in said[0]
    assert said[1] == "INFINI_STATUS_DEVICE_NOT_FOUND"


def test_asking_for_one_that_cannot_be_used(sample):
    said = process.python(
        "print(rt.code.GetDeviceCount(), rt.message())",
        INFINI_BACKEND_PATH=str(sample("absent")),
        INFINI_DEVICE="sample",
    )
    assert said.startswith("ErrorNoDevice")
    assert "switched off" in said


def test_the_contract_fits_in_300_lines():
    text = (root() / "include" / "infini" / "backend.h").read_text()
    assert len(text.splitlines()) < 300


# ---- Through the Python package -----------------------------------------------------------------


def infini(*arguments: str, **changes: str | None) -> str:
    done = process.run([sys.executable, "-m", "infinicore", *arguments], **changes)
    if done.returncode and "No module named" in done.stderr:
        pytest.skip("the Python package is not installed")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_infini_info_tells_the_reasons(sample):
    path = f"{sample('crash')}:{sample('absent')}"
    said = infini("info", INFINI_BACKEND_PATH=path, INFINI_DEVICE=None)
    assert "crashed in its probe" in said
    assert "switched off" in said
    assert "cpu:0" in said


def test_an_entry_point_package(sample, tmp_path):
    """A package that offers a back end in the group infinicore.backends."""
    (tmp_path / "sample_backend.py").write_text(
        f"def library():\n    return {str(sample())!r}\n\n"
        "def broken():\n    raise OSError('not today')\n"
    )
    info = tmp_path / "sample_backend-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sample-backend\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[infinicore.backends]\nsample = sample_backend:library\nother = sample_backend:broken\n"
    )
    paths = process.environment()["PYTHONPATH"]
    said = infini(
        "info",
        "--json",
        PYTHONPATH=f"{tmp_path}:{paths}",
        INFINI_DEVICE=None,
        INFINI_BACKEND_PATH=None,
    )
    found = json.loads(said)
    assert [d["name"] for d in found["devices"] if d["kind"] == "sample"] == [
        "simulated device 0",
        "simulated device 1",
    ]
    assert "not today" in found["absent"]["other"]
