"""Programs of SciPy and scikit-learn on our tensors. `test_array_programs.py` runs this in a
process of its own, since SciPy reads SCIPY_ARRAY_API when it is first imported.

    SCIPY_ARRAY_API=1 python -m tests.functions.array_programs scipy

prints each program's errors as JSON; none if its results are tensors with the values that NumPy's
arrays give.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import infinicore

random = np.random.default_rng(7)
TABLE = random.standard_normal((60, 5))
LINE = random.standard_normal(64)
WEIGHTS = random.standard_normal(5)
TARGET = TABLE @ WEIGHTS + 0.1 * random.standard_normal(60)
CLASS = (TARGET > 0).astype(np.int64)
GUESS = random.integers(0, 2, 60)
SCORE = random.random(60)

Make = Callable[[Any], Any]  # from an array of NumPy's: the array that the program works on


# ---- SciPy --------------------------------------------------------------------------------------


def statistics(make: Make) -> list[Any]:
    from scipy import stats

    x, a, b = make(TABLE), make(TABLE[:30]), make(TABLE[30:])
    test, pearson = stats.ttest_ind(a, b), stats.pearsonr(make(TARGET), make(SCORE))
    return [
        *(test.statistic, test.pvalue, pearson.statistic, pearson.pvalue),
        *(stats.skew(x), stats.kurtosis(x, axis=0), stats.zscore(x), stats.gmean(abs(x))),
        *(stats.rankdata(make(LINE)), stats.quantile(make(LINE), make(np.array([0.1, 0.5])))),
    ]


def special_functions(make: Make) -> list[Any]:
    from scipy import special

    x, positive = make(TABLE), make(abs(LINE) + 0.1)
    return [
        *(special.logsumexp(x, axis=1), special.softmax(x, axis=0), special.erf(x)),
        *(special.gammaln(positive), special.xlogy(positive, positive)),
        special.betainc(positive, positive + 1, make(abs(LINE) / 5)),
    ]


def filters(make: Make) -> list[Any]:
    from scipy import signal

    x, kernel = make(LINE), make(LINE[:7].copy())
    return [
        *(signal.convolve(x, kernel), signal.fftconvolve(x, kernel, mode="same")),
        *(signal.detrend(x), signal.hilbert(x), signal.resample(x, 32)),
        signal.lfilter(make(np.array([1.0, 0.5])), make(np.array([1.0, -0.3])), x),
        signal.savgol_filter(x, 7, 2),
    ]


def images(make: Make) -> list[Any]:
    from scipy import ndimage

    x = make(TABLE)
    return [ndimage.gaussian_filter(x, 1.0), ndimage.sobel(x), ndimage.zoom(x, 2)]


def clusters(make: Make) -> list[Any]:
    from scipy.cluster import hierarchy, vq

    x = make(TABLE)
    white = vq.whiten(x)
    codes, distances = vq.vq(white, make(TABLE[:3].copy()))
    tree = hierarchy.linkage(x, "ward")
    return [white, codes, distances, tree, hierarchy.fcluster(tree, 1.0)]


def calculus(make: Make) -> list[Any]:
    from scipy import differentiate, fft, integrate, optimize

    x = make(LINE)
    slope = differentiate.derivative(lambda t: t**3, make(np.array([2.0, 1.0])))
    area = integrate.cubature(lambda t: t[:, 0] ** 2, make(np.zeros(1)), make(np.ones(1)))
    return [
        *(fft.fft(x), fft.dct(x), fft.rfftn(make(TABLE)), integrate.trapezoid(x)),
        *(integrate.cumulative_trapezoid(x), optimize.rosen(x), slope.df, area.estimate),
    ]


# ---- scikit-learn -------------------------------------------------------------------------------


def pipeline(make: Make) -> list[Any]:
    from sklearn.decomposition import PCA
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), PCA(3, svd_solver="full"), Ridge(solver="svd"))
    model.fit(make(TABLE), make(TARGET))
    return [model.predict(make(TABLE)), model[-1].coef_, model.score(make(TABLE), make(TARGET))]


def components(make: Make) -> list[Any]:
    from sklearn.decomposition import PCA

    exact = PCA(2, svd_solver="covariance_eigh").fit(make(TABLE))
    sketch = PCA(2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0)
    return [
        *(exact.transform(make(TABLE)), exact.explained_variance_),
        *(sketch.fit_transform(make(TABLE)), sketch.components_),
    ]


def classifiers(make: Make) -> list[Any]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.naive_bayes import GaussianNB

    x, y = make(TABLE), make(CLASS)
    analysis = LinearDiscriminantAnalysis(solver="svd").fit(x, y)
    logistic = LogisticRegression(solver="lbfgs").fit(x, y)
    ridge = RidgeClassifier(solver="svd").fit(x, y)
    return [
        # The sign of a singular vector is arbitrary.
        *(analysis.predict_proba(x), abs(analysis.transform(x))),
        *(logistic.predict(x), ridge.predict(x), GaussianNB().fit(x, y).predict_proba(x)),
    ]


def preprocessing(make: Make) -> list[Any]:
    from sklearn import model_selection
    from sklearn import preprocessing as pre

    x = make(TABLE)
    scalers = (pre.StandardScaler, pre.MinMaxScaler, pre.MaxAbsScaler, pre.Normalizer)
    return [
        *(each().fit_transform(x) for each in scalers),
        *(pre.PolynomialFeatures().fit_transform(x), pre.LabelEncoder().fit_transform(make(CLASS))),
        *model_selection.train_test_split(x, make(TARGET), random_state=0),
    ]


def metrics(make: Make) -> list[Any]:
    from sklearn import metrics as m

    y, guess, score = make(CLASS), make(GUESS), make(SCORE)
    target, near = make(TARGET), make(TARGET + SCORE)
    return [
        *(m.accuracy_score(y, guess), m.f1_score(y, guess), m.log_loss(y, score)),
        *(m.confusion_matrix(y, guess), m.average_precision_score(y, score)),
        *(m.mean_squared_error(target, near), m.r2_score(target, near)),
        *(m.pairwise.euclidean_distances(make(TABLE)), m.pairwise.rbf_kernel(make(TABLE))),
    ]


def mixtures(make: Make) -> list[Any]:
    from sklearn.mixture import GaussianMixture

    mixture = GaussianMixture(2, random_state=0, init_params="random").fit(make(TABLE))
    return [mixture.means_, mixture.predict(make(TABLE)), mixture.score_samples(make(TABLE))]


PROGRAMS: dict[str, tuple[Callable[[Make], list[Any]], ...]] = {
    "scipy": (statistics, special_functions, filters, images, clusters, calculus),
    "sklearn": (pipeline, components, classifiers, preprocessing, metrics, mixtures),
}


# ---- Comparing ----------------------------------------------------------------------------------


def problem_of(program: Callable[[Make], list[Any]]) -> str:
    try:
        expected, made = program(np.asarray), program(infinicore.asarray)
    except Exception:
        return traceback.format_exc()
    for i, (want, got) in enumerate(zip(expected, made, strict=True)):
        if isinstance(want, np.ndarray) and not isinstance(got, infinicore.Tensor):
            return f"result {i} is {type(got).__name__}: expected a tensor"
        values = got.numpy() if isinstance(got, infinicore.Tensor) else np.asarray(got)
        if not np.allclose(values, want, rtol=1e-6, atol=1e-8):
            return f"result {i} is {values}: expected {want}"
    return ""


def main(library: str) -> None:
    if library == "sklearn":
        from sklearn import set_config

        set_config(array_api_dispatch=True)
    print(json.dumps({each.__name__: problem_of(each) for each in PROGRAMS[library]}))


if __name__ == "__main__":
    main(sys.argv[1])
