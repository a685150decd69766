"""Bessel functions and Airy's. On each range one polynomial, fitted at Chebyshev's points in 45
digits to what is left of the function without its logarithm, its power or its exponential."""

from __future__ import annotations

import math

from ...language import expression as fn
from ...language.expression import Array
from ...language.model import operator
from .elementwise import UNARY


def _numbers(text: str) -> list[float]:
    return [float(each) for each in text.split()]


def _polynomial(x: Array, coefficients: list[float]) -> Array:
    """From the constant on, by pairs, which do not wait for each other."""
    c = coefficients if len(coefficients) % 2 == 0 else [*coefficients, 0.0]
    square = x * x
    made = c[-1] * x + c[-2]
    for i in range(len(c) - 4, -1, -2):
        made = made * square + (c[i + 1] * x + c[i])
    return made


# ---- Bessel functions ---------------------------------------------------------------------------

_CUT = 8.0
# Of (x / 8)^2 from -1 to 1: J0, J1 / x, and Y without its logarithm (and Y1 without 1 / x, over x).
_J0 = _numbers("""
    0.045829664859813754 0.9303012472958572 -0.6484692830871821 -0.8080888076696872
    1.0383794611436883 -0.5074680458471 0.14598884856785538 -0.028472718610882047
    0.004058078988108771 -0.0004435459224311503 3.847320005801417e-05 -2.717749223632098e-06
    1.5955848859935914e-07 -7.91532308295207e-09 3.3794626319436793e-10 -1.243301171273326e-11
""")
_J1 = _numbers("""
    -0.05814382795599107 0.08105866038589796 0.15151665143806636 -0.2595948652859303
    0.15858376432721838 -0.05474581821284722 0.012456814392263375 -0.0020290394945705996
    0.0002494945813597261 -2.404574865968694e-05 1.8684526037206013e-06 -1.196708186787801e-07
    6.431190177265836e-09 -2.943013798001659e-10 1.1658972367678622e-11 -4.0045728425886457e-13
""")
_Y0 = _numbers("""
    -0.3620273432371452 -0.4179207423206952 1.3609456599655456 -0.21245999442065944
    -0.6193407826303358 0.4482460446356314 -0.15453679652310554 0.03380285696399606
    -0.005235027670798993 0.0006104345643799194 -5.5818304627065164e-05 4.1220543483587725e-06
    -2.5144107029169115e-07 1.2898070896458873e-08 -5.646268915099188e-10 2.144060805263636e-11
    -7.073366667072138e-13
""")
_Y1 = _numbers("""
    0.04510266206869483 -0.20760857842830602 0.09022750636730927 0.12052035426888161
    -0.12641995056569705 0.054390116307946296 -0.014131923394262676 0.0025271340466828155
    -0.0003337225700557392 3.406363375316396e-05 -2.776505699433099e-06 1.852420184052382e-07
    -1.0315248358181181e-08 4.871020797907703e-10 -1.985054673070058e-11 6.992898479018741e-13
""")
# Of (8 / x)^2 from -1 to 1: P and x Q, of which both functions are made beyond 8.
_P0 = _numbers("""
    0.9994572757882519 -0.0005363673192129672 6.137416081283524e-06 -2.0527448261170675e-07
    1.2803747743828764e-08 -1.2121098178951377e-09 1.550640953808597e-10 -2.491146535471666e-11
    4.674289307624388e-12 -1.0157485021065676e-12 3.455012974455743e-13 -1.0251790052831013e-13
""")
_Q0 = _numbers("""
    -0.12444091103610816 0.0005466519279475266 -1.1817110660715592e-05 5.684971881753781e-07
    -4.5349736139769986e-08 5.146231602705606e-09 -7.57586453075858e-10 1.3623497617833053e-10
    -2.8840344824996496e-11 6.951785915752245e-12 -1.6783779045026498e-12 4.605060470396763e-13
    -2.7338449247237154e-13 1.0185094098694355e-13
""")
_P1 = _numbers("""
    1.0009070262780821 0.0008988049416705183 -7.959694699684788e-06 2.453676633366693e-07
    -1.4708498448932155e-08 1.3602969253877949e-09 -1.7137279585997966e-10 2.72345126828134e-11
    -5.071495295696752e-12 1.0954826479277623e-12 -3.697244591244297e-13 1.0923713653079462e-13
""")
_Q1 = _numbers("""
    0.3742149922195918 -0.0007697167057643706 1.4569614809339924e-05 -6.633568561050814e-07
    5.136106815451932e-08 -5.720890888840857e-09 8.315586321594619e-10 -1.4816588916791194e-10
    3.1143942213346517e-11 -7.465104477698295e-12 1.796964474573459e-12 -4.91574062967655e-13
    2.8960940831153833e-13 -1.0759215471978615e-13
""")
_FIRST, _SECOND = (_J0, _J1), (_Y0, _Y1)
_P, _Q = (_P0, _P1), (_Q0, _Q1)


