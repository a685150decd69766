"""`infini launch`: real processes, their output, and how they end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from infinicore.cli.launch import LaunchError, share
from infinicore.cli.supervisor import Supervisor

from .launching import LAUNCH, ONE_FAILS, WORLD, begin, environment, eventually, is_alive, launch

# ---- Ranks and their output ----------------------------------------------------------------------


def test_ranks_work_together(script: Callable[[str], Path]) -> None:
    done = launch("-n", "3", script(WORLD))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[{r}] rank {r} of 3: 6" for r in range(3)]
    assert done.stderr == ""


def test_what_ranks_are_given(script: Callable[[str], Path]) -> None:
    names = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"]
    names += ["OMP_NUM_THREADS", "INFINI_NUM_THREADS", "MINE"]
    program = script(f"import os, sys; print(*map(os.environ.get, {names}), *sys.argv[1:])")
    done = launch(
        *("-n", "2", "--master-port", "12345", "-x", "MINE=a b", program, "-n", "5", "--x"),
        OMP_NUM_THREADS="7",
    )
    share = max(1, len(os.sched_getaffinity(0)) // 2)
    assert sorted(done.stdout.splitlines()) == [
        f"[{rank}] {rank} 2 {rank} 2 127.0.0.1 12345 7 {share} a b -n 5 --x" for rank in range(2)
    ]


def test_modules_and_executables(tmp_path: Path) -> None:
    (tmp_path / "a_module.py").write_text("import sys; print('module', *sys.argv[1:])")
    done = launch("-n", "1", "-m", "a_module", "-m", PYTHONPATH=str(tmp_path))
    assert done.stdout == "[0] module -m\n", done.stderr
    done = launch("-n", "1", "sh", "-c", "echo rank $RANK; echo bad >&2; echo $0", "x y")
    assert done.stdout == "[0] rank 0\n[0] x y\n"
    assert done.stderr == "[0] bad\n"


def test_lines_are_never_mixed(script: Callable[[str], Path]) -> None:
    """Ranks write fragments of lines in many calls: long lines, and a last one without a
    newline."""
    program = script(
        "import os, sys\n"
        "r = os.environ['RANK']\n"
        "for stream, many in ((1, 200), (2, 200)):\n"
        "    for i in range(many):\n"
        "        for piece in (r, ':', r * (1 + i * 50), ';', '\\n'):\n"
        "            os.write(stream, piece.encode())\n"
        "os.write(1, b'the end of ' + r.encode())\n"
    )
    done = launch("-n", "3", program)
    for text, last in ((done.stdout, 1), (done.stderr, 0)):
        lines = text.splitlines()
        assert len(lines) == 3 * (200 + last)
        for line in lines:
            assert re.fullmatch(r"\[(\d)\] (\1:\1+;|the end of \1)", line), line[:99]
    for rank in range(3):
        mine = [len(line) for line in done.stdout.splitlines() if line.startswith(f"[{rank}]")]
        assert mine[:-1] == sorted(mine[:-1])


def test_lines_come_at_once_and_progress_bars_work(script: Callable[[str], Path]) -> None:
    program = script(
        "import sys, time\n"
        "print('first', flush=False)\n"
        "sys.stdout.write('\\r 10%\\r 20%\\n')\n"
        "time.sleep(300)\n"
    )
    running = begin("-n", "1", "--grace", "1", program)
    assert running.stdout is not None
    # Universal newlines: carriage returns end lines.
    read = [running.stdout.readline() for _ in range(4)]
    running.terminate()
    assert running.wait(60) == 128 + signal.SIGTERM
    assert read == ["[0] first\n", "[0] \n", "[0]  10%\n", "[0]  20%\n"]
    running.communicate()


def test_without_prefix(script: Callable[[str], Path]) -> None:
    done = launch("-n", "2", "--no-prefix", script("print('same')"))
    assert done.stdout == "same\nsame\n"


def test_parts_of_lines(script: Callable[[str], Path], tmp_path: Path) -> None:
    """Forwarded before the line is complete."""
    seen = tmp_path / "seen"
    wait = f"import os, time\nwhile not os.path.exists({str(seen)!r}): time.sleep(0.01)"
    program = script(f"print('a', end='', flush=True)\n{wait}\nprint('b')")
    running = begin("-n", "1", "--no-prefix", "--unbuffered", program)
    assert running.stdout is not None
    assert running.stdout.read(1) == "a"
    seen.touch()
    assert running.communicate(timeout=60)[0] == "b\n"
    refused = launch("-n", "1", "--unbuffered", program)
    assert refused.returncode == 2 and "expected --no-prefix" in refused.stderr


def test_a_reader_that_has_seen_enough(script: Callable[[str], Path]) -> None:
    program = script("while True: print('more')")
    running = begin("-n", "2", program)
    assert running.stdout is not None
    running.stdout.readline()
    running.stdout.close()
    assert running.wait(60) == 128 + signal.SIGPIPE


# ---- Endings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "code", "how"),
    [
        ("sys.exit(3)", 3, "exited with code 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "was killed by SIGKILL"),
        ("os.abort()", 134, "was killed by SIGABRT"),
        ("raise ValueError('so')", 1, "exited with code 1"),
    ],
)
def test_all_stop_when_one_fails(
    script: Callable[[str], Path], end: str, code: int, how: str
) -> None:
    done = launch("-n", "3", script(ONE_FAILS.format(end)))
    assert done.returncode == code
    assert f"infini launch: rank 1 {how}: stopping the others\n" in done.stderr
    if "ValueError" in end:
        assert "[1] ValueError: so\n" in done.stderr


def test_the_cause_is_named_and_heard(script: Callable[[str], Path], tmp_path: Path) -> None:
    """Rank 0 fails because of rank 1, and ends before rank 1 has reported its error and died."""
    program = script(
        "import os, signal, sys, time\n"
        "if os.environ['RANK'] == '0':\n"
        f"    open('{tmp_path}/gone', 'w').write(str(os.getpid()))\n"
        "    sys.exit(1)\n"
        "if os.environ['RANK'] == '1':\n"
        f"    while not os.path.exists('{tmp_path}/gone'): time.sleep(0.01)\n"
        "    print('the reason')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "time.sleep(300)\n"
    )
    done = launch("-n", "3", program)
    assert done.returncode == 128 + signal.SIGKILL
    assert done.stdout == "[1] the reason\n"
    told = "rank 1 was killed by SIGKILL, rank 0 exited with code 1: stopping the others"
    assert done.stderr == f"infini launch: {told}\n"


def test_who_does_not_listen_is_killed(script: Callable[[str], Path], tmp_path: Path) -> None:
    """Ranks that ignore SIGTERM, and the processes that they have started."""
    program = script(
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '300'])\n"
        f"with open(f'{tmp_path}/pid' + os.environ['RANK'], 'w') as file:\n"
        "    print(os.getpid(), child.pid, file=file)\n"
        "if os.environ['RANK'] == '1':\n"
        f"    while not os.path.exists('{tmp_path}/pid0'): time.sleep(0.01)\n"
        "    sys.exit(5)\n"
        "time.sleep(300)\n"
    )
    done = launch("-n", "2", "--grace", "0.5", program)
    assert done.returncode == 5
    for rank in range(2):
        for process in (tmp_path / f"pid{rank}").read_text().split():
            assert not is_alive(int(process))


def test_an_interrupt_leaves_a_part_of_the_grace_period() -> None:
    """A server that is finishing its work treats SIGTERM as a second signal, which drops the
    work."""
    supervisor = Supervisor([], grace=600)
    supervisor.stop(signal.SIGINT)
    (begin, first), (then, second), (end, last) = supervisor.stages
    assert (first, second, last) == (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    assert then - begin == pytest.approx(240) and end - begin == pytest.approx(600)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_stop_all(script: Callable[[str], Path], number: signal.Signals) -> None:
    program = script(
        "import os, time\n"
        "try:\n"
        "    print(os.getpid())\n"
        "    time.sleep(300)\n"
        "except KeyboardInterrupt:\n"
        "    print('cleaned up')\n"
    )
    running = begin("-n", "2", program)
    assert running.stdout is not None
    pids = [int(running.stdout.readline().split()[1]) for _ in range(2)]
    running.send_signal(number)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 128 + number
    assert f"infini launch: {number.name}: stopping all ranks" in err
    assert out.count("cleaned up") == (2 if number == signal.SIGINT else 0)
    assert not any(map(is_alive, pids))


def test_nohup_is_respected(script: Callable[[str], Path]) -> None:
    program = script("import os, time; print(os.getpid()); time.sleep(300)")
    command = [part.replace("(signal.SIGINT, signal.SIGHUP)", "()") for part in LAUNCH]
    running = subprocess.Popen(
        ["nohup", *command, "-n", "1", str(program)], env=environment(), stdout=subprocess.PIPE
    )
    assert running.stdout is not None
    running.stdout.readline()
    running.send_signal(signal.SIGHUP)
    running.terminate()
    assert running.wait(60) == 128 + signal.SIGTERM
    running.communicate()


def test_ranks_do_not_outlive_the_launcher(script: Callable[[str], Path]) -> None:
    running = begin("-n", "2", script("import os, time; print(os.getpid()); time.sleep(300)"))
    assert running.stdout is not None
    pids = [int(running.stdout.readline().split()[1]) for _ in range(2)]
    running.kill()
    running.communicate()
    eventually(lambda: not any(map(is_alive, pids)), "ranks live on")


def test_what_a_rank_leaves_behind_is_stopped(script: Callable[[str], Path]) -> None:
    program = script(
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '300'])\n"  # holds the output open
        "print(child.pid)\n"
    )
    done = launch("-n", "1", program)
    assert done.returncode == 0
    assert not is_alive(int(done.stdout.split()[1]))


# ---- Not supported -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["x.py"], "expected -n, the number of ranks"),
        (["-n", "0", "x.py"], "-n is 0: expected at least 1"),
        (["-n", "2"], "expected a program: script.py, -m module, or an executable"),
        (["-n", "2", "no such.py"], "there is no file no such.py"),
        (["-n", "2", "no-such-program"], "there is no program no-such-program to run"),
        (["-n", "2", "--master-port", "99999", "sh"], "--master-port is 99999: expected"),
        (["-n", "2", "-x", "NOT_SET_HERE", "sh"], "-x has NOT_SET_HERE: expected NAME=VALUE"),
        (["-n", "2", "--grace", "-1", "sh"], "--grace is -1: expected"),
        (["-n", "2", "--grace", "nan", "sh"], "--grace is nan: expected"),
        (["-n", "2", "--srun", " ", "sh"], "--srun is ' ': expected a command"),
        (["-n", "2", "--mpirun", "a 'b", "sh"], '--mpirun is "a \'b": expected a command'),
        (["-n", "2", "--host", "a.invalid", "--launcher", "local", "sh"], "but --host has a.inv"),
        (["-n", "2", "--launcher", "mpirun", "--mpirun", "nowhere", "sh"], "looked for nowhere"),
        (["-n", "2", "--launcher", "srun", "--srun", "sh", "sh"], "this is no Slurm allocation"),
        (["-n", "2", "--launcher", "env", "sh"], "RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT not"),
    ],
)
def test_orders_that_can_t_be_followed(words: list[str], told: str) -> None:
    done = launch(*words)
    assert done.returncode == 2
    assert done.stderr.startswith("infini launch: ")
    assert told in done.stderr


def test_a_program_that_can_t_be_started(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    done = launch("-n", "2", program)
    assert done.returncode == 127
    assert "infini launch: rank 0 cannot be started" in done.stderr


@pytest.mark.parametrize(
    ("ranks", "hosts", "blocks"),
    [
        (3, None, [("localhost", 0, 3)]),
        (4, "a,b", [("a", 0, 2), ("b", 2, 4)]),
        (3, "a,b", [("a", 0, 2), ("b", 2, 3)]),
        (1, "a,b", [("a", 0, 1)]),
        (None, "a:2,b:3", [("a", 0, 2), ("b", 2, 5)]),
        (3, "a:2,b:3", [("a", 0, 2), ("b", 2, 3)]),
        (2, "a:2,b:3", [("a", 0, 2)]),
        (None, "[fe80::1]:2", [("fe80::1", 0, 2)]),
    ],
)
def test_ranks_are_shared_out(
    ranks: int | None, hosts: str | None, blocks: list[tuple[str, int, int]]
) -> None:
    shared = share(ranks, hosts)
    assert [(host.name, host.ranks.start, host.ranks.stop) for host in shared] == blocks


@pytest.mark.parametrize(
    ("ranks", "hosts", "told"),
    [
        (5, "a:2,b:2", "has room for 4 ranks"),
        (None, "a,b", "or one behind each host"),
        (2, "a:1,b", "numbers for all hosts, or for none"),
        (2, "a,,b", "expected a name"),
        (2, "a:0", "expected a name"),
    ],
)
def test_hosts_that_can_t_be(ranks: int | None, hosts: str, told: str) -> None:
    with pytest.raises(LaunchError, match=told):
        share(ranks, hosts)
