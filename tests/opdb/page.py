"""docs/differences_from_torch.md: the table of differences, and those that the operator database
cannot show.

python -m tests.opdb.page        writes the page
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from .differences import DIFFERENCES
from .rows import TORCH

PAGE = Path(__file__).parents[2] / "docs" / "differences_from_torch.md"

# Differences that torch's database has no samples of. tests/opdb/test_page.py shows each.
OTHERS = {
    "nn.Linear": "has no bias by default",
    "from_numpy": "copies, unless `copy=False`",
    "ones": "operators support up to 8 dimensions",
    "floor_divide": "integer division by 0 gives 0; torch raises an error",
    "Tensor.requires_grad": "is always False: there are no gradients",
    "add": "`out=` must have the result's shape, in every function; torch resizes it",
    "Tensor.to": "floats saturate when cast to integers; torch's wrap",
    "Tensor.resize_": "growing a tensor allocates new memory, which its views do not share",
    "nn.functional.rms_norm": "eps defaults to 1e-5, as in InfiniCore; torch's is machine epsilon",
    "special.laguerre_polynomial_l": "NaN above degree 32,768, as Legendre's; torch takes any",
    "manual_seed": "the same seed gives different numbers from torch's",
}
# Names of torch that are missing here: patterns of functions and of methods.
LEFT_OUT = {
    "gradients, and what only training needs": (
        "retain_grad register_hook register_post_accumulate_grad_hook grad_dtype output_nr"
        " reinforce volatile *anomaly* batch_norm_backward_* batch_norm_elemt batch_norm_*stats*"
        " embedding_renorm_ fake_quantize_* fused_moving_avg_*"
    ),
    "sparse tensors": (
        "sparse_*_tensor sparse_dim sparse_mask sparse_resize_* to_sparse* resize_as_sparse_ *smm"
        " hspmm spmm saddmm sspaddmm ccol_indices* col_indices* crow_indices* row_indices* indices*"
        " values values_copy coalesce is_coalesced dense_dim to_dense to_padded_tensor"
    ),
    "torch's quantised tensors (there are functions for quantised weights)": (
        "q_* qscheme int_repr dequantize *quantize_per* quantized_* fbgemm_* empty_quantized"
        " choose_qparams_optimized"
    ),
    "functions of one vendor's library": (
        "cudnn_* miopen_* mkldnn_* to_mkldnn is_vulkan_available xpu ipu mtia"
    ),
    "autocast, symbolic sizes, compilation and scripting": (
        "*autocast* sym_* compile cond while_loop vmap fork wait import_ir_* parse_* merge_type_*"
        " unify_type_list compiled_with_cxx11_abi slice_inverse is_inference_mode_enabled"
    ),
    "settings of torch's own runtime": (
        "*deterministic* set_flush_denormal *interop_threads *warn_always* init_num_threads"
        " prepare_multiprocessing_environment profiler_* get_file_path thread_safe_generator"
        " classproperty is_storage"
    ),
    "what torch itself has removed or deprecated": (
        "eig lstsq matrix_rank symeig set_default_tensor_type new resize resize_as storage"
        " storage_type"
    ),
    "named dimensions, complex32, subclasses": "name chalf as_subclass module_load",
}
_HEAD = """\
# Differences from torch

Functions, methods and modules follow torch {version}: names, arguments, broadcasting, type
promotion, errors. This page lists the intended differences. It is written by `python -m
tests.opdb.page` from the tables that the tests check against torch's own operator database.

| where | what |
|---|---|
"""
_LEFT_OUT = """
## Not included

| what | names |
|---|---|"""


def page() -> str:
    rows = [
        f"| {_names(each.operators) or f'`{each.example}` and others'} | {each.reason} |"
        for each in DIFFERENCES
    ]
    rows += [f"| `{name}` | {text} |" for name, text in OTHERS.items()]
    left_out = [
        f"| {reason} | {_names(tuple(each.split()))} |" for reason, each in LEFT_OUT.items()
    ]
    return "\n".join([_HEAD.format(version=TORCH) + rows[0], *rows[1:], _LEFT_OUT, *left_out, ""])


def _names(operators: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in operators)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
