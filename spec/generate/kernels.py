"""The kernels that several operators share, for back ends that find their kernels by name."""

from __future__ import annotations

from .. import Api, First
from ..operators import OPERATORS
from . import text

PART = "c"


def files(api: Api, first: First) -> dict[str, str]:
    shared = [operator for operator in OPERATORS if operator.serving != operator.name]
    rows = "".join(f'        {{"{operator.name}", "{operator.serving}"}},\n' for operator in shared)
    header = f"""\
/* The kernels that several operators share. {text.NOTE} */
#ifndef INFINI_KERNELS_H
#define INFINI_KERNELS_H

#ifdef __cplusplus
#include <cstring>

namespace infini {{

// The name of the kernel that computes an operator: one that it shares, or its own.
inline const char *kernel_of(const char *operation) {{
    static constexpr const char *kShared[][2] = {{
{rows}    }};
    for (const auto &[name, kernel] : kShared)
        if (std::strcmp(name, operation) == 0) return kernel;
    return operation;
}}

}}  // namespace infini
#endif
#endif"""
    return {"include/infini/kernels.h": header}
