"""One seed for the random programs, examples and samples of a run.

It is new in every run, printed in the header and after failures, and set in the environment for the
processes that tests start. INFINI_TEST_SEED=N (or --seed N) repeats a run.
"""

from __future__ import annotations

import os
import random

VARIABLE = "INFINI_TEST_SEED"


def choose(wanted: int | None) -> int:
    """The run's seed: the given one, else that of the environment, else a new one."""
    if wanted is None and (text := os.environ.get(VARIABLE)):
        wanted = int(text)
    if wanted is None:
        wanted = random.SystemRandom().randrange(1 << 32)
    os.environ[VARIABLE] = str(wanted)
    return wanted


def run_seed() -> int:
    return int(os.environ[VARIABLE])


def chance(*words: object) -> random.Random:
    """A random generator of this run, by purpose."""
    return random.Random(" ".join(map(str, (run_seed(), *words))))
