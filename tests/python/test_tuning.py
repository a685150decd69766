"""The tuning file: measured, written, shipped, locked, damaged. docs/tuning.md."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kit import process

pytestmark = pytest.mark.host

TUNE = "import sys; from infinicore.cli import main; sys.exit(main(['tune', *sys.argv[1:]]))"
# One loop on several threads.
LOOP = "import infinicore; assert infinicore.ones(1000, 1000).exp().numel() == 10**6"
# Threads of the pool start when a loop first has them, and then name themselves: prints how many
# have, after some seconds unless it is the 2 that a pool of 3 can start.
STARTED = """
import sys, time
from pathlib import Path
import infinicore
from infinicore.nn import functional as F
if sys.argv[1] == "exp":
    infinicore.zeros(100_000).exp()
elif sys.argv[1] == "sum":
    infinicore.zeros(1000, 300).sum(-1)
else:
    q, k = infinicore.zeros(1, 8, 1, 64), infinicore.zeros(1, 8, 1000, 64)
    F.scaled_dot_product_attention(q, k, k)
end = time.monotonic() + float(sys.argv[2])
while True:
    names = [each.read_text() for each in Path("/proc/self/task").glob("*/comm")]
    started = names.count("infini-pool\\n")
    if started == 2 or time.monotonic() > end:
        break
