"""Comparisons: differences, output, tolerances."""

from __future__ import annotations

import math

import pytest

from kit.requirements import need

torch = need("torch")

from libinfiniop import (  # noqa: E402
    InfiniDtype,
    debug,
    debug_all,
    get_tolerance,
    print_discrepancy,
)

NAN, INF = math.nan, math.inf


def places(actual: list[float], expected: list[float], **options: object) -> list[int]:
    a, e = torch.tensor(actual), torch.tensor(expected)
    return print_discrepancy(a, e, verbose=False, **options).flatten().tolist()  # type: ignore


def test_tolerances_add_up() -> None:
    assert places([1, 2, 3.5], [1, 2, 3], atol=0.1, rtol=0.1) == [2]
    assert places([1, 2, 3.5], [1, 2, 3], atol=0.25, rtol=0.1) == []


def test_infinities_and_nans() -> None:
    assert places([INF, -INF, INF, 1], [INF, INF, 1, INF], rtol=1) == [1, 2, 3]
    assert places([NAN, NAN, 1], [NAN, 1, NAN], equal_nan=True) == [1, 2]
    assert places([NAN, NAN, 1], [NAN, 1, 1], equal_nan=False) == [0, 1]


@pytest.mark.parametrize(
    "dtype",
    [
        *("bool", "uint8", "int8", "uint16", "int32", "uint32", "int64"),
        *("float16", "bfloat16", "float8_e4m3fn", "complex64"),
    ],
)
def test_all_types(dtype: str) -> None:
    expected = torch.tensor([[1, 0, 1], [1, 1, 0]]).to(getattr(torch, dtype))
    actual = torch.tensor([[1, 0, 1], [1, 0, 0]]).to(getattr(torch, dtype))
    assert print_discrepancy(actual, expected, verbose=False).tolist() == [[1, 1]]
    assert not len(print_discrepancy(expected, expected, verbose=False))


def test_large_integers_are_compared_exactly() -> None:
    actual, expected = torch.tensor([2**60 + 1, 7]), torch.tensor([2**60, 7])
    assert print_discrepancy(actual, expected, 0, 0, verbose=False).tolist() == [[0]]
    assert not len(print_discrepancy(actual, expected, 1, 0, verbose=False))


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match=r"actual has shape \(2,\), expected has \(3,\)"):
        print_discrepancy(torch.ones(2), torch.ones(3))


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    actual, expected = torch.zeros(2, 3), torch.zeros(2, 3)
    actual[1, 2] = 0.5
    print_discrepancy(actual, expected.half(), atol=0.1)
    said = capsys.readouterr().out
    assert "1 of 6 elements differ (16.7 %) by more than 0.1 + 0.001 * |expected|" in said
    assert "(1, 2)            0.5                     0                       0.5" in said
    assert "type              float32                 float16" in said
    assert "max               0.5                     0                       0.5" in said
    assert "\033" not in said  # no terminal
    print_discrepancy(torch.zeros(100), torch.ones(100))
    said = capsys.readouterr().out
    assert "... and 80 more" in said and len(said.splitlines()) == 27
    print_discrepancy(torch.zeros(0), torch.zeros(0))
    assert "all 0 elements agree" in capsys.readouterr().out


def test_debug(capsys: pytest.CaptureFixture[str]) -> None:
    debug(torch.ones(4), torch.ones(4) * 1.001)
    assert "all 4 elements agree" in capsys.readouterr().out
    debug(torch.ones(4).bfloat16(), torch.ones(4), verbose=False)
    assert capsys.readouterr().out == ""
    with pytest.raises(
        AssertionError, match=r"debug: 1 of 4 elements differ by more than 0 \+ 0\.01"
    ):
        debug(torch.ones(4), torch.tensor([1, 1, 2.0, 1]))
    assert "1 of 4 elements differ" in capsys.readouterr().out
    with pytest.raises(AssertionError):
        debug(torch.tensor([NAN]), torch.tensor([NAN]))
    debug(torch.tensor([NAN]), torch.tensor([NAN]), equal_nan=True)


def test_debug_all(capsys: pytest.CaptureFixture[str]) -> None:
    one, two = torch.ones(2), torch.ones(2) * 2
    debug_all([one, two], [one, two], "and")
    assert "Pair 2 of 2" in capsys.readouterr().out
    debug_all([one, two], [one, one], "or", verbose=False)
    with pytest.raises(AssertionError, match="pairs that differ: 2"):
        debug_all([one, two], [one, one], "and")
    with pytest.raises(AssertionError, match="all pairs differ"):
        debug_all([two, two], [one, one], "or")
    with pytest.raises(ValueError, match="condition is 'xor': expected 'and' or 'or'"):
        debug_all([one], [one], "xor")
    with pytest.raises(ValueError, match="1 actual_vals for 2 desired_vals"):
        debug_all([one], [one, two], "and")


def test_get_tolerance() -> None:
    table = {InfiniDtype.F16: {"atol": 1e-3, "rtol": 1e-2}, torch.float64: {"rtol": 1e-9}}
    atol, rtol = get_tolerance(table, InfiniDtype.F16)
    assert (atol, rtol) == (1e-3, 1e-2)
    assert get_tolerance(table, torch.float16) == (1e-3, 1e-2)
    assert get_tolerance(table, InfiniDtype.F64) == (0, 1e-9)
    assert get_tolerance(table, InfiniDtype.F32) == (0, 1e-3)
    assert get_tolerance({}, InfiniDtype.F32, 1, 2) == (1, 2)
    with pytest.raises(ValueError, match="get_tolerance: dt is"):
        get_tolerance(table, "F32")
