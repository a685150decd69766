"""GGUF files: metadata, then tensors in block formats, memory-mapped and kept packed."""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infinicore import _core
from infinicore._device import device as Device  # noqa: N812
from infinicore._dtype import ALL
from infinicore._tensor import Tensor
from infinicore.llm.files.gguf_names import LONG_ROPE, config_of, names_of
from infinicore.llm.files.stored import Checkpoint, ModelFileError, Stored

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q"}
_SCALARS[12] = "d"
_STRING, _ARRAY = 8, 9

# Type number: name, dtype of plain elements.
_PLAIN = {0: "F32", 1: "F16", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 30: "BF16"}

#: Type number of a block format: name, elements of a block, bytes of a block.
BLOCKS = {
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
}
_OTHER_BLOCKS = {10: "Q2_K", 11: "Q3_K", 15: "Q8_K", 16: "IQ2_XXS", 20: "IQ4_NL", 23: "IQ4_XS"}
_MOST_DIMENSIONS = 4
_MOST_ELEMENTS = 1 << 48
_MOST_DEPTH = 4  # of arrays in arrays


class _Reader:
    """Reads the header of a file; every count is checked against the remaining bytes."""

    def __init__(self, file: Path, pages: mmap.mmap) -> None:
        self.file, self.pages, self.place = file, pages, 0

    def fail(self, problem: str) -> ModelFileError:
        return ModelFileError(f"{self.file}: at byte {self.place}: {problem}")

    def need(self, count: int) -> int:
        """The offset of the next `count` bytes."""
        begin = self.place
        if count > len(self.pages) - begin:
            raise self.fail(f"the file ends {count - (len(self.pages) - begin)} bytes too early")
        self.place += count
        return begin

    def scalar(self, kind: str) -> Any:
        code = "<" + kind
        return struct.unpack_from(code, self.pages, self.need(struct.calcsize(code)))[0]

    def string(self) -> str:
        length = self.scalar("Q")
        begin = self.need(length)
        try:
            return self.pages[begin : begin + length].decode()
        except UnicodeDecodeError:
            raise self.fail("a string that is not UTF-8") from None

    def strings(self, count: int) -> list[str]:
        """There are hundreds of thousands of words and merges: one loop without calls per item."""
        pages, place, end = self.pages, self.place, len(self.pages)
        read = struct.Struct("<Q").unpack_from
        made = []
        try:
            for _ in range(count):
                begin = place + 8
                place = begin + read(pages, place)[0]
                if place > end:
                    break
                made.append(pages[begin:place].decode())
        except (UnicodeDecodeError, struct.error):
            pass
        if len(made) < count:
            raise self.fail(f"string {len(made)} of {count} is cut off or not UTF-8")
        self.place = place
        return made

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind in _SCALARS:
            return self.scalar(_SCALARS[kind])
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY or depth == _MOST_DEPTH:
            raise self.fail(f"a value of unknown type {kind}")
        inner, count = self.scalar("I"), self.scalar("Q")
        if inner in _SCALARS:
            code = f"<{count}{_SCALARS[inner]}"
            begin = self.need(count * struct.calcsize("<" + _SCALARS[inner]))
            return list(struct.unpack_from(code, self.pages, begin))
        if count > len(self.pages) - self.place:
            raise self.fail(f"an array of {count} values, more than the file has bytes left")
        if inner == _STRING:
            return self.strings(count)
        return [self.value(inner, depth + 1) for _ in range(count)]


