"""The modules from which older programs import functions: `infinicore.ops.matmul.matmul`.

A module `infinicore.ops.<name>` exists for each function of `infinicore`, and for the groups below.
It has all names of `infinicore`; `__all__` lists those that belong to the module.

    >>> from infinicore.ops.add import add
    >>> add is infinicore.add
    True
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import infinicore

# Modules that are not named after a function, with the prefixes of their functions.
_GROUPS = {
    "ascend_flash_attn": ("ascend_flash_attn_",),
    "dsa": (
        "compute_block_sparse_mqa_logits_",
        "fused_deepseek_v2_indexer_postprocess_",
        "indexer_k_cache_",
        "map_",
        "select_decode_topk_",
        "select_prefill_topk_",
        "sparse_flash_mla_",
        "topk_indices_context_lens_",
    ),
    "moe_argsort_bincount": ("moe_argsort_bincount_",),
    "moe_expand_input": ("moe_expand_input_",),
    "moe_topk_vendor": ("moe_topk_softmax_vendor", "moe_topk_sigmoid_vendor"),
    "moore_mate_flash_attn": ("moore_mate_flash_attn_",),
}


def _names(module: str) -> list[str]:
    """The names that belong to a module; empty if there is no such module."""
    known: dict[str, Any] = infinicore._load()  # type: ignore[attr-defined]
    if module in _GROUPS:
        return sorted(name for name in known if name.startswith(_GROUPS[module]))
    forms = (module, f"{module}_", f"{module}_inplace")
    return [name for name in forms if callable(known.get(name))]


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            return getattr(infinicore, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class _Finder(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.rpartition(".")
        return ModuleSpec(fullname, self) if package == __name__ and _names(name) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        names = _names(module.__name__.rpartition(".")[2])
        module.__dict__.update({name: getattr(infinicore, name) for name in names}, __all__=names)
        module.__doc__ = f"{', '.join(names)}: see `infinicore`."


sys.meta_path.append(_Finder())


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and _names(name):
        return __import__(f"{__name__}.{name}", fromlist=[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
