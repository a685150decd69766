"""Connections between ranks: foreign connections do not disturb them."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import ClassVar

from infinicore.llm import channels


class Comm:
    """Two ranks as two threads: what rank 0 broadcasts."""

    ranks, device = 2, "cpu"
    shared: ClassVar[list] = []
    there = threading.Event()

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def all_gather(self, mine):
        import infinicore

        return infinicore.cat([mine, mine], 0)

    def broadcast(self, given):
        if self.rank == 0:
            self.shared.append(given)
            self.there.set()
        assert self.there.wait(60)
        return self.shared[0]


def test_silent_strangers_do_not_delay_the_start(monkeypatch):
    monkeypatch.setattr(channels, "_SILENT_SECONDS", 3600)
    made = {}

    def lead() -> None:
        made.update(channels.connect(Comm(0)))

    leader = threading.Thread(target=lead, daemon=True)
    leader.start()
    assert Comm.there.wait(60)
    _, port, _ = json.loads(bytes(Comm.shared[0].tolist()))
    with contextlib.ExitStack() as strangers:
        for words in (b"", b"x", b"", b"GET / HTTP/1.1\r\n\r\n"):
            stranger = strangers.enter_context(socket.create_connection(("127.0.0.1", port)))
            stranger.sendall(words)  # and nothing else
        follower = channels.connect(Comm(1))[0]
        leader.join(60)
        assert not leader.is_alive()
        made[1].send_bytes(b"step")
        assert follower.recv_bytes() == b"step"
        follower.close()
        made[1].close()
