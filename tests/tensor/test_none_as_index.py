"""None alone is an index too: a new dimension in front."""

from __future__ import annotations

import infinicore


def test_none_alone() -> None:
    x = infinicore.arange(6).reshape(2, 3)
    assert x[None].shape == (1, 2, 3)
    assert x[None].data_ptr() == x.data_ptr()
    x[None] = 5
    assert x.tolist() == [[5] * 3] * 2
