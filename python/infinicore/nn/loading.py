"""Weights in files of the safetensors format: a header in JSON, then the tensors' bytes."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from infinicore import _core
from infinicore._device import device as Device  # noqa: N812
from infinicore._dtype import ALL, dtype
from infinicore._tensor import Tensor
from infinicore.nn.module import IncompatibleKeys, Module

__all__ = ["load_safetensors", "read_safetensors", "save_safetensors"]

_CODES = {
    "BOOL": "BOOL",
    "U8": "U8",
    "I8": "I8",
    "I16": "I16",
    "U16": "U16",
    "I32": "I32",
    "U32": "U32",
    "I64": "I64",
    "U64": "U64",
    "F16": "F16",
    "BF16": "BF16",
    "F32": "F32",
    "F64": "F64",
    "F8_E4M3": "F8",
}
_NAMES = {ours: theirs for theirs, ours in _CODES.items()}
_MOST_HEADER = 100 << 20


def read_safetensors(path: Any, device: Any = None) -> dict[str, Tensor]:
    """The tensors of a file by name. On the CPU they share the file's memory-mapped pages, which
    are read on first use: the file must not be modified or truncated while they are used. Write a
    new version to another file, then rename it."""
    where = Device(device) if device is not None else Device("cpu")
    file = Path(path)
    tensors, pages = map_safetensors(file)
    for name, tensor in tensors.items():
        _check_whole(file, pages)
        tensors[name] = tensor.to(where)
    return tensors


def map_safetensors(file: Path) -> tuple[dict[str, Tensor], mmap.mmap]:
    """Tensors that share the pages of the file, and the pages."""
    with file.open("rb") as opened:
        size = file.stat().st_size
        if size < 8:
            raise ValueError(f"read_safetensors: {file}: too short for a safetensors file")
        length = int.from_bytes(opened.read(8), "little")
        if length > min(size - 8, _MOST_HEADER):
            raise ValueError(f"read_safetensors: {file}: a header of {length} bytes does not fit")
        text = opened.read(length)
        pages = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"read_safetensors: {file}: the header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise ValueError(f"read_safetensors: {file}: the header is not a JSON object")
    header.pop("__metadata__", None)
    made = {name: _tensor(file, name, row, pages, 8 + length) for name, row in header.items()}
    return made, pages


def _check_whole(file: Path, pages: mmap.mmap) -> None:
    """Reading pages beyond the end of a truncated file would end the process with SIGBUS."""
    if (size := pages.size()) < len(pages):
        raise ValueError(
            f"read_safetensors: {file}: truncated from {len(pages)} to {size} bytes while it is"
            " being read"
        )


def _tensor(file: Path, name: str, row: Any, pages: mmap.mmap, base: int) -> Tensor:
    try:
        kind, shape, (begin, end) = row["dtype"], row["shape"], row["data_offsets"]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"read_safetensors: {file}: {name!r} has an invalid entry") from None
    sizes = shape if isinstance(shape, list) else [None]
    if not all(type(each) is int for each in (*sizes, begin, end)):
        raise ValueError(f"read_safetensors: {file}: {name!r} has an invalid entry")
    if not isinstance(kind, str) or kind not in _CODES:
        raise ValueError(f"read_safetensors: {file}: {name!r} has type {kind!r}, which is unknown")
    code = ALL[_CODES[kind]]
    count = code.itemsize
    for each in shape:
        count *= each
    if (
        not all(0 <= each < 1 << 63 for each in shape)
        or not 0 <= begin <= end <= len(pages) - base
        or end - begin != count
    ):
        raise ValueError(f"read_safetensors: {file}: the bytes of {name!r} are out of place")
    if count == 0:
        return _core.empty(shape, code, Device("cpu"))
    whole = _core.from_object(memoryview(pages)[base + begin : base + end], "read_safetensors")
    steps, step = [], 1
    for each in reversed(shape):
        steps.append(step)
        step *= each
    if (base + begin) % code.itemsize:  # kernels need aligned elements
        aligned = _core.empty((count,), ALL["U8"], Device("cpu"))
        _check_whole(file, pages)
        _core.copy_from(aligned, whole)
        whole = aligned
    return _core.view_as(whole, tuple(shape), tuple(reversed(steps)), 0, code)


def load_safetensors(
    module: Module, path: Any, strict: bool = True, rename: Mapping[str, str] | None = None
) -> IncompatibleKeys:
    """Load a module's weights from a file, or from several (a list, or a folder with
    *.safetensors). `rename` maps prefixes of names in the file to those of the module."""
    state: dict[str, Tensor] = {}
    mapped = []
    for file in _files(path):
        tensors, pages = map_safetensors(file)
        state.update(tensors)
        mapped.append((file, pages))
    for old, new in (rename or {}).items():
        state = {(new + n[len(old) :] if n.startswith(old) else n): t for n, t in state.items()}
    for file, pages in mapped:
        _check_whole(file, pages)
    return module.load_state_dict(state, strict=strict)


def _files(path: Any) -> list[Path]:
    if isinstance(path, (list, tuple)):
        return [Path(each) for each in path]
    if Path(path).is_dir():
        found = sorted(Path(path).glob("*.safetensors"))
        if not found:
            raise FileNotFoundError(f"load_safetensors: no *.safetensors in {path}")
        return found
    return [Path(path)]


def save_safetensors(
    tensors: Mapping[str, Tensor] | Module, path: Any, metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors (or a module's state) to a file."""
    state = tensors.state_dict() if isinstance(tensors, Module) else tensors
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    chunks: list[bytes] = []
    at = 0
    for name, tensor in state.items():
        if not isinstance(tensor, Tensor) or tensor.dtype._code not in _NAMES:
            raise TypeError(f"save_safetensors: {name!r} has no type that the format knows")
        data = _bytes(tensor)
        header[name] = {
            "dtype": _NAMES[tensor.dtype._code],
            "shape": list(tensor.shape),
            "data_offsets": [at, at + len(data)],
        }
        chunks.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    _write(path, [len(text).to_bytes(8, "little"), text, *chunks])


def _bytes(tensor: Tensor) -> bytes:
    flat = tensor.cpu().contiguous()
    kind: dtype = ALL["U8"]
    view = _core.view_as(flat, (flat.nbytes,), (1,), 0, kind)
    return bytes(memoryview(view)) if flat.nbytes else b""


def _write(path: Any, chunks: Iterable[bytes]) -> None:
    with Path(path).open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