def _near(size: Array, order: int) -> Array:
    """J of x / 8 in [0, 1], over x where the order is 1."""
    return _polynomial(size * size * (2 / _CUT**2) - 1.0, _FIRST[order])


def _waves(far: Array, order: int) -> tuple[Array, Array]:
    """J and Y of x > 8."""
    inverse = 1.0 / far
    t = inverse * inverse * (2 * _CUT**2) - 1.0
    p, q = _polynomial(t, _P[order]), _polynomial(t, _Q[order]) * inverse
    # Of x - order pi / 2 - pi / 4, times sqrt(2), from the sine and the cosine of x itself.
    sine, cosine = fn.sin(far), fn.cos(far)
    c, s = cosine + sine, sine - cosine
    if order:
        c, s = s, 0.0 - c
    root = fn.rsqrt(far * math.pi)
    return (p * c - q * s) * root, (p * s + q * c) * root


def _first(x: Array, order: int) -> Array:
    size = fn.absolute(x)
    near = _near(fn.minimum(size, _CUT), order)
    tail = _waves(fn.maximum(size, _CUT), order)[0]
    tail = fn.where(fn.isinf(x), 0.0, tail)
    if order:
        near, tail = near * x, fn.where(fn.less(x, 0.0), 0.0 - tail, tail)
    return fn.where(fn.less(size, _CUT), near, tail)


def _second(x: Array, order: int) -> Array:
    small = fn.minimum(x, _CUT)
    log = fn.log(small * 0.5)
    rest = _polynomial(small * small * (2 / _CUT**2) - 1.0, _SECOND[order])
    if order:
        near = (2 / math.pi) * (log * small * _near(small, 1) - 1.0 / small) + small * rest
    else:
        near = (2 / math.pi) * log * _near(small, 0) + rest
    tail = _waves(fn.maximum(x, _CUT), order)[1]
    made = fn.where(fn.less(x, _CUT), near, fn.where(fn.isinf(x), 0.0, tail))
    return fn.where(fn.equal(x, 0.0), -math.inf, made)


@operator("BesselJ0(!y, x)", UNARY, wide=True)
def bessel_j0(x: Array) -> Array:
    """The Bessel function of the first kind, order 0."""
    return _first(x, 0)


@operator("BesselJ1(!y, x)", UNARY, wide=True)
def bessel_j1(x: Array) -> Array:
    """The Bessel function of the first kind, order 1."""
    return _first(x, 1)


@operator("BesselY0(!y, x)", UNARY, wide=True)
def bessel_y0(x: Array) -> Array:
    """The Bessel function of the second kind, order 0: -inf at 0, NaN below."""
    return _second(x, 0)


@operator("BesselY1(!y, x)", UNARY, wide=True)
def bessel_y1(x: Array) -> Array:
    """The Bessel function of the second kind, order 1: -inf at 0, NaN below."""
    return _second(x, 1)


# ---- Modified Bessel functions ------------------------------------------------------------------

