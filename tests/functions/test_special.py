"""Special functions, compared with SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special as scipy

import infinicore
from infinicore import special

X = np.concatenate([np.linspace(-30, 30, 121), np.linspace(-3, 3, 61), [0.0, 1e-10, 100.0]])
ABOVE = np.concatenate([np.linspace(1e-3, 30, 100), [1e-8, 100.0, 300.0]])
NAMES = {
    name: name
    for name in ["i0", "i0e", "i1", "i1e", "erfcx", "ndtr", "log_ndtr", "entr", "digamma", "erf"]
}
NAMES |= {name: name for name in ["erfc", "exp2", "expit", "expm1", "gammaln", "psi", "sinc"]}
POSITIVE = {"modified_bessel_k0": "k0", "modified_bessel_k1": "k1", "log1p": "log1p"}
POSITIVE |= {"scaled_modified_bessel_k0": "k0e", "scaled_modified_bessel_k1": "k1e"}
POSITIVE |= {"modified_bessel_i0": "i0", "modified_bessel_i1": "i1"}


def close(got: Any, wanted: Any, relative: float = 1e-12, absolute: float = 1e-300) -> None:
    assert np.allclose(got.numpy(force=True), wanted, relative, absolute, equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
def test_everywhere(name: str) -> None:
    with np.errstate(all="ignore"):
        wanted = np.sinc(X) if name == "sinc" else getattr(scipy, NAMES[name])(X)
    close(getattr(special, name)(infinicore.tensor(X)), wanted, absolute=1e-14)
    single = getattr(special, name)(infinicore.tensor(X[-61:].astype(np.float32)))
    assert single.dtype is infinicore.float32


@pytest.mark.parametrize("name", POSITIVE)
def test_positive_arguments(name: str) -> None:
    wanted = getattr(np if name == "log1p" else scipy, POSITIVE[name])(ABOVE)
    close(getattr(special, name)(infinicore.tensor(ABOVE)), wanted)


@pytest.mark.parametrize(("name", "other"), [("bessel_j0", "j0"), ("bessel_j1", "j1")])
def test_bessel(name: str, other: str) -> None:
    close(getattr(special, name)(infinicore.tensor(X)), getattr(scipy, other)(X), absolute=1e-14)


def test_normal() -> None:
    p = np.concatenate([np.linspace(0.001, 0.999, 99), [1e-300, 1e-20, 0.5, 0.0, 1.0]])
    close(special.ndtri(infinicore.tensor(p)), scipy.ndtri(p), absolute=1e-13)
    q = p[p < 1]
    close(special.logit(infinicore.tensor(q)), scipy.logit(q), absolute=1e-13)
    close(special.erfinv(infinicore.tensor(q)), scipy.erfinv(q), 1e-9)


def test_gamma() -> None:
    s, q = np.linspace(1.1, 20, 50), np.linspace(0.1, 9, 50)
    close(special.zeta(infinicore.tensor(s), infinicore.tensor(q)), scipy.zeta(s, q))
    for n in (0, 1, 2, 5):
        close(special.polygamma(n, infinicore.tensor(ABOVE)), scipy.polygamma(n, ABOVE))
    a, x = np.repeat([0.1, 0.5, 1, 3, 10, 50, 150], 20), np.tile(np.linspace(0.01, 200, 20), 7)
    t, u = infinicore.tensor(a), infinicore.tensor(x)
    close(special.gammainc(t, u), scipy.gammainc(a, x), 1e-11, 1e-14)
    close(special.gammaincc(t, u), scipy.gammaincc(a, x), 1e-11, 1e-14)
    wanted = [scipy.multigammaln(each, 4) for each in ABOVE + 3]
    close(special.multigammaln(infinicore.tensor(ABOVE + 3), 4), wanted)


def test_products_with_logarithms() -> None:
    x, y = np.array([0.0, 1.0, 2.0, 0.0]), np.array([0.0, 0.5, 3.0, np.nan])
    close(special.xlogy(infinicore.tensor(x), infinicore.tensor(y)), scipy.xlogy(x, y))
    close(special.xlog1py(infinicore.tensor(x), infinicore.tensor(y)), scipy.xlog1py(x, y))


def test_other_names() -> None:
    x = infinicore.tensor([[1.0, 2.0]])
    assert special.softmax(x, -1).tolist() == infinicore.softmax(x, -1).tolist()
    assert special.log_softmax(x, -1).tolist() == infinicore.log_softmax(x, -1).tolist()
    assert special.logsumexp(x, -1).tolist() == infinicore.logsumexp(x, -1).tolist()
    assert special.round(x).tolist() == x.tolist()
    assert special.spherical_bessel_j0(infinicore.zeros(1)).item() == 1
