"""`infini demo`: in a pipe, on a terminal, on the simulated CUDA, and with faults."""

from __future__ import annotations

import math
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infinicore.cli import demo, main
from infinicore.cli.demo import graphs, layer, operators, ranks, streams
from infinicore.cli.demo.rows import Row
from infinicore.cli.table import duration, table
from infinicore.cli.terminal import Terminal
from kit import process
from kit.binding import root
from kit.requirements import need
from simulated.cuda import build as simulated

# The environment of a new user: without NumPy and torch.
PROGRAM = """
import sys
sys.modules.update(numpy=None, torch=None)
from infinicore.cli import main
sys.exit(main(["demo", "--mib", "1", *sys.argv[1:]]))
"""
COMMAND = [sys.executable, "-c", PROGRAM]
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
ALL_RIGHT = re.compile(r"All \d+ results are right; it took \d+ s\.\n$")


def run(*arguments: str, **changes: str | None) -> subprocess.CompletedProcess[str]:
    settings: dict[str, str | None] = {"INFINI_DEVICE": None, **changes}
    return process.run([*COMMAND, *arguments], **settings)


def on_terminal(**changes: str | None) -> str:
    """The terminal output of a successful demo on the CPU."""
    settings: dict[str, str | None] = {"TERM": "xterm", "NO_COLOR": None, "LC_ALL": "C.UTF-8"}
    ours, theirs = pty.openpty()
    received: list[bytes] = []

    def read() -> None:
        try:
            while chunk := os.read(ours, 4096):
                received.append(chunk)
        except OSError:  # the other end was closed
            pass

    child = subprocess.Popen(
        [*COMMAND, "--device", "cpu"],
        stdout=theirs,
        stdin=subprocess.DEVNULL,
        env=process.environment(**{**settings, **changes}),
    )
    os.close(theirs)
    reader = threading.Thread(target=read)
    reader.start()
    assert child.wait(timeout=120) == 0
    reader.join()
    os.close(ours)
    return b"".join(received).decode().replace("\r\n", "\n")


def left_on_screen(sent: str) -> str:
    """The text that remains after lines were cleared and rewritten."""
    return "\n".join(line.rpartition("\r\x1b[K")[2] for line in sent.split("\n"))


# ---- Appearance ----------------------------------------------------------------------------------


def test_plain_lines_in_a_pipe() -> None:
    done = run("--device", "cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    assert "█" not in done.stdout
    for number, part in enumerate(demo.PARTS, 1):
        assert f"[{number}/{len(demo.PARTS)}] {part.title.partition(':')[0]}\n" in done.stdout
    assert ALL_RIGHT.search(done.stdout)
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_colours_bars_and_progress_on_a_terminal() -> None:
    sent = on_terminal()
    assert "\r\x1b[K" in sent
    shown = left_on_screen(sent)
    assert "\x1b[K" not in shown
    assert COLOUR.search(shown)
    plain = COLOUR.sub("", shown)
    assert ALL_RIGHT.search(plain)
    assert "█" in plain
    assert "[1/" not in plain
    # Columns line up in spite of the colours.
    lines = [line for line in plain.splitlines() if re.search(r" ok  ", line)]
    assert len({line.index(" ok  ") for line in lines}) == 1


def test_no_color_is_respected() -> None:
    sent = on_terminal(NO_COLOR="1")
    assert not COLOUR.search(sent)
    assert "█" in sent


def test_a_dumb_terminal_gets_plain_lines() -> None:
    sent = on_terminal(TERM="dumb")
    assert "\x1b" not in sent
    assert "\r" not in sent
    assert "[1/" in sent


def test_a_terminal_without_unicode() -> None:
    sent = on_terminal(LC_ALL="C", PYTHONIOENCODING="ascii")
    assert sent.isascii()
    assert "####" in sent


def test_a_heading_and_colours_in_a_table() -> None:
    red = "\x1b[31mred\x1b[0m"
    shown = table(("a", "b"), ["heading", (red, "1"), ("x", "2")])
    assert shown == f"a    b\n---  -\nheading\n{red}  1\nx    2"


def test_times_have_their_unit() -> None:
    shown = [duration(s) for s in (1.234e-6, 9.996e-4, 0.0321, 0.9999, 12.0)]
    assert shown == ["1.23 us", "1 ms", "32.1 ms", "1 s", "12 s"]


def test_the_help_tells_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["demo", "--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert "--device" in out
    assert "1 if one is wrong or the requested device does not work" in out
    assert "2 if there is no such device" in out


# ---- Right and wrong ----------------------------------------------------------------------------


@pytest.fixture
def run_parts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str]]:
    """The exit status and the output of some parts alone."""

    def run_them(*modules: Any) -> tuple[int, str]:
        parts = [part for part in demo.PARTS if sys.modules[part.show.__module__] in modules]
        monkeypatch.setattr(demo, "PARTS", parts)
        # Four ranks share the cores with the other processes of a run.
        monkeypatch.setattr(ranks, "TIMEOUT_SECONDS", 200.0)
        status = main(["demo", "--mib", "1"])
        return status, capsys.readouterr().out

    return run_them