_NEAR_I, _NEAR_K = 8.0, 2.0
# Of 8 / x: sqrt(x) e^-x I.
_FAR_I0 = _numbers("""
    0.4021765094450081 0.0033605519836677504 0.00013621607438984735 1.1143033800708978e-05
    1.4838476651250266e-06 2.973596046562712e-07 8.872034383314144e-08 3.932889375114634e-08
    2.1566251453104354e-08 7.534355843803342e-09 -6.8493381882867694e-09 -1.3326094405766387e-08
    -5.0381064879032845e-09 7.3359687108161536e-09 6.560138746917057e-09 -3.1346276429240787e-09
    -4.575553424534973e-09 1.1050558794424347e-09 2.1968921378829006e-09 -2.8033819978869995e-10
    -6.633287112547084e-10 3.629355229718733e-11 9.36508689281819e-11
""")
_FAR_I1 = _numbers("""
    0.38939845902587233 -0.009749577193235635 -0.0002192357638317243 -1.5038547209501858e-05
    -1.8349102358955385e-06 -3.4838534380376333e-07 -1.000109565963654e-07 -4.313196489977733e-08
    -2.339250374801858e-08 -8.409182040442918e-09 6.8401389977069586e-09 1.3958551001385955e-08
    5.59337010179061e-09 -7.44444147719727e-09 -6.983839624895866e-09 3.086886736722725e-09
    4.810597405089944e-09 -1.0594544160443166e-09 -2.297004161885201e-09 2.6340771095136483e-10
    6.917089294193807e-10 -3.365431853180176e-11 -9.752397204138195e-11
""")
# Of (x / 2)^2: K0 + log(x / 2) I0, and (K1 - log(x / 2) I1) x.
_K0 = _numbers("""
    -0.30362077291575545 0.3404973210133806 0.07177701034240509 0.005053392643196092
    0.0001828055582791554 4.054506619949891e-06 6.093361894172114e-08 6.623013272794453e-10
    5.452564662772586e-12 3.518631515854722e-14
""")
_K1 = _numbers("""
    0.8850882877295894 -0.3322409552403131 -0.2438385288677433 -0.02785423521977184
    -0.001383168846618116 -3.891869064371633e-05 -7.081133691517408e-07 -9.032127501740678e-09
    -8.533634168575142e-11 -6.214271617329577e-13
""")
# Of 2 / x: sqrt(x) e^x K.
_FAR_K0 = _numbers("""
    1.2185953385133905 -0.031071461824889898 0.0030328918102753206 -0.0004797690567328844
    9.95605474202942e-05 -2.473520542848972e-05 7.002245645755651e-06 -2.1911673837417864e-06
    7.427801232190096e-07 -2.689759865539584e-07 1.02954317593912e-07 -4.1056738724915364e-08
    1.7047535884249698e-08 -8.025205604904476e-09 3.808399859919043e-09 -6.643878631843235e-10
    4.757544705776374e-11 -1.2366923277096287e-09 8.133913205464114e-10 4.3927260002107633e-10
    -3.119936129682105e-10 -1.7597528809195706e-10 1.0926983537268735e-10
""")
_FAR_K1 = _numbers("""
    1.363151890371342 0.10334973775386565 -0.005566729880074588 0.0007357241548718385
    -0.00013959021956272223 3.2843866502355955e-05 -8.961207387750025e-06 2.7300301043527215e-06
    -9.067087633371393e-07 3.230567198853934e-07 -1.2203186351938403e-07 4.815434679085478e-08
    -1.9817577141591116e-08 9.213894020289533e-09 -4.331939985658629e-09 7.966242798504094e-10
    -8.336227195991456e-11 1.3615859404460648e-09 -8.908596710923906e-10 -4.77441121785095e-10
    3.3867804167808003e-10 1.9273808087540517e-10 -1.1931668393112158e-10
""")
_NEAR = (_K0, _K1)
_FAR = {"i": (_FAR_I0, _FAR_I1), "k": (_FAR_K0, _FAR_K1)}


def _tail(far: Array, cut: float, coefficients: list[float]) -> Array:
    return _polynomial((2 * cut) / far - 1.0, coefficients) * fn.rsqrt(far)


def _growing(x: Array, order: int, terms: int) -> Array:
    """I over (x / 2)^order: its power series, whose terms are positive."""
    series = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(terms)]
    return _polynomial(x * x * 0.25, series)


