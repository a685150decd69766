"""The meeting point of ranks started by plain srun: Slurm reports their hosts, but no address and
no port."""

from __future__ import annotations

import re
from collections.abc import Mapping

_FIRST_PORT, _PORTS = 20000, 10000


def meeting(environment: Mapping[str, str]) -> str | None:
    """The tcp://host:port that all ranks of a step derive; None outside a step."""
    host = first_host(environment.get("SLURM_STEP_NODELIST", ""))
    job, step = environment.get("SLURM_JOB_ID", ""), environment.get("SLURM_STEP_ID", "")
    if host is None or not job.isdecimal() or not step.isdecimal():
        return None
    # Steps of one job, and jobs that follow each other, get ports that do not overlap: 8 are tried.
    place = (int(job) * 64 + int(step)) * 8 % _PORTS
    return f"tcp://{host}:{_FIRST_PORT + place}"


def first_host(hosts: str) -> str | None:
    """The first name in a Slurm host list such as `node[07-09,12],gpu1`."""
    match = re.match(r"([^\[,]+)(?:\[(\d+)[^\]]*\]([^,]*))?", hosts)
    return "".join(part or "" for part in match.groups()) if match else None
