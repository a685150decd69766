"""`infini launch` through the real ssh, to a server of the tests' own."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.requirements import need

from .launching import ONE_FAILS, WORLD, kill_the_launcher, launch


def serve(folder: Path) -> None:
    """An SSH server at a free port of this host, which it prints; runs commands through a shell."""
    import asyncssh

    async def run(process: Any) -> None:
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_shell(
            process.command, stdin=pipe, stdout=pipe, stderr=pipe, cwd="/"
        )
        await process.redirect(stdin=child.stdin, stdout=child.stdout, stderr=child.stderr)
        process.exit(await child.wait())

    async def listen() -> None:
        server = await asyncssh.create_server(
            asyncssh.SSHServer,
            "127.0.0.1",
            0,
            server_host_keys=[str(folder / "host")],
            authorized_client_keys=str(folder / "user.pub"),
            process_factory=run,
            encoding=None,
        )
        print(server.get_port(), flush=True)
        await asyncio.get_running_loop().create_future()

    asyncio.run(listen())


@pytest.fixture(scope="module")
def ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The command, as a user gives it. Every name of a host leads to the server."""
    need("asyncssh", "ssh")
    folder = tmp_path_factory.mktemp("ssh")
    for name in ("host", "user"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(key, check=True)
    module = "tests.collectives.test_launch_ssh"
    command = f"from {module} import Path, serve; serve(Path({str(folder)!r}))"
    server = subprocess.Popen(
        [sys.executable, "-c", command],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},  # for `kit`
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    port = server.stdout.readline().strip()
    yield (
        f"ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
        f"-o LogLevel=ERROR -o HostName=127.0.0.1 -p {port} -i {folder}/user"
    )
    server.kill()
    server.communicate()


def test_ranks_work_together(script: Callable[[str], Path], ssh: str) -> None:
    done = launch(
        *("--ssh", ssh, "--host", "one:2,two:1", "--master-addr", "127.0.0.1", script(WORLD))
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[{r}] rank {r} of 3: 6" for r in range(3)]


def test_all_stop_when_one_fails(script: Callable[[str], Path], ssh: str) -> None:
    end = "os.kill(os.getpid(), signal.SIGKILL)"
    done = launch("--ssh", ssh, "--host", "one:1,two:1", script(ONE_FAILS.format(end)))
    assert done.returncode == 128 + signal.SIGKILL
    told = "infini launch: rank 1 on two was killed by SIGKILL: stopping the others\n"
    assert done.stderr == told


def test_ranks_do_not_outlive_the_launcher(script: Callable[[str], Path], ssh: str) -> None:
    program = script("import os, time; print(os.getpid()); time.sleep(300)")
    kill_the_launcher("--ssh", ssh, "--host", "one:1,two:1", program)