def _modified(x: Array, order: int, scaled: bool) -> Array:
    size = fn.absolute(x)
    small, far = fn.minimum(size, _NEAR_I), fn.maximum(size, _NEAR_I)
    near = _growing(small, order, 24)
    near = near * small * 0.5 if order else near
    tail = _tail(far, _NEAR_I, _FAR["i"][order])
    if scaled:
        near = near * fn.exp(0.0 - small)
    else:
        half = fn.exp(far * 0.5)  # in two steps, since e^x overflows before the product does
        tail = tail * half * half
    made = fn.where(fn.less(size, _NEAR_I), near, tail)
    return fn.copysign(made, x) if order else made


def _decaying(x: Array, order: int, scaled: bool) -> Array:
    small, far = fn.minimum(x, _NEAR_K), fn.maximum(x, _NEAR_K)
    rest = _polynomial(small * small * 0.5 - 1.0, _NEAR[order])
    growing = fn.log(small * 0.5) * _growing(small, order, 11)
    near = rest / small + growing * small * 0.5 if order else rest - growing
    tail = _tail(far, _NEAR_K, _FAR["k"][order])
    if scaled:
        near = near * fn.exp(small)
    else:
        tail = tail * fn.exp(0.0 - far)
    made = fn.where(fn.less(x, _NEAR_K), near, tail)
    return fn.where(fn.equal(x, 0.0), math.inf, made)


@operator("BesselI0(!y, x)", UNARY, wide=True)
def bessel_i0(x: Array) -> Array:
    """The modified Bessel function of the first kind, order 0."""
    return _modified(x, 0, False)


@operator("BesselI1(!y, x)", UNARY, wide=True)
def bessel_i1(x: Array) -> Array:
    """The modified Bessel function of the first kind, order 1."""
    return _modified(x, 1, False)


@operator("ScaledBesselI0(!y, x)", UNARY, wide=True)
def scaled_bessel_i0(x: Array) -> Array:
    """The modified Bessel function of the first kind, order 0, times e^-|x|."""
    return _modified(x, 0, True)


@operator("ScaledBesselI1(!y, x)", UNARY, wide=True)
def scaled_bessel_i1(x: Array) -> Array:
    """The modified Bessel function of the first kind, order 1, times e^-|x|."""
    return _modified(x, 1, True)


@operator("BesselK0(!y, x)", UNARY, wide=True)
def bessel_k0(x: Array) -> Array:
    """The modified Bessel function of the second kind, order 0: inf at 0, NaN below."""
    return _decaying(x, 0, False)


@operator("BesselK1(!y, x)", UNARY, wide=True)
def bessel_k1(x: Array) -> Array:
    """The modified Bessel function of the second kind, order 1: inf at 0, NaN below."""
    return _decaying(x, 1, False)


@operator("ScaledBesselK0(!y, x)", UNARY, wide=True)
def scaled_bessel_k0(x: Array) -> Array:
    """The modified Bessel function of the second kind, order 0, times e^x."""
    return _decaying(x, 0, True)


@operator("ScaledBesselK1(!y, x)", UNARY, wide=True)
def scaled_bessel_k1(x: Array) -> Array:
    """The modified Bessel function of the second kind, order 1, times e^x."""
    return _decaying(x, 1, True)


# ---- Airy's function ----------------------------------------------------------------------------