class GgufFile(Checkpoint):
    """A model in a .gguf file. The weights share the file's pages."""

    def __init__(self, path: Any) -> None:
        file = Path(path)
        self.source = str(file)
        with file.open("rb") as opened:
            if opened.read(4) != b"GGUF":
                raise ModelFileError(f"{file}: not a GGUF file: it does not begin with GGUF")
            self._pages = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
        self._whole = _core.from_object(memoryview(self._pages), "GgufFile")
        reader = _Reader(file, self._pages)
        reader.need(4)
        version = reader.scalar("I")
        if version not in (2, 3):
            raise ModelFileError(f"{file}: GGUF version {version}: expected 2 or 3")
        count, keys = reader.scalar("Q"), reader.scalar("Q")
        self.metadata: dict[str, Any] = {}
        for _ in range(keys):
            key = reader.string()
            if key in self.metadata:
                raise reader.fail(f"the key {key!r} a second time")
            self.metadata[key] = reader.value(reader.scalar("I"))
        self._tensors = self._table(reader, count)
        self._names = names_of(self._tensors)
        self.config = config_of(
            self.metadata, set(self._tensors), self.source, self._long_rope_factors()
        )

    def _long_rope_factors(self) -> dict[str, list[float]]:
        """Both kinds, or nothing."""
        found = {key: self._tensors.get(name) for key, name in LONG_ROPE.items()}
        if not any(found.values()):
            return {}
        made: dict[str, list[float]] = {}
        for key, stored in found.items():
            where = f"{self.source}: {LONG_ROPE[key]!r}"
            if stored is None:
                raise ModelFileError(f"{where} is missing")
            is_list = len(stored.shape) == 1 and not stored.packed
            values = stored.data.tolist() if is_list and stored.data.is_floating_point() else []
            if not values or not all(0 < each < math.inf for each in values):
                raise ModelFileError(f"{where}: expected a list of numbers above 0")
            made[key] = values
        short, long = (len(each) for each in made.values())
        if short != long:
            raise ModelFileError(
                f"{self.source}: {short} short and {long} long factors of LongRoPE"
            )
        return made

    def _table(self, reader: _Reader, count: int) -> dict[str, Stored]:
        rows = []
        for _ in range(count):
            name, dimensions = reader.string(), reader.scalar("I")
            if dimensions > _MOST_DIMENSIONS:
                raise reader.fail(f"{name!r} has {dimensions} dimensions: expected at most 4")
            shape = tuple(reversed([reader.scalar("Q") for _ in range(dimensions)]))
            rows.append((name, shape, reader.scalar("I"), reader.scalar("Q")))
        alignment = self.metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
            raise reader.fail(f"general.alignment is {alignment!r}: expected a power of two")
        base = -(-reader.place // alignment) * alignment
        made: dict[str, Stored] = {}
        for row in rows:
            if row[0] in made:
                raise ModelFileError(f"{self.source}: two weights are called {row[0]!r}")
            made[row[0]] = self._stored(base, *row)
        return made

    def _stored(
        self, base: int, name: str, shape: tuple[int, ...], kind: int, offset: int
    ) -> Stored:
        where = f"{self.source}: {name!r}"
        elements = math.prod(shape)
        if max(shape, default=0) > _MOST_ELEMENTS:
            raise ModelFileError(f"{where}: shape {shape}: it is damaged")
        if kind in _PLAIN:
            dtype = ALL[_PLAIN[kind]]
            inner: tuple[int, ...] = shape
            size = elements * dtype.itemsize
        elif kind in BLOCKS:
            label, block, bytes_ = BLOCKS[kind]
            if not shape or shape[-1] % block:
                raise ModelFileError(
                    f"{where}: rows of {shape[-1] if shape else 1} elements in {label}, whose"
                    f" blocks have {block}"
                )
            dtype = ALL["U8"]
            inner = (elements // shape[-1], shape[-1] // block * bytes_) if elements else (0, 0)
            size = math.prod(inner)
        else:
            label = _OTHER_BLOCKS.get(kind, f"of number {kind}")
            known = ", ".join(each[0] for each in BLOCKS.values())
            raise ModelFileError(
                f"{where}: the format {label} is not supported: expected F32, F16, BF16, {known}"
            )
        begin, packed = base + offset, kind if kind in BLOCKS else None
        if begin > len(self._pages) or size > len(self._pages) - begin:
            raise ModelFileError(
                f"{where}: bytes {begin} to {begin + size}, but the file has {len(self._pages)}:"
                " it is cut off or damaged"
            )
        if begin % dtype.itemsize:
            raise ModelFileError(f"{where}: begins at byte {begin}, which is not aligned")
        return Stored(name, shape, self._view(begin, size, inner, dtype), packed)

    def _view(self, begin: int, size: int, shape: tuple[int, ...], dtype: Any) -> Tensor:
        if size == 0:
            return _core.empty(shape, dtype, Device("cpu"))
        part = self._whole.narrow(0, begin, size)
        steps, step = [], 1
        for each in reversed(shape):
            steps.append(step)
            step *= each
        return _core.view_as(part, shape, tuple(reversed(steps)), 0, dtype)

    def names(self) -> Iterator[str]:
        return iter(self._names)

    def get(self, name: str) -> Stored | None:
        return self._tensors[self._names[name]] if name in self._names else None

    def tokenizer(self) -> Any:
        from infinicore.llm.gguf_tokenizer import tokenizer_of

        return tokenizer_of(self.metadata, self.source)