print(started)
"""
# A hash of many results, of sizes around those from which loops have several threads.
RESULTS = """
import hashlib
import infinicore
from infinicore.nn import functional as F
infinicore.manual_seed(1)
seen = hashlib.sha256()
for n in (30, 100, 300):
    x, w = infinicore.randn(n, 3 * n), infinicore.randn(3 * n, n)
    image = infinicore.randn(2, 4, n, n)
    q, k = infinicore.randn(1, 4, n // 100 + 1, 64), infinicore.randn(1, 4, 10 * n, 64)
    for y in (x.exp(), x + w.t(), x.t().contiguous(), x @ w, x.sum(), x.mean(0), x.softmax(-1),
              F.layer_norm(x, (3 * n,)), x.cumsum(0), x.flatten().cumsum(0), x.sort(-1)[0],
              x.argmax(-1), F.conv2d(image, infinicore.randn(8, 4, 3, 3)), F.max_pool2d(image, 2),
              F.scaled_dot_product_attention(q, k, k), infinicore.rand(n, n),
              infinicore.linalg.qr(x[:, :n])[1]):
        seen.update(y.numpy().tobytes())
print(seen.hexdigest())
"""


def run(program: str, *arguments: str, **changes: str | None) -> subprocess.CompletedProcess[str]:
    settings: dict[str, str | None] = {"INFINI_TUNING": None, "INFINI_TUNING_FILE": None}
    settings["INFINI_NUM_THREADS"] = "3"
    command = [sys.executable, "-c", program, *arguments]
    return process.run(command, **{**settings, **changes})


def quiet(program: str, *arguments: str, **changes: str | None) -> str:
    done = run(program, *arguments, **changes)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def values(path: Path) -> dict[str, int]:
    """The file's contents, after checking its first and last line."""
    first, machine, *lines, last = path.read_text().splitlines()
    assert (first, last) == ("infinicore tuning 1", "end")
    assert re.fullmatch(r"machine .+, \d+ processors?", machine)
    return {key: int(value) for key, value in (line.split(" ") for line in lines)}


def loop_keys(pool: int, *threads: int) -> set[str]:
    return {f"cpu.pool_{pool}.loop_start_ns.{n}" for n in threads}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A tuning file for a pool of 3 threads, measured here."""
    path = tmp_path / "tuning.txt"
    quiet(LOOP, INFINI_TUNING="on", INFINI_TUNING_FILE=str(path))
    return path


def test_the_command_measures_and_shows(tmp_path: Path) -> None:
    cache = tmp_path / "new" / "cache"
    empty = quiet(TUNE, "--show", INFINI_CACHE=str(cache))
    assert "20 us" in empty and not cache.parent.exists()
    measured = quiet(TUNE, "--device", "cpu", INFINI_CACHE=str(cache))
    (path,) = (cache / "tuning").glob("*.txt")
    assert str(path) in measured
    found = values(path)
    assert set(found) == loop_keys(3, 2, 3)
    # On a busy machine a loop on several threads may seem to start in no time.
    assert 0 <= min(found.values()) <= max(found.values()) < 10**8
    shown = quiet(TUNE, "--show", INFINI_CACHE=str(cache))
    assert measured.startswith(shown)
    assert measured[len(shown) :].startswith("\nthe machine is busy") or measured == shown
    assert shown.splitlines()[-1].split()[-2:] != ["-", "-"]
    facts = "from infinicore.cli import doctor; print(doctor.facts())"
    assert f"read: values of {path}" in quiet(facts, INFINI_CACHE=str(cache))


def test_devices_without_measurements() -> None:
    done = run(TUNE, "--device", "nothing")
    assert done.returncode == 2
    assert done.stderr == "infini tune: there is no device 'nothing'\n"


@pytest.mark.parametrize("mode", [None, "read", "off"])
def test_who_only_reads_never_writes(mode: str | None, tmp_path: Path) -> None:
    quiet(LOOP, INFINI_CACHE=str(tmp_path / "cache"), INFINI_TUNING=mode)
    assert not (tmp_path / "cache").exists()


def test_on_measures_once(file: Path) -> None:
    assert set(values(file)) == loop_keys(3, 2, 3)
    before = file.stat().st_ino, file.read_text()
    for mode in ("on", "read"):
        quiet(LOOP, INFINI_TUNING=mode, INFINI_TUNING_FILE=str(file))
    assert (file.stat().st_ino, file.read_text()) == before
    quiet(LOOP, INFINI_TUNING="on", INFINI_TUNING_FILE=str(file), INFINI_NUM_THREADS="2")
    assert set(values(file)) == loop_keys(3, 2, 3) | loop_keys(2, 2)


DAMAGE: dict[str, Callable[[str], str]] = {
    "empty": lambda text: "",
    "other": lambda text: "a shopping list\n",
    "cut": lambda text: text[:-20],
    "bytes": lambda text: text.replace("loop", "\0\1\n"),
    "value": lambda text: text.replace("\nend", "\nkey nan\nend"),
    "negative": lambda text: text.replace("\nend", "\nkey -1\nend"),
    "version": lambda text: text.replace("tuning 1", "tuning 2"),
    "foreign": lambda text: text,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_and_foreign_files(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "tuning.txt"
    text = "infinicore tuning 1\nmachine None, 1 processor\ncpu.pool_3.loop_start_ns.2 5\nend\n"
    if damage != "foreign":
        machine = quiet(TUNE, "--show").partition("machine        ")[2].splitlines()[0]
        text = text.replace("None, 1 processor", machine)
    text = DAMAGE[damage](text)
    path.write_text(text)
    done = run(LOOP, INFINI_TUNING="on", INFINI_TUNING_FILE=str(path))
    assert done.returncode == 0
    (warning,) = done.stderr.splitlines()
    assert warning.startswith(f"infinicore: warning: the tuning file {path} is ignored: ")
    assert ("another machine" in warning) == (damage == "foreign")
    assert path.read_text() == text


def test_only_the_command_replaces_a_damaged_file(file: Path) -> None:
    file.write_text("a shopping list")
    assert run(TUNE, "--show", INFINI_TUNING_FILE=str(file)).returncode == 1
    quiet(TUNE, INFINI_TUNING_FILE=str(file))
    assert set(values(file)) == loop_keys(3, 2, 3)


def test_locked_files(file: Path) -> None:
    file.chmod(0o444)
    before = file.read_text()
    for program, status in ((LOOP, 0), (TUNE, 1)):
        settings = {"INFINI_TUNING": "on", "INFINI_TUNING_FILE": str(file)}
        done = run(program, INFINI_NUM_THREADS="2", **settings)
        assert done.returncode == status
        assert f"the tuning file {file} was not written: it is locked" in done.stderr
        assert file.read_text() == before
    quiet(LOOP, INFINI_TUNING="on", INFINI_TUNING_FILE=str(file))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = str(tmp_path / "none.txt")
    done = run(LOOP, INFINI_TUNING_FILE=path)
    assert f"INFINI_TUNING_FILE={path} is ignored: expected a file" in done.stderr
    quiet(LOOP, INFINI_TUNING_FILE=path, INFINI_TUNING="off")


def test_no_cache_folder() -> None:
    quiet(LOOP, INFINI_CACHE="")
    done = run(TUNE, INFINI_CACHE="")
    assert done.returncode == 1
    assert "no tuning file is kept" in done.stderr


def test_writers_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "tuning.txt"
    sizes = range(2, 8)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", LOOP],
            env=process.environment(
                INFINI_TUNING="on", INFINI_TUNING_FILE=str(path), INFINI_NUM_THREADS=str(size)
            ),
        )
        for size in sizes
    ]
    assert [each.wait(120) for each in running] == [0] * len(sizes)
    keys = set(values(path))
    for size in sizes:
        assert loop_keys(size, 2, size) <= keys
    assert {each.name for each in tmp_path.iterdir()} == {"tuning.txt", "tuning.txt.lock"}


@pytest.mark.parametrize("what", ["exp", "sum", "attention"])
def test_loops_have_the_threads_that_they_are_worth(what: str, tmp_path: Path) -> None:
    path = tmp_path / "tuning.txt"
    quiet(TUNE, INFINI_TUNING_FILE=str(path))
    for cost, seconds, started in (("0", "30", 2), ("1000000000", "0.3", 0)):
        path.write_text(re.sub(r"(_ns\.\d) .*", rf"\1 {cost}", path.read_text()))
        assert int(quiet(STARTED, what, seconds, INFINI_TUNING_FILE=str(path))) == started
    settings = {"INFINI_TUNING_FILE": str(path), "INFINI_TUNING": "off"}
    assert int(quiet(STARTED, what, "30", **settings)) == 2


def test_results_do_not_depend_on_the_file(file: Path) -> None:
    text = file.read_text()
    expected = quiet(RESULTS, INFINI_TUNING="off")
    for cost in ("0", "30000", "1000000000"):
        file.write_text(re.sub(r"(loop_start_ns\.\d) .*", rf"\1 {cost}", text))
        assert quiet(RESULTS, INFINI_TUNING_FILE=str(file)) == expected
