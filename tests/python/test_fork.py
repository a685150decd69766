"""A child that is forked while another thread imports the package, or computes, does not hang.

Each process forks while its other thread works; an alarm ends a child that hangs.
"""

from __future__ import annotations

import sys

import pytest

from kit import process

pytest.importorskip("infinicore")

PROGRAM = """
import os, random, signal, sys, threading, time

def use():
    import infinicore
    x = infinicore.ones((64, 64))
    assert (x @ x).sum().item() == 64 ** 3
    assert infinicore.sort(x.flatten())[0][0].item() == 1

def in_child():
    signal.alarm(100)  # only to end one that hangs
    code = 9
    try:
        use()
        code = 0
    except BaseException as error:
        print("child:", repr(error), flush=True)
    os._exit(code)

def work():
    {work}
    finished.set()

finished = threading.Event()
{before}
thread = threading.Thread(target=work)
thread.start()
children = []
while not finished.is_set() and len(children) < 8:
    time.sleep(random.random() * 0.003)
    # Until this file of the package is read, Python alone could let a fork wait for an import.
    if not hasattr(sys.modules.get("infinicore._fork"), "registered"):
        continue
    if (child := os.fork()) == 0:
        in_child()
    children.append(child)
thread.join()
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
use()
"""

OPERATORS = """
    import infinicore
    for n in range(1, 200):
        y = infinicore.ones((n, 8))
        (y @ infinicore.ones((8, 4))).sum()
        infinicore.sort(y.flatten())
"""

CASES = {
    "an import": ("import infinicore; infinicore.ones(3)", ""),
    "first use": ("infinicore.ones(3); use()", "import infinicore"),
    "a module": ("import infinicore.nn, infinicore.ccl", "import infinicore"),
    "operators": (OPERATORS.strip(), "use()"),
}


@pytest.mark.host
@pytest.mark.parametrize("case", CASES)
def test_fork_while_another_thread_works(case: str) -> None:
    work, before = CASES[case]
    forked = 0
    for _ in range(2):
        program = PROGRAM.format(work=work, before=before)
        done = process.run([sys.executable, "-c", program], 200, PYTHONWARNINGS="ignore")
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        codes = eval(done.stdout.splitlines()[-1])  # what our own program printed
        assert not any(codes), f"{codes}\n{done.stdout}\n{done.stderr}"
        forked += len(codes)
    assert forked > 0


def test_fork_in_an_import(tmp_path) -> None:
    """The forking thread holds locks of imports itself."""
    (tmp_path / "forking.py").write_text(
        "import os\n"
        "import infinicore\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(int(infinicore.ones(3).sum().item() != 3))\n"
        "status = os.waitpid(child, 0)[1]\n"
    )
    program = "import forking, infinicore.nn; print(forking.status)"
    path = f"{tmp_path}:{process.environment()['PYTHONPATH']}"
    done = process.run([sys.executable, "-c", program], PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0"]
