"""Linear layers of infinicore::nn, plain and quantised, whole and as ranks have them, against
products with the dequantised weights in float64."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kit import build, process
from kit.binding import root
from kit.cpp_layers import CODES, TYPES, Array, build_layers

IN, OUT, GROUP, ROWS = 32, 48, 8, 5
AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)  # the nibble that holds column j
JSON = Path(__file__).parent / "cpp" / "quantization_json.cc"

pytestmark = pytest.mark.requires("c++")


@pytest.fixture(scope="module")
def layers(tmp_path_factory):
    return build_layers(tmp_path_factory.mktemp("nn"))


def packed(codes: Any, order: Any = range(8)) -> Any:
    """Packs eight neighbours of the last dimension into a word."""
    nibbles = codes.reshape(*codes.shape[:-1], -1, 8).astype(np.uint32)
    words = sum(nibbles[..., j] << np.uint32(4 * place) for j, place in enumerate(order))
    return np.ascontiguousarray(words.astype(np.uint32).view(np.int32))


class Weight:
    """The tensors of a checkpoint, and the matrix [OUT, IN] that they encode."""

    def __init__(self, scheme: str, dtype: str, *, group: int = GROUP, ordered: bool = False):
        random = np.random.default_rng(7)
        groups = 1 if group == -1 else IN // group
        codes = random.integers(0, 16, (IN, OUT))
        zeros = random.integers(0, 15, (groups, OUT))
        scales = random.uniform(0.01, 0.1, (groups, OUT)).astype(dtype)
        of_input = np.arange(IN) * groups // IN
        if ordered:
            of_input = random.permutation(of_input)
        self.state: dict[str, Any] = {}
        if scheme == "awq":
            self.state = {
                "qweight": packed(codes, AWQ_ORDER),
                "qzeros": packed(zeros, AWQ_ORDER),
                "scales": scales,
            }
            self.matrix = ((codes - zeros[of_input]) * scales.astype(float)[of_input]).T
        elif scheme == "gptq":
            self.state = {
                "qweight": np.ascontiguousarray(packed(np.ascontiguousarray(codes.T)).T),
                "qzeros": packed(zeros),
                "scales": scales,
                "g_idx": of_input.astype(np.int32),
            }
            self.matrix = ((codes - (zeros[of_input] + 1)) * scales.astype(float)[of_input]).T
        elif scheme == "w8a8":
            weight = random.integers(-127, 128, (OUT, IN)).astype(np.int8)
            scale = random.uniform(0.001, 0.01, (OUT, 1)).astype(np.float32)
            self.state = {"weight": weight, "weight_scale": scale}
            self.matrix = weight * scale.astype(float)
        else:
            weight = random.normal(size=(OUT, IN)).astype(dtype)
            self.state = {"weight": weight}
            self.matrix = weight.astype(float)

    def add_bias(self, dtype: str) -> None:
        self.state["bias"] = np.random.default_rng(8).normal(size=OUT).astype(dtype)


def run(
    layers: Any,
    scheme: str,
    weight: Weight,
    x: Any,
    width: int,
    *,
    group: int = GROUP,
    ordered: bool = False,
    alpha: float = 1.0,
    is_row: bool = False,
    rank: int = 0,
    ranks: int = 1,
) -> tuple[Any, str]:
    out = np.zeros((*x.shape[:-1], width), x.dtype)
    arrays = [Array.of(array, name) for name, array in weight.state.items()]
    said = layers(
        "linear",
        scheme.encode(),
        int(is_row),
        ctypes.c_size_t(IN),
        ctypes.c_size_t(OUT),
        group,
        int(ordered),
        ctypes.c_float(alpha),
        ctypes.c_size_t(rank),
        ctypes.c_size_t(ranks),
        TYPES[CODES[str(x.dtype)]],
        len(arrays),
        (Array * len(arrays))(*arrays),
        Array.of(x),
        Array.of(out),
    )
    return out.astype(float), said


def inputs(dtype: str, *shape: int) -> Any:
    import ml_dtypes  # noqa: F401 - for bfloat16

    return np.random.default_rng(9).normal(size=(*shape, IN)).astype(dtype)


def as_seen(scheme: str, x: Any) -> Any:
    """The input in float64, for W8A8 rounded as its rows are."""
    exact = x.astype(float)
    if scheme != "w8a8":
        return exact
    scale = np.abs(exact).max(-1, keepdims=True) / 127
    return np.round(exact / scale) * scale


def tolerance(scheme: str, dtype: str, exact: Any) -> float:
    """In steps of the results, of the products' weights where those are expanded to F16, and of the
    rows' codes, which may be rounded to either side of a tie."""
    step = {"float32": 2.0**-20, "float16": 2.0**-10, "bfloat16": 2.0**-7}[dtype]
    if scheme in ("awq", "gptq"):
        step = max(step, 2.0**-10)
    return float(4 * step * np.abs(exact).max() + (0.03 if scheme == "w8a8" else 0))


