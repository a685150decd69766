"""Functions of `infinicore` that are also in `special`."""

from __future__ import annotations

import infinicore

# The name here, with the name in infinicore where it differs.
_SAME = """
    digamma erf erfc erfinv exp2 expit=sigmoid expm1 gammaln=lgamma log1p log_softmax logit
    logsumexp psi=digamma round sinc softmax xlogy
"""


def _pairs() -> list[tuple[str, str]]:
    words = [word.partition("=") for word in _SAME.split()]
    return [(name, other or name) for name, _, other in words]


NAMES = {name: getattr(infinicore, other) for name, other in _pairs()}
