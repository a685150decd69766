"""A free port that the system does not assign as an ephemeral port."""

from __future__ import annotations

import random
import socket
from pathlib import Path


def free_port() -> int:
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(10000, max(first, 11000))
        try:
            socket.create_server(("", port)).close()
        except OSError:
            continue
        return port
