"""Connections between the hosts of ranks, for what rank 0 tells the others: requests, steps.

They wait for each other there without a time-out, which collectives have."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import socket
import struct
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

import infinicore

_ADDRESSES, _ADDRESS_BYTES = 8, 1024
_ADDRESS_SECONDS = 10.0  # to try one
_SILENT_SECONDS = 10  # of who has connected
_SIOCGIFADDR = 0x8915  # of Linux: the IPv4 address of an interface


def connect(comm: Any) -> dict[int, Connection]:
    """A connection from rank 0 to each other; its address and key go by a broadcast."""
    hosts = ["127.0.0.1"] if _is_one_host(comm) else _own_addresses()
    text = b""
    listener = None
    if comm.rank == 0:
        key = os.urandom(16)
        where = hosts[0] if hosts == ["127.0.0.1"] else ""  # else: all interfaces
        listener = Listener((where, 0), authkey=key, backlog=comm.ranks)
        _limit_silence(listener._listener._socket, _SILENT_SECONDS)  # type: ignore[attr-defined]
        text = json.dumps([hosts, listener.address[1], key.hex()]).encode()
    padded = infinicore.tensor(list(text.ljust(_ADDRESS_BYTES)), dtype=infinicore.uint8)
    shared = comm.broadcast(padded.to(comm.device)).cpu()
    if listener is not None:
        made: dict[int, Connection] = {}
        while len(made) < comm.ranks - 1:
            # Who goes away, says nothing, or has no key, is a rank that tries addresses, or a
            # stranger.
            with contextlib.suppress(EOFError, OSError, AuthenticationError):
                channel = listener.accept()
                made[int(channel.recv_bytes())] = channel
        listener.close()
        for channel in made.values():
            with socket.socket(fileno=os.dup(channel.fileno())) as of_channel:
                _limit_silence(of_channel, 0)
        return made
    hosts, port, key_text = json.loads(bytes(shared.tolist()))
    channel = _call_first(hosts, port, bytes.fromhex(key_text))
    channel.send_bytes(b"%d" % comm.rank)
    return {0: channel}


def _limit_silence(of: socket.socket, seconds: int) -> None:
    """Reading gives up after so long, 0 for never. What a listener accepts inherits it."""
    of.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", seconds, 0))


def _call_first(hosts: list[str], port: int, key: bytes) -> Connection:
    """A connection to the first of rank 0's addresses that can be reached."""
    for host in hosts:
        with contextlib.suppress(OSError, AuthenticationError):
            # A Client has no time-out of its own.
            socket.create_connection((host, port), timeout=_ADDRESS_SECONDS).close()
            return Client((host, port), authkey=key)
    raise RuntimeError(
        f"rank 0 cannot be reached at {', '.join(hosts)}, port {port}: expected INFINI_CCL_ADDRESS"
        " there with its address"
    )


def _is_one_host(comm: Any) -> bool:
    """All ranks are on this host, in containers of one name if in any."""
    here = socket.gethostname() + Path("/proc/sys/kernel/random/boot_id").read_text()
    digest = list(hashlib.sha256(here.encode()).digest()[:8])
    mine = infinicore.tensor(digest, dtype=infinicore.uint8).to(comm.device)
    every = comm.all_gather(mine).tolist()
    return bool(every == digest * comm.ranks)


def _own_addresses() -> list[str]:
    """Of this host, as others may reach it: the best first."""
    found = [os.environ.get("INFINI_CCL_ADDRESS"), os.environ.get("MASTER_ADDR")]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        with contextlib.suppress(OSError):
            probe.connect(("198.51.100.1", 9))  # sends nothing: finds the default route
            found.append(probe.getsockname()[0])
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                asked = fcntl.ioctl(probe, _SIOCGIFADDR, name.encode().ljust(256, b"\0"))
                found.append(socket.inet_ntoa(asked[20:24]))
    others = [each for each in dict.fromkeys(found) if each and not each.startswith("127.")]
    return [*others[:_ADDRESSES], socket.gethostname()]
