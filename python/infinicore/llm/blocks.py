"""Blocks of the key/value cache: their owners, and prefixes that requests can share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b


class BlockPool:
    """Blocks are reference-counted. A full block is identified by a digest of its tokens and all
    tokens before them; when no request uses it any more it stays cached until its space is needed,
    least recently used first."""

    def __init__(self, count: int, size: int, shares: bool = True) -> None:
        self.count, self.size, self.shares = count, size, shares
        self._users = [0] * count
        self._key: list[bytes | None] = [None] * count
        self._tokens: list[tuple[int, ...]] = [()] * count
        self._by_key: dict[bytes, int] = {}
        self._children: dict[bytes, set[int]] = {}
        self._parent: list[bytes] = [b""] * count
        self._free: OrderedDict[int, None] = OrderedDict((i, None) for i in range(count))
        self.hits = 0  # tokens that were found in the cache

    def shrink(self, count: int) -> None:
        """Reserve blocks, before any is taken."""
        for block in range(count, self.count):
            del self._free[block]
        self.count = count

    @property
    def free(self) -> int:
        return len(self._free)

    def take(self, count: int = 1) -> list[int]:
        """Blocks for new tokens."""
        if count > self.free:
            raise MemoryError(f"the cache has no room: {count} blocks wanted, {self.free} free")
        made = [self._free.popitem(last=False)[0] for _ in range(count)]
        for block in made:
            self._forget(block)
            self._users[block] = 1
        return made

    def _forget(self, block: int) -> None:
        key = self._key[block]
        if key is None:
            return
        del self._by_key[key]
        parent = self._parent[block]
        self._children[parent].discard(block)
        if not self._children[parent]:
            del self._children[parent]
        self._key[block], self._tokens[block] = None, ()

    def give_back(self, block: int) -> None:
        self._users[block] -= 1
        if self._users[block] == 0:
            self._free[block] = None
            # A block without reusable contents is reused first.
            if self._key[block] is None:
                self._free.move_to_end(block, last=False)

    def hold(self, block: int) -> None:
        """Add a reference: for a request, or for a copy of the block."""
        if self._users[block] == 0:
            del self._free[block]
        self._users[block] += 1

    def fill(self, block: int, parent: bytes, tokens: Sequence[int]) -> bytes:
        """Mark a block as full, so that others can find it; returns the key that its successor
        needs."""
        own = tuple(tokens)
        key = digest(parent, own)
        if self.shares and key not in self._by_key:
            self._by_key[key], self._key[block] = block, key
            self._tokens[block], self._parent[block] = own, parent
            self._children.setdefault(parent, set()).add(block)
        return key

    def match(self, tokens: Sequence[int], root: bytes = b"") -> tuple[list[int], list[bytes]]:
        """The cached blocks that hold a prefix of `tokens`, and their keys. At least one token is
        left over, because its logits are needed."""
        blocks: list[int] = []
        keys: list[bytes] = []
        parent = root
        while self.shares and (len(blocks) + 1) * self.size < len(tokens):
            begin = len(blocks) * self.size
            parent = digest(parent, tuple(tokens[begin : begin + self.size]))
            block = self._by_key.get(parent)
            if block is None:
                break
            self.hold(block)
            blocks.append(block)
            keys.append(parent)
        return blocks, keys

    def similar(self, parent: bytes, tokens: Sequence[int]) -> tuple[int, int] | None:
        """A block after `parent` that shares a prefix with `tokens`, and the length of the prefix:
        the block can be copied and continued from there."""
        best = None
        for block in self._children.get(parent, ()):
            same = 0
            for ours, theirs in zip(self._tokens[block], tokens, strict=False):
                if ours != theirs:
                    break
                same += 1
            if same and (best is None or same > best[1]):
                best = (block, same)
        return best


def digest(parent: bytes, tokens: tuple[int, ...]) -> bytes:
    text = b"".join(token.to_bytes(4, "little") for token in tokens)
    return blake2b(parent + text, digest_size=16).digest()
