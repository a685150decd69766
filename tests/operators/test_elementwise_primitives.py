"""Elementwise primitives: their definitions against torch, and what the usual cases do not cover:
every pair of element types of a cast, results to the last bit, integers of 64 bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from kit import Maker
from kit.drawing import FLOATS, Draw, Rules
from kit.operator_runs import Trial
from spec.operators import REGISTRY
from spec.operators.language.numeric import round_to

from .second_opinion import WILD, call, np, pairs, same, tensors, torch, uncompared, values

_WORDS = """
    abs neg sign sqrt rsqrt exp exp2 expm1 log log2 sin cos cosh acosh atan lgamma ceil round trunc
    isnan isinf signbit logical_not logit
"""
UNARY: dict[str, Callable[[Any], Any]] = {name: getattr(torch, name) for name in _WORDS.split()}
_WORDS = """
    div pow remainder atan2 maximum minimum fmax copysign less less_equal greater greater_equal
    logical_and logical_or logical_xor heaviside
"""
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    **{name: getattr(torch, name) for name in _WORDS.split()},
    "not_equal": torch.ne,
    "trunc_divide": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
}
_WORDS = "gcd lcm bitwise_and bitwise_or bitwise_xor bitwise_left_shift maximum minimum fmax pow"
OF_INTEGERS = {name: getattr(torch, name) for name in f"{_WORDS} remainder mul sub fmod".split()}


# ---- Definitions --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    x = np.concatenate([np.array(WILD, float), values(2000), np.linspace(-3, 3, 25)])
    same(call(name, x)[0], UNARY[name](torch.from_numpy(x)), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    for a, b in (pairs(), (values(999), values(999, seed=1))):
        ours, theirs = call(name, a, b)[0], BINARY[name](*tensors([a, b]))
        if name == "remainder":  # torch gives NaN where the quotient is huge
            with np.errstate(all="ignore"):
                known = (np.abs(a / b) < 1e15) & np.isfinite(b)
            ours, theirs = ours[known], theirs[known]
        same(ours, theirs, atol=1e-14)


@pytest.mark.parametrize("name", OF_INTEGERS)
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8])
def test_integers(name: str, dtype: type) -> None:
    numbers = np.array([1, 2, 3, 5, 6, 7, 11, 100, 255, 253, 251], np.int64).astype(dtype)
    a, b = (grid.reshape(-1) for grid in np.meshgrid(numbers, numbers))
    if name == "lcm":  # out of range there is no correct result
        least = np.lcm(a.astype(np.int64), b.astype(np.int64))
        inside = least <= np.iinfo(dtype).max
        a, b = a[inside], b[inside]
    assert np.array_equal(call(name, a, b)[0].astype(dtype), OF_INTEGERS[name](*tensors([a, b])))


def test_the_others() -> None:
    x = np.array([v for v in WILD if v != 5e-324])
    mantissa, exponent = call("frexp", x)
    same(mantissa, torch.frexp(torch.from_numpy(x))[0])
    same(exponent, torch.frexp(torch.from_numpy(x))[1])
    a, b = pairs()
    ours = call("nextafter", a, b, dtypes={"c": "F64"})[0]
    same(ours, torch.nextafter(*tensors([a, b])), rtol=0)
    with np.errstate(all="ignore"):
        single = [grid.astype(np.float32) for grid in pairs()]
    ours = call("nextafter", *single, dtypes={"c": "F32"})[0]
    assert np.array_equal(ours, torch.nextafter(*tensors(single)), equal_nan=True)
    chosen = call("where", a > 0, a, b)[0]
    assert np.array_equal(chosen, np.where(a > 0, a, b), equal_nan=True)
    whole = np.arange(-5, 5)
    assert np.array_equal(call("bitwise_not", whole)[0], ~whole)


def test_numbers_from_nothing() -> None:
    shapes = {"y": (7,)}
    ours = call("arange", start=2.5, step=-0.5, shapes=shapes, dtypes={"y": "F32"})[0]
    same(ours, torch.arange(2.5, -1.0, -0.5))
    ours = call("arange", start=2.5, step=-1.5, shapes=shapes, dtypes={"y": "I32"})[0]
    assert ours.tolist() == [2, 1, 0, -1, -2, -3, -4]
    assert call("fill", value=2.5, shapes=shapes, dtypes={"y": "F16"})[0].tolist() == [2.5] * 7
    assert call("fill", value=2.5, shapes=shapes, dtypes={"y": "U8"})[0].tolist() == [2] * 7


CASTS = np.array([0.0, -0.0, 0.5, -0.9, 1.5, 127.9, 128, -129, 255.5, 2.0**40, -(2.0**70), 1e300])
CASTS = np.concatenate([CASTS, [math.nan, math.inf, -math.inf, 2.0**63, -(2.0**63), 2.0**64]])


def test_casts_of_floats() -> None:
    def cast(to: str) -> list[Any]:
        return list(call("cast", CASTS, dtypes={"y": to, "x": "F64"})[0].tolist())

    most, least = 2**63 - 1, -(2**63)
    assert cast("I8") == [
        *(0, 0, 0, 0, 1, 127, 127, -128, 127, 127, -128, 127),
        *(0, 127, -128, 127, -128, 127),
    ]
    assert cast("I64")[9:] == [2**40, least, most, 0, most, least, most, least, most]
    assert cast("U64")[9:] == [2**40, 0, 2**64 - 1, 0, 2**64 - 1, 0, 2**63, 0, 2**64 - 1]
    assert cast("BOOL") == [False, False] + [True] * 16
    assert np.array_equal(np.array(cast("F32")), CASTS, equal_nan=True)


# ---- Runs ----------------------------------------------------------------------------------------


def exactly(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    """All bits except those of NaN."""
    for name, wanted in expected.items():
        dtype, result = draw.dtypes[name], got[name]
        wanted = np.broadcast_to(np.asarray(wanted), result.shape)
        if dtype in FLOATS:
            wanted = round_to(wanted.astype(np.float64), dtype)
            negative = np.signbit(wanted) == np.signbit(result)
            right = np.where(np.isnan(wanted), np.isnan(result), (result == wanted) & negative)
        else:
            right = result == wanted.astype(result.dtype)
        at = int(np.argmin(right))
        given = {key: np.ravel(x)[at % x.size] for key, x in inputs.items()}
        assert right.all(), f"{name} of {given}: {np.ravel(result)[at]}, {np.ravel(wanted)[at]}"


def trial(make: Maker, name: str, dtype: str, rules: dict[str, Any]) -> None:
    operator = REGISTRY[name]
    Trial(make, Draw(operator, Rules(compare=exactly, **rules), dtype, "usual", 0)).four_ways()


def numbers(dtype: str) -> Any:
    """Of every size and sign that the dtype has."""
    if dtype in FLOATS:
        powers = np.ldexp(1.0, np.arange(-30, 90, 3))
        near = np.concatenate([CASTS, powers, powers + 1, powers * 1.00390625, [2.0**53 + 2]])
        return round_to(np.concatenate([near, -near]), dtype)
    if dtype == "BOOL":
        return np.array([False, True, True])
    bits = 8 if dtype == "BYTE" else int(dtype[1:])
    signed = dtype.startswith("I")
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    near = [0, 1, 2, 3, 100, low, low + 1, high, high - 1, high // 2, high // 3, high // 3 * 2]
    return np.array(near, "int64" if signed else "uint64")


PLAIN = REGISTRY["cast"].tensors[0].dtypes


@pytest.mark.parametrize("source", PLAIN)
@pytest.mark.parametrize("target", PLAIN)
def test_cast(make: Maker, target: str, source: str) -> None:
    given = numbers(source)
    if source[1:] == "64" and source[0] in "IU" and target in ("F8", "F16", "BF16"):
        given = given[np.abs(given.astype(float)) < 2**24]  # these are rounded twice
    rules = {
        "symbols": {"*S": ((given.size,),)},
        "dtypes": {"x": (source,)},
        "values": {"x": lambda draw, shape: given},
    }
    trial(make, "cast", target, rules)


@pytest.mark.parametrize("dtype", ["F32", "F64"])
def test_nextafter_to_the_bit(make: Maker, dtype: str) -> None:
    tiny, most = (
        (1e-45, 3.4028234663852886e38) if dtype == "F32" else (5e-324, 1.7976931348623157e308)
    )
    some = np.array([0.0, -0.0, 1, -1, 2, tiny, -tiny, most, -most, np.inf, -np.inf, np.nan, 0.1])
    a, b = (grid.reshape(-1) for grid in np.meshgrid(some, some))
    rules = {
        "symbols": {"*S": ((a.size,),)},
        "values": {"a": lambda draw, shape: a, "b": lambda draw, shape: b},
    }
    trial(make, "nextafter", dtype, rules)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_nextafter_of_bits(dtype: str) -> None:
    kind = getattr(torch, dtype)
    limits = torch.finfo(kind)
    some = [0.0, -0.0, 1, -1, 2, 0.1, limits.max, -limits.max, limits.tiny, np.inf, -np.inf, np.nan]
    x = torch.tensor([*some, limits.smallest_normal, 1 - limits.eps], dtype=kind)
    x = torch.cat([x, torch.tensor([1, -32767, 3, 127], dtype=torch.int16).view(kind)])
    a, b = (each.reshape(-1) for each in torch.meshgrid(x, x, indexing="ij"))
    bits = [each.contiguous().view(torch.int16).numpy() for each in (a, b)]
    infinity = 0x7C00 if kind is torch.float16 else 0x7F80
    made = torch.from_numpy(call("nextafter_bits", *bits, infinity=infinity)[0].astype("i2"))
    ours, theirs = made.view(kind), torch.nextafter(a, b)
    assert torch.equal(ours.isnan(), theirs.isnan())
    known = ~theirs.isnan()
    assert torch.equal(made[known], theirs.view(torch.int16)[known])


def test_parts_of_complex_numbers() -> None:
    x, y = (values(50, seed=seed) for seed in range(2))
    theirs = torch.conj_physical(torch.complex(*tensors([x, y])))
    for ours, part in zip(call("complex_conj", x, y), (theirs.real, theirs.imag), strict=True):
        assert np.array_equal(ours, part)
    theirs = torch.complex(*tensors([x, y]))
    for ours, part in zip(
        call("complex_from_parts", x, y), (theirs.real, theirs.imag), strict=True
    ):
        assert np.array_equal(ours, part)


@pytest.mark.parametrize("dtype", ["F16", "BF16", "F32", "F64"])
@pytest.mark.parametrize("name", ["frexp", "signbit", "neg", "abs", "trunc", "ceil", "round"])
def test_parts_to_the_bit(make: Maker, name: str, dtype: str) -> None:
    tiny = {"F16": 2.0**-24, "BF16": 2.0**-133, "F32": 2.0**-149, "F64": 2.0**-1074}[dtype]
    some = np.array([0.0, tiny, tiny * 3, tiny * 2**9, 0.5, 0.75, 1, 1.5, 2.5, 3e4, np.inf])
    x = np.concatenate([some, -some] + ([] if name == "signbit" else [[np.nan]]))
    rules = {"symbols": {"*S": ((x.size,),)}, "values": {"x": lambda draw, shape: x}}
    trial(make, name, dtype, rules)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("I64", 2.0**53),
        ("I64", -(2.0**63)),
        ("I64", 1e300),
        ("U64", 2.0**63),
        ("U64", -1.0),
        ("U8", -1.0),
        ("U8", 300.0),
        ("F16", 1e5),
        ("F32", 0.1),
        ("F64", 0.1),
        ("F8", -0.0),
        ("BOOL", -2.0),
        ("F32", math.nan),
    ],
)
def test_fill_to_the_bit(make: Maker, dtype: str, value: float) -> None:
    wanted: Any = value
    if dtype not in FLOATS:
        whole = max(min(int(value), 2**63 - 1 if dtype != "U64" else 2**64 - 1), -(2**63))
        wanted = whole != 0 if dtype == "BOOL" else whole % 2**64

    def compare(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
        given = np.array(wanted, np.uint64).astype(got["y"].dtype) if dtype[0] in "IU" else wanted
        exactly(draw, inputs, got, {"y": given})

    rules = Rules(compare=compare, attributes={"value": (value,)})
    Trial(make, Draw(REGISTRY["fill"], rules, dtype, "usual", 1)).four_ways()


@pytest.mark.parametrize(
    ("dtype", "start", "step"),
    [("I64", 2.0**53, -3.0), ("U64", 5.0, 2.0**40), ("I8", 0.0, 1.0), ("U8", 200.0, -7.0)],
)
def test_arange_of_integers(make: Maker, dtype: str, start: float, step: float) -> None:
    def compare(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
        wanted = [(int(start) + int(step) * i) % 2**64 for i in range(1000)]
        exactly(draw, inputs, got, {"y": np.array(wanted, np.uint64)})

    attributes = {"start": (start,), "step": (step,)}
    rules = Rules(compare=compare, symbols={"N": (1000,)}, attributes=attributes)
    Trial(make, Draw(REGISTRY["arange"], rules, dtype, "usual", 0)).four_ways()


@pytest.mark.parametrize("dtype", ["F16", "BF16", "F32", "F64"])
def test_arange_counts_far(make: Maker, dtype: str) -> None:
    """Above 2^24, F32 cannot represent the sums exactly."""
    rules = {
        "symbols": {"N": (3000,)},
        "attributes": {"start": (2.0**25 + 1,), "step": (1.0,)},
    }
    trial(make, "arange", dtype, rules)


def test_every_definition_was_compared(request: pytest.FixtureRequest) -> None:
    if not any("test_binary" in item.name for item in request.session.items):
        pytest.skip("only some tests of this file run")
    words = "arithmetic transcendental rounding comparison bits fill"
    assert not uncompared(*words.split())