_LOW, _HIGH = -6.0, 2.0
# Of x from -6 to -2 and from -2 to 2; of 1 / zeta, zeta = 2/3 x^(3/2), above; of 1 / zeta^2 below.
_AIRY_BELOW = _numbers("""
    -0.07026553294928951 -1.5812571507371629 0.5621242635943158 4.122998358033384
    -1.803670451950506 -3.073548980989089 2.0614238031819005 0.8273195257214033
    -1.0280566553280372 0.04519830573088237 0.2563051409465669 -0.08134205565771958
    -0.02832799821948308 0.021486627880861656 -0.0010851026856135478 -0.002716237017487011
    0.0007885640044466546 0.00012786144857961838 -0.00011224983651656392 1.2467471796831759e-05
    7.424182879858269e-06 -2.6163034793186066e-06 -4.6261228832463206e-08 2.0226888958150216e-07
    -3.384001933233939e-08 -6.935105798726387e-09 2.446515640144311e-09
""")
_AIRY_ABOVE = _numbers("""
    0.3550280538878172 -0.5176388075856135 3.244202432827393e-17 0.4733707385170839
    -0.3450925383904109 1.7763995560889755e-13 0.12623219693793003 -0.06573191207691248
    -4.4711006245625165e-13 0.014025799680265419 -0.005842836625824032 -1.020557541928476e-10
    0.0008500484512774683 -0.0002996323151052496 3.718654191066453e-11 3.238206842903469e-05
    -9.98782748615937e-06 1.0906582767684113e-09 8.467051834738179e-07 -2.3472809240247527e-07
    -8.398037939736921e-11 1.684122392631709e-08 -4.0005342064267774e-09 -2.792643717177832e-10
    2.2176794887310157e-10
""")
_AIRY_HIGH = _numbers("""
    0.2774908024616546 -0.004122380595849576 0.00039865677489458394 -6.427592276898869e-05
    1.3671255956557227e-05 -3.4851094608657497e-06 1.0121089942839848e-06 -3.246961612429351e-07
    1.1275577071064085e-07 -4.179946859531672e-08 1.6367236117824575e-08 -6.656993403902761e-09
    2.8166320000272914e-09 -1.3868474454024882e-09 6.818549500561053e-10 -7.946571429532446e-11
    -2.1434131696095418e-11 -2.575957215893433e-10 1.749196885799203e-10 9.790281814621758e-11
    -7.049891461629668e-11 -3.743567697788753e-11 2.375331300539151e-11
""")
_AIRY_P = _numbers("""
    0.9998081211338489 -0.00019039135708489403 1.452068038705942e-06 -3.3807314728933824e-08
    1.5157719707247772e-09 -1.061321718887317e-10 1.02781486212078e-11 -1.2768564791801215e-12
    2.1399141684674293e-13 -3.96588156380815e-14
""")
_AIRY_Q = _numbers("""
    0.06924959748009733 -0.00019192187800497442 2.823301378135708e-06 -9.57085772382637e-08
    5.544927215335101e-09 -4.696118003401287e-10 5.287020123070583e-11 -7.428733507155976e-12
    1.230769256386345e-12 -2.362012598851314e-13 6.507518431238877e-14 -1.6757849095842834e-14
""")


def _zeta(size: Array) -> tuple[Array, Array]:
    """2/3 x^(3/2), and x^(-1/4)."""
    root = fn.sqrt(size)
    return size * root * (2 / 3), fn.rsqrt(root)


@operator("AiryAi(!y, x)", UNARY, wide=True)
def airy_ai(x: Array) -> Array:
    """Airy's function Ai: the solution of y'' = x y that vanishes for large x."""
    t = fn.minimum(fn.maximum(x * 0.5, _LOW / 2), _HIGH / 2)  # from -3 to 1
    below, above = _polynomial(fn.minimum(t, -1.0) + 2.0, _AIRY_BELOW), _polynomial(t, _AIRY_ABOVE)
    near = fn.where(fn.less(x, -2.0), below, above)
    zeta, power = _zeta(fn.maximum(x, _HIGH))
    t = (4 / 3 * _HIGH**1.5) / zeta - 1.0
    high = _polynomial(t, _AIRY_HIGH) * fn.exp(0.0 - zeta) * power
    zeta, power = _zeta(fn.maximum(0.0 - x, -_LOW))
    inverse = 1.0 / zeta
    t = inverse * inverse * (2 * (2 / 3 * (-_LOW) ** 1.5) ** 2) - 1.0
    sine, cosine = fn.sin(zeta), fn.cos(zeta)
    low = _polynomial(t, _AIRY_P) * (cosine + sine)
    low = low + _polynomial(t, _AIRY_Q) * inverse * (sine - cosine)
    low = low * power * (1 / math.sqrt(2 * math.pi))
    made = fn.where(fn.less(x, _LOW), low, fn.where(fn.less(x, _HIGH), near, high))
    return fn.where(fn.isinf(x), x - x, made)  # NaN