SCHEMES = ["none", "awq", "gptq", "w8a8"]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_linear(layers, scheme, dtype, bias):
    x = inputs(dtype, 2, ROWS)
    weight = Weight(scheme, dtype)
    if bias:
        weight.add_bias(dtype)
    for alpha in (1.0, 0.5):
        out, said = run(layers, scheme, weight, x, OUT, alpha=alpha)
        assert said == ""
        exact = alpha * (as_seen(scheme, x) @ weight.matrix.T)
        exact = exact + weight.state["bias"].astype(float) if bias else exact
        assert np.abs(out - exact).max() < tolerance(scheme, dtype, exact)


@pytest.mark.parametrize(
    ("scheme", "group", "ordered"), [("awq", -1, False), ("gptq", -1, False), ("gptq", 8, True)]
)
def test_groups(layers, scheme, group, ordered):
    x, weight = inputs("float16", ROWS), Weight(scheme, "float16", group=group, ordered=ordered)
    out, said = run(layers, scheme, weight, x, OUT, group=group, ordered=ordered)
    assert said == ""
    exact = x.astype(float) @ weight.matrix.T
    assert np.abs(out - exact).max() < tolerance(scheme, "float16", exact)


@pytest.mark.parametrize("is_row", [False, True])
@pytest.mark.parametrize("case", [*SCHEMES, "gptq, ordered"])
def test_ranks(layers, case, is_row):
    """Each of two ranks has its slice of every tensor; together they compute the whole."""
    scheme, ordered = case.split(",")[0], case.endswith("ordered")
    x, weight = inputs("float16", ROWS), Weight(scheme, "float16", ordered=ordered)
    weight.add_bias("float16")
    total = np.zeros((ROWS, OUT))
    exact = weight.state["bias"].astype(float)
    for rank in range(2):
        half = slice(rank * IN // 2, (rank + 1) * IN // 2)
        part = np.ascontiguousarray(x[:, half]) if is_row else x
        width = OUT if is_row else OUT // 2
        options: Any = {"is_row": is_row, "rank": rank, "ranks": 2, "ordered": ordered}
        out, said = run(layers, scheme, weight, part, width, **options)
        assert said == ""
        if is_row:
            total += out
            exact = exact + as_seen(scheme, part) @ weight.matrix[:, half].T
        else:
            total[:, rank * width : (rank + 1) * width] = out
    if not is_row:
        exact = exact + as_seen(scheme, x) @ weight.matrix.T
    assert np.abs(total - exact).max() < 2 * tolerance(scheme, "float16", exact)


def test_refusals(layers):
    x = inputs("float16", ROWS)
    weight = Weight("awq", "float16")
    _, said = run(layers, "awq", weight, x, OUT, group=5)
    assert said == "Linear: in_features is 32: expected a multiple of 5 for AWQ"
    weight.state["qweigth"] = weight.state.pop("qweight")
    _, said = run(layers, "awq", weight, x, OUT)
    assert '"qweigth" is no parameter of the module' in said
    assert '"qweight"' in said
    weight = Weight("gptq", "float16")
    weight.state["scales"] = weight.state["scales"].astype("float32")
    _, said = run(layers, "gptq", weight, x, OUT)
    assert '"scales": Parameter::load: the tensor is of F32: expected F16' in said


def test_layout_of_a_vendor(layers):
    """Its tensors are loaded, and the product is rejected with a reason."""
    groups = IN // GROUP
    weight = Weight("none", "float16")
    weight.state = {
        "qweight": np.zeros((IN // 2, OUT), np.uint8),
        "qzeros": np.zeros((groups, OUT), np.float16),
        "scales": np.ones((groups, OUT), np.float16),
        "g_idx": np.arange(IN, dtype=np.int32) // GROUP,
    }
    _, said = run(layers, "gptq_qy", weight, inputs("float16", ROWS), OUT)
    assert "private layout" in said


@pytest.mark.requires("nlohmann-json")
def test_configurations_from_json(tmp_path):
    program, lib = tmp_path / "json", root() / "lib"
    options = ["-std=c++17", *build.WARNINGS, f"-I{root() / 'include'}", f"-L{lib}"]
    link = [f"-Wl,-rpath,{lib}", "-linfinicore_cpp_api", "-o", str(program)]
    build.compile_([build.CXX, *options, str(JSON), *link])
    done = process.run([str(program)], timeout=60)
    assert done.stdout == "ok\n", done.stderr
