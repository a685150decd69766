"""Special functions, compared with SciPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.special as scipy

import infinicore
from infinicore import special
from kit.requirements import need

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


@pytest.mark.parametrize(("name", "other"), [("bessel_y0", "y0"), ("bessel_y1", "y1")])
def test_bessel_of_the_second_kind(name: str, other: str) -> None:
    x = np.concatenate([np.linspace(0.01, 40, 200), [0.0, 1e-10, 1e-300, 100.0, -1.0, np.nan]])
    wanted = getattr(scipy, other)(x)
    close(getattr(special, name)(infinicore.tensor(x)), wanted, absolute=1e-14)


def test_airy() -> None:
    x = np.linspace(-20, 30, 301)
    close(special.airy_ai(infinicore.tensor(x)), scipy.airy(x)[0], 1e-11, 1e-200)
    ends = special.airy_ai(infinicore.tensor([0.0, 200.0, np.inf, np.nan])).tolist()
    assert ends[:2] == [np.float32(scipy.airy(0.0)[0]), 0]
    assert np.isnan(ends[2:]).all()


POLYNOMIALS = {
    "chebyshev_polynomial_t": scipy.eval_chebyt,
    "chebyshev_polynomial_u": scipy.eval_chebyu,
    "hermite_polynomial_h": scipy.eval_hermite,
    "hermite_polynomial_he": scipy.eval_hermitenorm,
    "laguerre_polynomial_l": scipy.eval_laguerre,
    "legendre_polynomial_p": scipy.eval_legendre,
    "shifted_chebyshev_polynomial_t": scipy.eval_sh_chebyt,
    "shifted_chebyshev_polynomial_u": scipy.eval_sh_chebyu,
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name: str) -> None:
    x = np.concatenate([np.linspace(-3, 3, 25), [1.0, -1.0, 0.0, 0.5]])
    function, wanted = getattr(special, name), POLYNOMIALS[name]
    for n in (0, 1, 2, 7, 9, 20):
        made = function(infinicore.tensor(x), n)
        close(made, wanted(np.int64(n), x), 1e-11, 1e-11)
    degrees = np.array([[-2], [0], [1], [4], [11]])
    made = function(infinicore.tensor(x), infinicore.tensor(degrees))
    close(made, np.where(degrees < 0, 0, wanted(np.maximum(degrees, 0), x)), 1e-11, 1e-11)
    assert function(infinicore.tensor([2]), 3).dtype is infinicore.float32
    assert function(2.0, infinicore.tensor([3])).shape == (1,)
    out = infinicore.empty(1)
    assert function(infinicore.tensor([2.0]), 3, out=out) is out


@pytest.mark.parametrize("prefix", ["", "shifted_"])
def test_polynomials_of_the_third_and_fourth_kind(prefix: str) -> None:
    x = np.linspace(-2, 2, 33)
    y = 2 * x - 1 if prefix else x
    for n in (1, 3, 8, 10, 15):
        u, before = scipy.eval_chebyu(np.int64(n), y), scipy.eval_chebyu(np.int64(n - 1), y)
        for kind, wanted in (("v", u - before), ("w", u + before)):
            function = getattr(special, f"{prefix}chebyshev_polynomial_{kind}")
            close(function(infinicore.tensor(x), n), wanted, 1e-10, 1e-10)


def test_polynomials_of_high_degree() -> None:
    single, double = infinicore.ones(1), infinicore.ones(1, dtype=infinicore.float64)
    for function in (special.hermite_polynomial_h, special.hermite_polynomial_he):
        assert function(single, 129).isnan().item()
        assert function(single, infinicore.tensor([129])).isnan().item()
        assert not function(double, 129).isnan().item()
    with pytest.raises(TypeError, match="hermite_polynomial_h: n is str"):
        special.hermite_polynomial_h(single, "2")
    with pytest.raises(TypeError, match="legendre_polynomial_p: input and n are numbers"):
        special.legendre_polynomial_p(1.0, 2)


def test_degrees_in_a_graph() -> None:
    x, n = infinicore.tensor([0.5, 2.0]), infinicore.tensor([2, 9])

    @infinicore.graph
    def run(x: infinicore.Tensor) -> infinicore.Tensor:
        return special.legendre_polynomial_p(x, 3) + special.chebyshev_polynomial_t(x, n)

    wanted = scipy.eval_legendre(3, [0.5, 2.0]) + scipy.eval_chebyt([2, 9], [0.5, 2.0])
    close(run(x), wanted, 1e-5)

    @infinicore.graph
    def of_tensors(x: infinicore.Tensor, n: infinicore.Tensor) -> infinicore.Tensor:
        return special.legendre_polynomial_p(x, n)

    close(of_tensors(x, n), scipy.eval_legendre([2, 9], [0.5, 2.0]), 1e-5)


def test_normal() -> None:
    p = np.concatenate([np.linspace(0.001, 0.999, 99), [1e-300, 1e-20, 0.5, 0.0, 1.0]])
    close(special.ndtri(infinicore.tensor(p)), scipy.ndtri(p), absolute=1e-13)
    for kind in ("u1", "i8", "?"):
        whole = np.array([0, 1, 2, 100]).astype(kind)
        close(special.ndtri(infinicore.tensor(whole)), scipy.ndtri(whole.astype("f4")))
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
    large, off = np.array([1e3, 1e4, 1e6]), np.array([30.0, -100.0, 1000.0])
    t, u = infinicore.tensor(large), infinicore.tensor(large + off)
    close(special.gammainc(t, u), scipy.gammainc(large, large + off), 1e-12)
    below = np.array([-20.5, -3.25, -0.5])
    close(special.polygamma(1, infinicore.tensor(below)), scipy.polygamma(1, below), 1e-11)
    wanted = [scipy.multigammaln(each, 4) for each in ABOVE + 3]
    close(special.multigammaln(infinicore.tensor(ABOVE + 3), 4), wanted)


def test_polygamma_below_0() -> None:
    x = np.array([-7.25, -3.5, -0.3])
    for n in (1, 3, 7, 31):
        terms = sum((x + k) ** -(n + 1.0) for k in range(30)) * math.factorial(n)
        close(special.polygamma(n, infinicore.tensor(x)), terms + scipy.polygamma(n, x + 30))
    x = np.array([-6.5, -0.5])  # where even derivatives are symmetric
    for n in (2, 4, 16):
        close(special.polygamma(n, infinicore.tensor(x)), scipy.polygamma(n, 1 - x))


def test_zeta_of_numbers_of_all_kinds() -> None:
    nan, inf = np.nan, np.inf
    s = np.array([0.5, 1.0, 3.0, 2.5, 4.0, 2.0, 3.0, nan, 60.0])
    q = np.array([1.0, 2.0, -2.0, -0.5, 2.0, nan, -2.5, 1.0, 0.25])
    terms = sum(each**-3.0 for each in (-2.5, -1.5, -0.5)) + scipy.zeta(3, 0.5)
    wanted = [nan, inf, inf, nan, scipy.zeta(4, 2), nan, terms, nan, 4.0**60]
    made = special.zeta(*(infinicore.tensor(np.tile(each, 70)) for each in (s, q)))
    close(made, np.tile(wanted, 70))
    single = [infinicore.tensor(each.astype(np.float32)) for each in (s, q)]
    close(special.zeta(single[0].unsqueeze(1), single[1])[2:7:2, 4], scipy.zeta([3, 4, 3], 2), 1e-6)


def test_incomplete_gamma_of_numbers_of_all_sizes() -> None:
    a = 10.0 ** np.random.default_rng(1).uniform(-3, 4, 1500)
    x = np.concatenate([a[:500], a[500:1000] * 1.01 + 1, 10.0 ** np.linspace(-3, 4, 500)])
    t, u = infinicore.tensor(a), infinicore.tensor(x)
    close(special.gammainc(t, u), scipy.gammainc(a, x), 1e-10, 1e-14)
    close(special.gammaincc(t, u), scipy.gammaincc(a, x), 1e-10, 1e-14)
    single = special.gammainc(infinicore.tensor(a.astype(np.float32)), 2.0)
    close(single, scipy.gammainc(a.astype(np.float32), 2.0), 1e-5, 1e-7)


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


def test_functions_and_methods_outside_special() -> None:
    x = infinicore.tensor([2.0, 3.5])
    for name, arguments in {"i0": (), "igamma": (x,), "igammac": (x,), "mvlgamma": (2,)}.items():
        made = getattr(infinicore, name)(x, *arguments)
        assert getattr(x, name)(*arguments).tolist() == made.tolist()
        changed = x.clone()
        assert getattr(changed, f"{name}_")(*arguments) is changed
        assert changed.tolist() == made.tolist()
    made = infinicore.polygamma(2, x)
    assert x.polygamma(2).tolist() == made.tolist()
    assert x.clone().polygamma_(2).tolist() == made.tolist()
    assert special.gammainc(x, x).tolist() == infinicore.igamma(x, x).tolist()
    with pytest.raises(TypeError, match="i0_"):
        infinicore.tensor([1]).i0_()
    ends = (
        np.array([0.0, 0.0, 1.0, np.inf, -1.0, 1.0]),
        np.array([0.0, 1.0, np.inf, 1.0, 1.0, -1.0]),
    )
    lower = infinicore.igamma(*map(infinicore.tensor, ends)).numpy(force=True)
    assert np.array_equal(lower, [np.nan, 1, 1, 0, np.nan, np.nan], equal_nan=True)


def test_names_of_torch() -> None:
    torch = need("torch")
    assert set(torch.special.__all__) <= set(special.__all__)


def test_degrees_without_end() -> None:
    x = infinicore.ones(2)
    first = {
        "laguerre_polynomial_l": -2 / 3,
        "legendre_polynomial_p": 1,
        "hermite_polynomial_h": -4,
    }
    for name, wanted in first.items():
        function = getattr(special, name)
        close(function(x, infinicore.tensor([3.0, 1e6])), [wanted, np.nan], 1e-6)
        assert np.isnan(function(x, 10**6).tolist()).all()
