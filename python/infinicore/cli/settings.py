"""The environment variables that the package reads: one table, for `infini doctor`.

`docs/install.md` and `docs/collectives.md` explain them; a test compares this table with
the sources and those pages.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from infinicore import rt

SECRET = "(set, not shown)"


class Setting(NamedTuple):
    name: str
    default: str | Callable[[], str]  # the value used if the variable is not set
    meaning: str


class Row(NamedTuple):
    name: str
    value: str
    source: str  # "environment", "default" or "unknown name"
    meaning: str


def kernel_cache(environment: Mapping[str, str] = os.environ) -> str:
    """The folder for compiled kernels and tuning files; empty if there is none."""
    if "INFINI_CACHE" in environment:
        return environment["INFINI_CACHE"]
    for name, rest in (("XDG_CACHE_HOME", "infinicore"), ("HOME", ".cache/infinicore")):
        if environment.get(name, "").startswith("/"):
            return str(Path(environment[name]) / rest)
    return ""


def _device_type() -> str:
    try:
        return rt.kind()
    except rt.InfiniRTError:
        return "no usable device"


def _model_cache() -> str:
    from infinicore.llm.files.known import cache_folder

    return str(cache_folder())


_NONE = "not set"
SETTINGS = (
    Setting("INFINI_DEVICE", _device_type, "device type that calls use"),
    Setting("INFINI_BACKEND_PATH", _NONE, "further folders to search for back ends"),
    Setting("INFINI_PROBE_SECONDS", "5", "time limit for a back end to enumerate devices"),
    Setting("INFINI_KERNEL_IMAGES", _NONE, "folders with kernels from infini build-kernels"),
    Setting("INFINI_CACHE", kernel_cache, "cache folder for compiled kernels and tuning files"),
    Setting("INFINI_TUNING", "read", "off, read or on: use of the tuning file"),
    Setting("INFINI_TUNING_FILE", "in the cache folder", "tuning file to use"),
    Setting("INFINI_MODELS", _model_cache, "folder for language models"),
    Setting("INFINI_CPU_DEVICES", "1", "number of CPU devices"),
    Setting("INFINI_NUM_THREADS", "from affinity and quota", "threads in the CPU's pool"),
    Setting("INFINI_CPU_ISA", "the best available", "best instruction set to use"),
    Setting("INFINI_LAPACK_LIBRARY", "from scipy-openblas32", "OpenBLAS for large matrices"),
    Setting("INFINI_BATCH_INVARIANT", "0", "1: threads start in batch-invariant mode"),
    Setting("INFINI_CUDA_ATTENTION", "the fastest", "attention kernels for CUDA devices"),
    Setting("INFINI_CUDA_DUMP", _NONE, "folder to write CUDA kernel sources to"),
    Setting("INFINI_CCL_TIMEOUT", "300", "seconds to wait for other ranks"),
    Setting("INFINI_CCL_FILE", _NONE, "path through which ranks find each other"),
    Setting("INFINI_CCL_TRANSPORT", "best that all support", "between CPUs: shm, mpi or tcp"),
    Setting("INFINI_CCL_ADDRESS", "of the default route", "this host's address for TCP"),
    Setting("INFINI_CCL_HOST", _NONE, "a name for this host, to separate ranks"),
    Setting("INFINI_CCL_STRICT_EXIT", "0", "1: exit with an error if a communicator failed"),
    Setting("INFINI_CCL_JOB", _NONE, "separates jobs that share a MASTER_PORT"),
    Setting("INFINI_MPI_LIBRARY", "the launcher's", "the MPI library to open"),
    Setting("INFINI_API_KEY", _NONE, "key required by infini serve"),
    Setting("INFINI_ROOT", "the package's", "folder of the libraries for libinfiniop"),
)


def known() -> tuple[Setting, ...]:
    """All settings, with one for the libraries of each vendor."""
    kinds = [backend.name for backend in rt.backends() if backend.name not in ("cpu", "null")]
    return SETTINGS + tuple(
        Setting(
            f"INFINI_{kind.upper()}_LIBRARIES",
            "the default folders",
            "folders of this vendor's libraries",
        )
        for kind in kinds
    )


def effective(environment: Mapping[str, str] = os.environ) -> list[Row]:
    """Every setting with its value and its source; then unknown INFINI_* variables."""
    rows, settings = [], known()
    for each in settings:
        value = environment.get(each.name, "")
        if value or (each.name == "INFINI_CACHE" and each.name in environment):
            shown = SECRET if each.name == "INFINI_API_KEY" else value or "(empty: none)"
            rows.append(Row(each.name, shown, "environment", each.meaning))
            continue
        default = each.default if isinstance(each.default, str) else each.default()
        rows.append(Row(each.name, default or "none", "default", each.meaning))
    names = {each.name for each in settings}
    others = sorted(n for n in environment if n.startswith("INFINI_") and n not in names)
    return rows + [Row(name, environment[name], "unknown name", "") for name in others]
