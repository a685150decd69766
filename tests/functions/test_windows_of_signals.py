"""`infinicore.signal.windows`, compared with SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal.windows as scipy

import infinicore
from infinicore.signal import windows

CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bartlett": ({}, {}),
    "blackman": ({}, {}),
    "cosine": ({}, {}),
    "exponential": ({"tau": 2.0}, {"tau": 2.0}),
    "gaussian": ({"std": 1.5}, {"std": 1.5}),
    "general_cosine": ({"a": [0.4, 0.5, 0.1]}, {"a": [0.4, 0.5, 0.1]}),
    "general_hamming": ({"alpha": 0.6}, {"alpha": 0.6}),
    "hamming": ({}, {}),
    "hann": ({}, {}),
    "kaiser": ({"beta": 5.0}, {"beta": 5.0}),
    "nuttall": ({}, {}),
}


@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_as_scipy(name: str, sym: bool) -> None:
    ours, theirs = CASES[name]
    for count in (1, 2, 5, 8) if sym else (2, 5, 8):  # one element, as in torch
        got = getattr(windows, name)(count, sym=sym, dtype=infinicore.float64, **ours)
        wanted = getattr(scipy, name)(count, sym=sym, **theirs)
        assert np.allclose(got.numpy(force=True), wanted, atol=1e-12)
    with pytest.raises(ValueError, match=name):
        getattr(windows, name)(-1, **ours)


@pytest.mark.parametrize("name", windows.__all__)
def test_one_element(name: str) -> None:
    given = {"general_cosine": {"a": [0.5, 0.5]}}.get(name, {})
    for sym in (False, True):
        assert getattr(windows, name)(1, sym=sym, **given).tolist() == [1]
