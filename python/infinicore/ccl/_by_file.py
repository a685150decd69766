"""Exchange of the id through a file that all ranks can access.

A file of an earlier run may still exist, so files are trusted only if they answer a challenge: each
rank writes a random number beside the file, rank 0 writes the id together with the numbers that it
has seen, and a rank accepts an id that comes with its own number. Rank 0 waits until all have
answered with the random number that it has drawn itself, and then removes the files.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from pathlib import Path
from typing import Any

from infinicore.ccl._by_tcp import RefusedError, some_ranks

PAUSE = 0.02  # seconds between two polls


def exchange(
    where: str, rank: int, ranks: int, payload: bytes | None, timeout: float | None
) -> bytes:
    """Returns rank 0's `payload` on all ranks."""
    path = Path(where).absolute()
    if not path.parent.is_dir():
        raise ValueError(f"ccl.init: the folder of {path} does not exist: expected one")
    end = None if timeout is None else time.monotonic() + timeout
    if payload is not None:
        return _give(path, ranks, payload, timeout, end)
    return _take(path, rank, ranks, timeout, end)


def _give(
    path: Path, ranks: int, payload: bytes, timeout: float | None, end: float | None
) -> bytes:
    mine = secrets.token_hex(8)
    others = {rank: _beside(path, rank) for rank in range(1, ranks)}
    told: dict[int, str] = {}
    try:
        while True:
            seen = {rank: _read(file, "seen") for rank, file in others.items()}
            numbers = {rank: str(answer["mine"]) for rank, answer in seen.items() if answer}
            if numbers != told or not told:
                _write(path, {"mine": mine, "ranks": ranks, "told": numbers, "id": payload.hex()})
                told = numbers
            answered = {
                r: answer for r, answer in seen.items() if answer and answer["seen"] == mine
            }
            for rank, answer in answered.items():
                if answer.get("ranks") != ranks:
                    raise RefusedError(_differ(rank, answer.get("ranks"), ranks))
            missing = set(others) - set(answered)
            if not missing:
                break
            if end is not None and time.monotonic() > end:
                raise TimeoutError(
                    f"{some_ranks(missing)} did not come to {path} within {timeout:g} s"
                )
            time.sleep(PAUSE)
    finally:
        for file in (path, *others.values()):
            _remove(file)
    return payload


def _take(path: Path, rank: int, ranks: int, timeout: float | None, end: float | None) -> bytes:
    mine, file = secrets.token_hex(8), _beside(path, rank)
    _write(file, {"mine": mine, "seen": ""})
    try:
        while True:
            found = _read(path, "told", "ranks", "id")
            if found and dict(found["told"]).get(str(rank)) == mine:
                # Rank 0 reads it, and removes it.
                _write(file, {"mine": mine, "seen": found["mine"], "ranks": ranks})
                break
            if end is not None and time.monotonic() > end:
                raise TimeoutError(f"rank 0 did not come to {path} within {timeout:g} s")
            if not file.exists():  # rank 0 gave up and removed its files: there may be another
                _write(file, {"mine": mine, "seen": ""})
            time.sleep(PAUSE)
    except BaseException:
        _remove(file)
        raise
    if found["ranks"] != ranks:
        raise RefusedError(_differ(rank, ranks, found["ranks"]))
    return bytes.fromhex(found["id"])


def _differ(rank: int, ranks: int, first: int) -> str:
    return f"rank {rank} expects {ranks} ranks, rank 0 expects {first}"


def _beside(path: Path, rank: int) -> Path:
    return path.with_name(f"{path.name}.{rank}")


def _read(path: Path, *names: str) -> Any:
    """What a rank wrote; None if there is no file, or it has other contents."""
    try:
        found = json.loads(path.read_bytes())
        known = isinstance(found, dict) and {"mine", *names} <= set(found)
        return found if known else None
    except (OSError, ValueError):
        return None


def _write(path: Path, words: dict[str, Any]) -> None:
    # Written under another name first, so that a file that exists is complete.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(words, file)
        draft.replace(path)
    except OSError as error:
        _remove(draft)
        raise ValueError(f"ccl.init: cannot write {path}: {error.strerror}") from error


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
