"""Starts the ranks of one host: for ssh one agent each host, for mpirun one above each rank.

python -m infinicore.cli.agent               orders on standard input; its end stops the ranks
python -m infinicore.cli.agent '{...}'       orders as an argument; MPI's variables tell the rank
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from infinicore.cli.crew import Child, Crew

# Rank, number of ranks, and the same of this host, as launchers of MPI set them.
PLACES = (
    (
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)


@dataclass
class Orders:
    """What `infini launch` wants on a host."""

    command: list[str]
    ranks: list[int]  # of this host
    size: int  # of all
    job: str
    environment: dict[str, str]
    folder: str
    prefix: bool
    grace: float
    master: tuple[str, int]
    host: str = ""  # for messages, where there are several

    def encoded(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decoded(cls, text: str) -> Orders:
        return cls(**json.loads(text))

    def children(self, environment: Mapping[str, str]) -> list[Child]:
        """The ranks of this host, started from here."""
        return [
            self.child(environment, rank, local, len(self.ranks))
            for local, rank in enumerate(self.ranks)
        ]

    def child(self, environment: Mapping[str, str], rank: int, local: int, locals_: int) -> Child:
        variables = {**environment, **self.environment}
        variables |= {
            "RANK": str(rank),
            "WORLD_SIZE": str(self.size),
            "LOCAL_RANK": str(local),
            "LOCAL_WORLD_SIZE": str(locals_),
            "MASTER_ADDR": self.master[0],
            "MASTER_PORT": str(self.master[1]),
            "INFINI_CCL_JOB": self.job,
        }
        # Each rank would otherwise start a thread for every processor.
        threads = str(max(1, len(os.sched_getaffinity(0)) // locals_))
        for name in ("INFINI_NUM_THREADS", "OMP_NUM_THREADS"):
            variables.setdefault(name, threads)
        variables.setdefault("PYTHONUNBUFFERED", "1")  # lines come when they are written
        where = f" on {self.host}" if self.host else ""
        prefix = f"[{rank}] ".encode() if self.prefix else b""
        return Child(f"rank {rank}{where}", self.command, variables, prefix, rank)


def main(arguments: list[str]) -> int:
    leader = None if arguments else sys.stdin.fileno()
    orders = Orders.decoded(arguments[0] if arguments else _first_line(sys.stdin.fileno()))
    try:
        os.chdir(orders.folder)
    except OSError as error:
        print(
            f"infini launch: {socket.gethostname()}: cannot work in {orders.folder}: "
            f"{error.strerror}",
            file=sys.stderr,
        )
        return 1
    if leader is None:
        children = [_child_of_mpi(orders)]
    else:
        children = orders.children(os.environ)
    return Crew(children, orders.grace, orders.job, reports=True, leader=leader).run()


def _child_of_mpi(orders: Orders) -> Child:
    for names in PLACES:
        if all(name in os.environ for name in names):
            rank, size, local, locals_ = (int(os.environ[name]) for name in names)
            if size != orders.size:
                raise SystemExit(f"infini launch: mpirun started {size} ranks, not {orders.size}")
            return orders.child(os.environ, rank, local, locals_)
    raise SystemExit(
        "infini launch: mpirun tells no rank: looked for "
        + " and ".join(names[0] for names in PLACES)
    )


def _first_line(descriptor: int) -> str:
    # Byte by byte: what follows is not for a buffer.
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(descriptor, 1)
        if not byte:
            raise SystemExit("infini launch: the connection ended before it had begun")
        line += byte
    return line.decode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