WRONG_RESULTS: dict[Any, tuple[str, Any]] = {
    operators: ("CASES", [operators.CASES[0]._replace(definition=operators.each(math.tanh))]),
    layer: ("LIMIT", -1.0),
    ranks: ("is_sum", lambda result, ranks: False),
}


@pytest.mark.parametrize("module", [operators, layer, ranks], ids=lambda m: m.__name__)
def test_a_wrong_result_is_an_exit_status(
    module: Any, run_parts: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, value = WRONG_RESULTS[module]
    monkeypatch.setattr(module, name, value)
    status, out = run_parts(module)
    assert status == 1
    assert "WRONG" in out
    assert re.search(r"\d of \d results are wrong", out)


@pytest.mark.parametrize("module", [streams, graphs], ids=lambda m: m.__name__)
def test_wrong_bytes_are_an_exit_status(
    module: Any, run_parts: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infinicore.rt.Memory.to_bytes", lambda self: object())
    status, out = run_parts(module)
    assert status == 1
    assert "WRONG" in out


def test_a_part_that_fails_does_not_stop_the_others(
    run_parts: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(name: str) -> None:
        raise RuntimeError("broken on purpose\nand more")

    monkeypatch.setattr(graphs.rt, "capture", broken)
    status, out = run_parts(graphs, ranks)
    assert status == 1
    assert re.search(r"failed: RuntimeError +WRONG +broken on purpose\n", out)
    assert re.search(r"add up 4 MiB each +ok", out)


def test_times_are_shown_and_never_judged(
    run_parts: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "overlap", lambda spans: 0.0)
    status, out = run_parts(streams)
    assert status == 0
    assert "no overlap on this device" in out


def test_overlap_is_a_share_of_the_shorter_work() -> None:
    assert streams.overlap([(0.0, 4.0), (1.0, 3.0)]) == 1.0
    assert streams.overlap([(0.0, 4.0), (3.0, 5.0)]) == 0.5
    assert streams.overlap([(0.0, 1.0), (2.0, 3.0)]) == 0.0
    assert streams.overlap([(0.0, 0.0), (0.0, 3.0)]) == 0.0


def test_errors_in_units_of_the_last_digit() -> None:
    float32, float16, bfloat16 = operators.TYPES
    assert operators.ulp(1.5, float32) == 2.0**-23
    assert operators.ulp(-0.75, float16) == 2.0**-11
    assert operators.ulp(0.0, float16) == 2.0**-24  # subnormal numbers are equally spaced
    assert operators.ulp(300.0, bfloat16) == 2.0
    assert operators.error_of(math.nan, 1.0, 1.0) == math.inf


def test_a_bar_is_as_long_as_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    terminal.is_interactive, terminal.has_colour, terminal.full = True, False, "#"
    monkeypatch.setenv("COLUMNS", str(demo.BESIDE_BARS + 10))
    shown = demo.report(terminal, [("A: b", [Row("x", True, "2", 2.0), Row("y", None, "1", 1.0)])])
    assert shown.splitlines()[-2].endswith("2       " + "#" * 10)
    assert shown.splitlines()[-1].endswith("1       " + "#" * 5)


# ---- Devices ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("nvidia", "the NVIDIA driver (libcuda.so.1) is not in INFINI_NVIDIA_LIBRARIES"),
        ("cuda", "the NVIDIA driver (libcuda.so.1) is not in INFINI_NVIDIA_LIBRARIES"),
        ("ascend", "the CANN runtime (libascendcl.so) was not found"),
        ("cpu:7", "there are 1 of them, counted from 0"),
        ("toaster", "'toaster' is no device type: expected one of cpu, "),
    ],
)
def test_a_device_that_is_not_there(device: str, words: str, tmp_path: Path) -> None:
    done = run("--device", device, INFINI_NVIDIA_LIBRARIES=str(tmp_path))
    assert done.returncode == 2
    assert not done.stdout
    assert "infini demo: --device" in done.stderr
    assert words in done.stderr


def test_a_variable_that_names_no_device_here(tmp_path: Path) -> None:
    done = run(INFINI_DEVICE="nvidia", INFINI_NVIDIA_LIBRARIES=str(tmp_path))
    assert done.returncode == 2
    assert "INFINI_DEVICE=nvidia: no such device here: the NVIDIA driver" in done.stderr


@pytest.fixture(scope="module")
def libraries() -> Path:
    need("c++")
    return simulated.folder(root())


def expect_the_cpu_with(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    for each in (*words, "`infini doctor`", "cpu:0"):
        assert each in said
    assert ALL_RIGHT.search(done.stdout)


def test_a_library_that_cannot_be_opened(libraries: Path, tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").symlink_to(libraries / "libcuda.so.1")
    (tmp_path / "libcudart.so.12").write_text("no library")
    done = run(INFINI_NVIDIA_LIBRARIES=str(tmp_path))
    expect_the_cpu_with(done, "No accelerator can be used:", "the CUDA runtime", "cannot be op")


def test_a_device_without_a_compiler_for_its_kernels(libraries: Path, tmp_path: Path) -> None:
    for name in ("libcuda.so.1", "libcudart.so.12", "engine"):
        (tmp_path / name).symlink_to(libraries / name)
    done = run(INFINI_NVIDIA_LIBRARIES=str(tmp_path))
    expect_the_cpu_with(done, "nvidia:0 is present, but does not work:", "no operators:")


def test_a_first_kernel_that_fails(libraries: Path, tmp_path: Path) -> None:
    settings = {
        "INFINI_NVIDIA_LIBRARIES": str(libraries),
        "INFINI_CACHE": str(tmp_path),
        "INFINI_SIMULATED_FLAGS": "-include no_such_header.h",
    }
    done = run(**settings)
    expect_the_cpu_with(done, "nvidia:0 is present, but does not work:", "no_such_header.h")
    done = run("--device", "nvidia", **settings)
    assert done.returncode == 1
    assert "no_such_header.h" in done.stdout
    assert "cpu:0" not in done.stdout


@pytest.mark.parametrize("sticky", [None, "1"], ids=["one call fails", "all calls fail"])
def test_a_first_kernel_that_crashes(sticky: str | None, libraries: Path, tmp_path: Path) -> None:
    """Even if every later call to the device fails, the CPU can be shown."""
    header = tmp_path / "crash.h"
    header.write_text(f'''
#include "{libraries / "environment.h"}"
#undef blockIdx
#define blockIdx (__builtin_trap(), ::simulated::state.block)
''')
    done = run(
        INFINI_NVIDIA_LIBRARIES=str(libraries),
        INFINI_CACHE=str(tmp_path),
        INFINI_SIMULATED_FLAGS=f"-include {header}",
        INFINI_SIMULATED_STICKY=sticky,
    )
    expect_the_cpu_with(done, "nvidia:0 is present, but does not work:", "cudaErrorIllegalAddress")


@pytest.mark.parametrize(
    ("devices", "words"), [(1, "on the CPU: there is one nvidia device"), (2, "2 devices add up")]
)
def test_simulated_devices(devices: int, words: str, libraries: Path) -> None:
    # A token takes a third of a second there.
    few_tokens = f"from infinicore.cli.demo import layer\nlayer.TOKENS = 2\n{PROGRAM}"
    done = process.run(
        [sys.executable, "-c", few_tokens],
        timeout=240,
        INFINI_DEVICE=None,
        INFINI_NVIDIA_LIBRARIES=str(libraries),
        INFINI_CACHE=str(libraries / "cache-plain"),
        INFINI_SIM_DEVICES=str(devices),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nvidia:0, simulated" in done.stdout
    assert words in done.stdout
    assert ALL_RIGHT.search(done.stdout)
