"""Shared by the tests of infinicore::op."""

from __future__ import annotations

import pytest

from kit.requirements import need

from .cpp_calls import Caller


@pytest.fixture(scope="session")
def call(tmp_path_factory: pytest.TempPathFactory) -> Caller:
    """All functions compile with their declared types, and link."""
    need("installed")
    return Caller(tmp_path_factory.mktemp("calls"))
