"""Cases of losses."""

from __future__ import annotations

from kit.drawing import Rules

from .values import Values, below, normal, one_of


def labels(name: str) -> Values:
    return below(name, -1, 1)


CASES: dict[str, Rules] = {
    "cross_entropy": Rules(values={"target": labels("V")}, symbols={"V": (1, 5, 33)}),
    "multi_margin_loss": Rules(values={"target": labels("C")}, symbols={"C": (1, 3, 17)}),
    "gaussian_nll_loss": Rules(values={"var": normal(1.0, 0.1)}, attributes={"full": (0, 1)}),
    "hinge_embedding_loss": Rules(values={"target": one_of(-1, 1)}),
    "triplet_margin_loss": Rules(
        attributes={"p": (1, 2, 3), "swap": (0, 1), "eps": (1e-6,)}, noise=64.0
    ),
    "triplet_margin_with_distance_loss": Rules(attributes={"swap": (0, 1)}, noise=64.0),
}
