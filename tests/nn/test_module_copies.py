"""Copies of modules that have slots."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from infinicore import nn


class Slotted(nn.Module):
    __slots__ = ("__width", "empty", "limit")

    def __init__(self) -> None:
        super().__init__()
        self.limit = [3]
        self.__width = 5
        self.inner = nn.Linear(2, 2)

    @property
    def width(self) -> int:
        return self.__width


class MoreSlots(Slotted):
    __slots__ = ("extra",)


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"]
)
def test_slots_are_copied(copied: Any) -> None:
    module = MoreSlots()
    module.extra = [module.limit, "text"]
    made = copied(module)
    assert (made.limit, made.width) == ([3], 5)
    assert made.limit is not module.limit
    assert made.extra[0] is made.limit
    assert not hasattr(made, "empty")
    assert made.inner.weight is not module.inner.weight
