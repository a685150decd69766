"""The environment variables that the package reads: one table, for `infini doctor`.

`docs/install.md` and `docs/collectives.md` explain them; a test holds this table against the
sources and those pages.
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
    default: str | Callable[[], str]  # what holds where the variable is not set
    meaning: str


class Row(NamedTuple):
    name: str
    value: str
    source: str  # "environment", "default" or "unknown name"
    meaning: str


def kernel_cache(environment: Mapping[str, str] = os.environ) -> str:
    """Where compiled kernels of CUDA-like devices are kept; empty: nowhere."""
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
        return "none can be used"


def _model_cache() -> str:
    from infinicore.llm.files.known import cache_folder

    return str(cache_folder())


_NONE = "not set"
SETTINGS = (
    Setting("INFINI_DEVICE", _device_type, "device type that calls go to"),
    Setting("INFINI_BACKEND_PATH", _NONE, "more places to look for back ends in"),
    Setting("INFINI_PROBE_SECONDS", "5", "how long a back end may look for devices"),
    Setting("INFINI_KERNEL_IMAGES", _NONE, "folders with kernels of infini build-kernels"),
    Setting("INFINI_CACHE", kernel_cache, "folder for kernels that were compiled"),
    Setting("INFINI_MODELS", _model_cache, "folder for language models"),
    Setting("INFINI_CPU_DEVICES", "1", "how many CPU devices there are"),
    Setting("INFINI_NUM_THREADS", "as affinity and quota allow", "threads of the CPU's pool"),
    Setting("INFINI_CPU_ISA", "the best there is", "best instruction set of the CPU's kernels"),
    Setting("INFINI_LAPACK_LIBRARY", "of scipy-openblas32", "OpenBLAS for large matrices"),
    Setting("INFINI_BATCH_INVARIANT", "0", "1: threads begin in batch-invariant mode"),
    Setting("INFINI_CUDA_ATTENTION", "the fastest", "which attention kernels CUDA devices use"),
    Setting("INFINI_CUDA_DUMP", _NONE, "folder for the sources of CUDA kernels"),
    Setting("INFINI_CCL_TIMEOUT", "300", "seconds to wait for other ranks"),
    Setting("INFINI_CCL_FILE", _NONE, "path through which ranks find each other"),
    Setting("INFINI_CCL_TRANSPORT", "the best of all ranks", "between CPUs: shm, mpi or tcp"),
    Setting("INFINI_CCL_ADDRESS", "of the default route", "this host's address for TCP"),
    Setting("INFINI_CCL_HOST", _NONE, "ranks with different words are on different hosts"),
    Setting("INFINI_CCL_STRICT_EXIT", "0", "1: a failed communicator is an exit status"),
    Setting("INFINI_CCL_JOB", _NONE, "tells jobs apart that use one MASTER_PORT"),
    Setting("INFINI_MPI_LIBRARY", "the launcher's", "the MPI library to open"),
    Setting("INFINI_API_KEY", _NONE, "key that clients of infini serve send"),
    Setting("INFINI_ROOT", "the package's", "libraries that libinfiniop opens"),
)


def known() -> tuple[Setting, ...]:
    """All settings, with one for the libraries of each vendor."""
    kinds = [backend.name for backend in rt.backends() if backend.name not in ("cpu", "null")]
    return SETTINGS + tuple(
        Setting(f"INFINI_{kind.upper()}_LIBRARIES", "the usual places", "folders of its libraries")
        for kind in kinds
    )


def effective(environment: Mapping[str, str] = os.environ) -> list[Row]:
    """Every setting with its value and where it comes from; then variables that nobody reads."""
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
