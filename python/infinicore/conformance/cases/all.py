"""Every case, in a worker's process."""

from __future__ import annotations

from infinicore.conformance import suite
from infinicore.conformance.cases import REGISTRY, Case


def load(level: int, *, exhaustive: bool = False) -> tuple[list[Case], str]:
    """The cases up to a level, and the reason if some could not be listed."""
    from infinicore.conformance.cases import (  # noqa: F401 - they register
        collectives,
        day,
        engine,
        events,
        graphs,
        loading,
        memory,
        speed,
        streams,
    )

    missing = ""
    found = list(REGISTRY.values())
    if level >= 4:
        missing = suite.without_numpy()
        if not missing:
            from infinicore.conformance.cases import operators

            found += operators.cases(level, exhaustive)
    return [each for each in found if each.level <= level], missing


def find(id: str) -> Case:
    if id.startswith("op/"):
        from infinicore.conformance.cases import operators

        return operators.find(id)
    if not REGISTRY:
        load(0)
    return REGISTRY[id]
