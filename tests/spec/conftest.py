"""NVIDIA's headers, read once for all tests here."""

from __future__ import annotations

from pathlib import Path

import cuda_wheels
import header_facts
import pytest
from header_facts import Facts

from spec import cuda13_differences


@pytest.fixture(scope="session")
def cache(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = getattr(pytestconfig, "cache", None)  # absent with -p no:cacheprovider
    return kept.mkdir("cuda-headers") if kept else tmp_path_factory.mktemp("cuda-headers")


@pytest.fixture(scope="session")
def cuda12(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Facts:
    include = cuda_wheels.include("nvidia-cuda-runtime-cu12", "12.9", cache)
    return header_facts.read(include, cuda_wheels.HEADER, tmp_path_factory.mktemp("cuda12"))


@pytest.fixture(scope="session")
def cuda13(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Facts:
    include = cuda_wheels.include("nvidia-cuda-runtime", cuda13_differences.VERSION, cache)
    return header_facts.read(include, cuda_wheels.HEADER, tmp_path_factory.mktemp("cuda13"))
