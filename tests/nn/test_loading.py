"""Weight files: what is written is read back, and conforms to the format."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import nn
from kit.requirements import need

KINDS = [
    "float32",
    "float16",
    "bfloat16",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "bool",
]


def tensors() -> dict[str, Any]:
    made = {
        kind: infinicore.arange(6).reshape(2, 3).to(getattr(infinicore, kind)) for kind in KINDS
    }
    made["empty"] = infinicore.zeros(0, 4)
    made["alone"] = infinicore.tensor(3.5)
    made["turned"] = infinicore.arange(6, dtype=infinicore.float32).reshape(2, 3).T
    return made


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "all.safetensors"
    state = tensors()
    nn.save_safetensors(state, path, metadata={"format": "pt"})
    back = nn.read_safetensors(path)
    assert list(back) == list(state)
    for name, tensor in state.items():
        assert back[name].dtype is tensor.dtype, name
        assert back[name].shape == tensor.shape, name
        assert back[name].tolist() == tensor.tolist(), name


def test_bytes(tmp_path: Path) -> None:
    path = tmp_path / "one.safetensors"
    nn.save_safetensors({"a": infinicore.tensor([1.0, -2.0])}, path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0
    header = json.loads(data[8 : 8 + length])
    assert header == {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    assert data[8 + length :] == np.array([1, -2], dtype="<f4").tobytes()


def written(path: Path, header: Any, data: bytes = b"", length: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    count = len(text) if length is None else length
    path.write_bytes(count.to_bytes(8, "little") + text + data)
    return path


def test_elements_at_odd_places(tmp_path: Path) -> None:
    header = {
        "b": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [1, 9]},
    }
    data = b"\x07" + np.array([1.5, 2.5], dtype="<f4").tobytes()
    back = nn.read_safetensors(written(tmp_path / "odd", header, data))
    assert back["a"].tolist() == [1.5, 2.5]
    assert back["b"].tolist() == [7]


@pytest.mark.parametrize(
    ("header", "data", "length", "text"),
    [
        (b"{", b"", None, "the header is not JSON"),
        (b"{}", b"", 1 << 40, "does not fit"),
        ({"a": 3}, b"", None, "'a' has an invalid entry"),
        (
            {"a": {"dtype": "F4", "shape": [2], "data_offsets": [0, 8]}},
            b"0" * 8,
            None,
            "type 'F4', which is unknown",
        ),
        (
            {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}},
            b"0" * 8,
            None,
            "the bytes of 'a' are out of place",
        ),
        (
            {"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}},
            b"0" * 8,
            None,
            "the bytes of 'a' are out of place",
        ),
        (
            {"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}},
            b"0" * 8,
            None,
            "the bytes of 'a' are out of place",
        ),
    ],
)
def test_broken_files(
    header: Any, data: bytes, length: int | None, text: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "broken.safetensors", header, data, length)
    with pytest.raises(ValueError, match=text):
        nn.read_safetensors(path)


def test_a_short_file(tmp_path: Path) -> None:
    path = tmp_path / "short"
    path.write_bytes(b"1234")
    with pytest.raises(ValueError, match="too short for a safetensors file"):
        nn.read_safetensors(path)


def test_a_file_that_is_truncated_while_it_is_loaded(tmp_path: Path) -> None:
    """Checked before pages are read: reading truncated ones would raise SIGBUS."""
    path = tmp_path / "weights.safetensors"
    source = nn.Linear(512, 512, bias=False)
    nn.save_safetensors(source, path)
    size = path.stat().st_size

    class Truncating(dict[str, str]):
        """Names are requested between mapping the file and copying its tensors."""

        def items(self) -> Any:
            os.truncate(path, 4096)
            return super().items()

    target = nn.Linear(512, 512, bias=False)
    with pytest.raises(ValueError, match=f"{path}: truncated from {size} to 4096 bytes"):
        nn.load_safetensors(target, path, rename=Truncating(x="y"))
    with pytest.raises(ValueError, match="the bytes of 'weight' are out of place"):
        nn.read_safetensors(path)


def test_modules(tmp_path: Path) -> None:
    source = nn.Sequential(nn.Linear(3, 4, bias=True), nn.RMSNorm(4))
    for parameter in source.parameters():
        parameter.copy_(infinicore.randn(tuple(parameter.shape)))
    nn.save_safetensors(source, tmp_path / "model.safetensors")
    x = infinicore.randn((2, 3))
    for path in (tmp_path / "model.safetensors", tmp_path, [tmp_path / "model.safetensors"]):
        target = nn.Sequential(nn.Linear(3, 4, bias=True), nn.RMSNorm(4))
        assert nn.load_safetensors(target, path) == ([], [])
        assert target(x).tolist() == source(x).tolist()
    outer = nn.ModuleDict({"model": nn.Sequential(nn.Linear(3, 4, bias=True), nn.RMSNorm(4))})
    nn.load_safetensors(outer, tmp_path, rename={"": "model."})
    assert outer["model"](x).tolist() == source(x).tolist()
    with pytest.raises(RuntimeError, match="missing keys"):
        nn.load_safetensors(nn.Linear(3, 4, bias=True), tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no \*\.safetensors in"):
        nn.load_safetensors(source, _empty(tmp_path))


def _empty(path: Path) -> Path:
    made = path / "nothing"
    made.mkdir()
    return made


def test_what_the_format_lacks(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="save_safetensors: 'a' has no type"):
        nn.save_safetensors({"a": 3}, tmp_path / "x")


def test_the_package_of_the_format(tmp_path: Path) -> None:
    need("safetensors")
    from safetensors.numpy import load_file, save_file

    path = tmp_path / "all.safetensors"
    state = {name: t for name, t in tensors().items() if name != "bfloat16"}
    nn.save_safetensors(state, path)
    for name, array in load_file(path).items():
        assert array.tolist() == state[name].tolist(), name
    arrays = {name: np.array(t.tolist()) for name, t in state.items() if name != "empty"}
    save_file(arrays, tmp_path / "theirs.safetensors")
    for name, tensor in nn.read_safetensors(tmp_path / "theirs.safetensors").items():
        assert tensor.tolist() == arrays[name].tolist(), name
