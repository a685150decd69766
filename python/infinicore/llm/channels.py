"""Connections from rank 0 to the other ranks, for requests and steps. Unlike collectives, they wait
without a time-out."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import queue
import socket
import struct
import threading
from multiprocessing import AuthenticationError
from multiprocessing.connection import (
    Client,
    Connection,
    answer_challenge,
    deliver_challenge,
)
from pathlib import Path
from typing import Any

import infinicore

_ADDRESSES, _ADDRESS_BYTES = 8, 1024
_ADDRESS_SECONDS = 10.0  # seconds to try one address
_SILENT_SECONDS = 10  # time limit for a connected peer to authenticate
_SIOCGIFADDR = 0x8915  # Linux ioctl: the IPv4 address of an interface


def connect(comm: Any) -> dict[int, Connection]:
    """A connection from rank 0 to each other rank; its address and key are broadcast."""
    hosts = ["127.0.0.1"] if _is_one_host(comm) else _own_addresses()
    text = b""
    welcome = None
    if comm.rank == 0:
        where = hosts[0] if hosts == ["127.0.0.1"] else ""  # else: all interfaces
        welcome = _Welcome(where, comm.ranks)
        text = json.dumps([hosts, welcome.port, welcome.key.hex()]).encode()
    padded = infinicore.tensor(list(text.ljust(_ADDRESS_BYTES)), dtype=infinicore.uint8)
    shared = comm.broadcast(padded.to(comm.device)).cpu()
    if welcome is not None:
        return welcome.take()
    hosts, port, key_text = json.loads(bytes(shared.tolist()))
    channel = _call_first(hosts, port, bytes.fromhex(key_text))
    channel.send_bytes(b"%d" % comm.rank)
    return {0: channel}


class _Welcome:
    """Rank 0's listener. Each peer is authenticated in its own thread, so that silent unknown peers
    do not delay the others."""

    def __init__(self, where: str, ranks: int) -> None:
        self.key, self._ranks = os.urandom(16), ranks
        self._door = socket.create_server((where, 0), backlog=ranks)
        self.port: int = self._door.getsockname()[1]
        self._come: queue.Queue[tuple[int, Connection]] = queue.Queue()

    def take(self) -> dict[int, Connection]:
        """The connections, once all ranks have connected."""
        threading.Thread(target=self._admit, name="infini-welcome", daemon=True).start()
        made: dict[int, Connection] = {}
        while len(made) < self._ranks - 1:
            rank, channel = self._come.get()
            made[rank] = channel
        self._door.shutdown(socket.SHUT_RDWR)  # ends the thread
        self._door.close()
        return made

    def _admit(self) -> None:
        with contextlib.suppress(OSError):  # the listener is closed
            while True:
                guest, _ = self._door.accept()
                threading.Thread(target=self._greet, args=(guest,), daemon=True).start()

    def _greet(self, guest: socket.socket) -> None:
        _limit_silence(guest, _SILENT_SECONDS)
        channel = Connection(guest.detach())
        # A peer that disconnects, stays silent or has no key is a rank that tries addresses, or
        # unknown.
        try:
            deliver_challenge(channel, self.key)
            answer_challenge(channel, self.key)
            rank = int(channel.recv_bytes())
        except (EOFError, OSError, ValueError, AuthenticationError):
            channel.close()
            return
        with socket.socket(fileno=os.dup(channel.fileno())) as of_channel:
            _limit_silence(of_channel, 0)
        self._come.put((rank, channel))


def _limit_silence(of: socket.socket, seconds: int) -> None:
    """Set the read time-out; 0: none."""
    of.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", seconds, 0))


def _call_first(hosts: list[str], port: int, key: bytes) -> Connection:
    """A connection to the first of rank 0's addresses that can be reached."""
    for host in hosts:
        with contextlib.suppress(OSError, AuthenticationError):
            # Client has no time-out parameter.
            socket.create_connection((host, port), timeout=_ADDRESS_SECONDS).close()
            return Client((host, port), authkey=key)
    raise RuntimeError(
        f"rank 0 cannot be reached at {', '.join(hosts)}, port {port}: expected INFINI_CCL_ADDRESS"
        " there with its address"
    )


def _is_one_host(comm: Any) -> bool:
    """Whether all ranks are on this host (or in containers with the same host name)."""
    here = socket.gethostname() + Path("/proc/sys/kernel/random/boot_id").read_text()
    digest = list(hashlib.sha256(here.encode()).digest()[:8])
    mine = infinicore.tensor(digest, dtype=infinicore.uint8).to(comm.device)
    every = comm.all_gather(mine).tolist()
    return bool(every == digest * comm.ranks)


def _own_addresses() -> list[str]:
    """The addresses of this host that others may reach, best first."""
    found = [os.environ.get("INFINI_CCL_ADDRESS"), os.environ.get("MASTER_ADDR")]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        with contextlib.suppress(OSError):
            probe.connect(("198.51.100.1", 9))  # sends nothing, but finds the default route
            found.append(probe.getsockname()[0])
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                asked = fcntl.ioctl(probe, _SIOCGIFADDR, name.encode().ljust(256, b"\0"))
                found.append(socket.inet_ntoa(asked[20:24]))
    others = [each for each in dict.fromkeys(found) if each and not each.startswith("127.")]
    return [*others[:_ADDRESSES], socket.gethostname()]
