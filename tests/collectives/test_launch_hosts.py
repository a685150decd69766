"""`infini launch` through mpirun and ssh: on this host, and on two made of network namespaces."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .hosts import ADDRESSES, CARD, Hosts, two_hosts
from .launching import (
    LAUNCH,
    ONE_FAILS,
    WORLD,
    environment,
    is_alive,
    kill_the_launcher,
    launch,
)
from .mpi_launch import ALL, Mpi, folder_of


@pytest.mark.parametrize("mpi", ALL, ids=lambda mpi: mpi.name)
def test_mpirun(script: Callable[[str], Path], mpi: Mpi) -> None:
    through = ("--launcher", "mpirun", "--mpirun", folder_of(mpi) / "bin" / mpi.launcher)
    done = launch("-n", "3", *through, script(WORLD))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[{r}] rank {r} of 3: 6" for r in range(3)]
    done = launch("-n", "3", *through, script(ONE_FAILS.format("sys.exit(3)")))
    assert done.returncode == 3
    assert "infini launch: rank 1 exited with code 3" in done.stderr


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with two_hosts() as made:
        yield made


@pytest.mark.parametrize("mpi", [None, *ALL], ids=["ssh", *(mpi.name for mpi in ALL)])
def test_two_hosts(
    script: Callable[[str], Path], hosts: Hosts, mpi: Mpi | None, tmp_path: Path
) -> None:
    """Started on the first of them."""
    ssh = hosts.agent(tmp_path)
    through = ["--ssh", str(ssh)]
    if mpi is not None:
        folder = folder_of(mpi)
        flags = {
            "mpich": f"-launcher ssh -launcher-exec {ssh} -iface {CARD}",
            "openmpi": f"--prefix {folder} --prtemca plm_ssh_agent {ssh}",
        }[mpi.name]
        through = ["--mpirun", f"{folder}/bin/{mpi.launcher} {flags}"]
    # The machine is the same: only its name tells one host from the other.
    name = "import os, socket\nos.environ['INFINI_CCL_HOST'] = socket.gethostname()\n"
    program = script(name + WORLD + "print(os.environ['LOCAL_RANK'], socket.gethostname())")
    done = subprocess.run(
        [
            *(*hosts.on(0), *LAUNCH, *through, "--host", ",".join(f"{a}:2" for a in ADDRESSES)),
            str(program),
        ],
        env=environment(UCX_TLS="tcp,self", OMPI_MCA_btl="tcp,self"),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(
        line
        for rank in range(4)
        for line in (
            f"[{rank}] rank {rank} of 4: 10",
            f"[{rank}] {rank % 2} {hosts.names[rank // 2]}",
        )
    )


@pytest.fixture
def ssh(tmp_path: Path) -> Path:
    """Stands for ssh: gives words to a shell as sshd does, here. Host `down` can't be reached."""
    path = tmp_path / "ssh"
    path.write_text(
        "#!/bin/sh\n"
        'host=$1; shift; [ "$host" = down ] && { echo "ssh: no route" >&2; exit 255; }\n'
        'cd / && REMOTE="$host" exec sh -c "$*"\n'
    )
    path.chmod(0o755)
    return path


def test_ssh(script: Callable[[str], Path], ssh: Path) -> None:
    through = ("--ssh", ssh, "--host", "one:2,two:1", "--master-addr", "127.0.0.1")
    program = script(WORLD + "import os, sys; print(os.environ['REMOTE'], os.environ['INFINI_X'])")
    done = launch(*through, program, INFINI_X="it's")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(
        line
        for rank, host in enumerate(("one", "one", "two"))
        for line in (f"[{rank}] {host} it's", f"[{rank}] rank {rank} of 3: 6")
    )


def test_failures_through_ssh(script: Callable[[str], Path], ssh: Path, tmp_path: Path) -> None:
    program = script(
        "import os, sys, time\n"
        f"with open('{tmp_path}/pid' + os.environ['RANK'], 'w') as file:\n"
        "    print(os.getpid(), file=file)\n"
        "if os.environ['RANK'] == '2':\n"
        f"    while not os.path.exists('{tmp_path}/pid0'): time.sleep(0.01)\n"
        "    sys.exit(4)\n"
        "time.sleep(300)\n"
    )
    done = launch("--ssh", ssh, "--host", "one:2,two:1", program)
    assert done.returncode == 4
    assert done.stderr == "infini launch: rank 2 on two exited with code 4: stopping the others\n"
    for file in tmp_path.glob("pid*"):
        assert not is_alive(int(file.read_text()))
    done = launch("--ssh", ssh, "--host", "one:1,down:1", program)
    assert done.returncode == 255
    assert "ssh: no route\n" in done.stderr
    assert "infini launch: ssh to down exited with code 255: stopping the others\n" in done.stderr


def test_ranks_behind_ssh_do_not_outlive_the_launcher(
    script: Callable[[str], Path], ssh: Path
) -> None:
    program = script("import os, time; print(os.getpid()); time.sleep(300)")
    kill_the_launcher("--ssh", ssh, "--host", "one:1,two:1", program)
