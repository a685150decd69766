"""The C headers of the operators: `infiniop.h` and what it includes."""

from __future__ import annotations

from collections import defaultdict

from .. import Api, First
from ..model import parse_enums
from ..operators import ENUMS, OPERATORS
from ..operators.language.model import Operator, Param, Pointer, Run, Tensor
from . import headers, text

PART = "c"

DESCRIPTOR = "infiniopTensorDescriptor_t"


def files(api: Api, first: First) -> dict[str, str]:
    by_header: dict[str, list[Operator]] = defaultdict(list)
    for operator in OPERATORS:
        by_header[operator.header].append(operator)
    made = {f"include/infiniop/ops/{name}.h": _header(name, ops) for name, ops in by_header.items()}
    made["include/infiniop/types.h"] = _types()
    made["include/infiniop/handle.h"] = _wrap("handle", "types", HANDLE)
    made["include/infiniop/tensor_descriptor.h"] = _wrap("tensor_descriptor", "types", TENSOR)
    made["include/infiniop/operator_descriptor.h"] = _wrap("operator_descriptor", "types", OPERATOR)
    made["include/infiniop.h"] = _umbrella(by_header)
    return made


HANDLE = """\
/* Make a handle for the calling thread's current device. */
INFINI_EXPORT infiniStatus_t infiniopCreateHandle(infiniopHandle_t *handle_ptr);

/* Destroy a handle. Descriptors made with it stay. */
INFINI_EXPORT infiniStatus_t infiniopDestroyHandle(infiniopHandle_t handle);
"""
TENSOR = """\
/* Describe a tensor. Strides are in elements; null means row-major without gaps. */
INFINI_EXPORT infiniStatus_t infiniopCreateTensorDescriptor(infiniopTensorDescriptor_t *desc_ptr,
                                                            size_t ndim, const size_t *shape,
                                                            const ptrdiff_t *strides,
                                                            infiniDtype_t dtype);

/* Destroy it. Operators described with it stay. */
INFINI_EXPORT infiniStatus_t infiniopDestroyTensorDescriptor(infiniopTensorDescriptor_t desc);
"""
OPERATOR = """\
/* Tell the kind of device that an operator was described for. */
INFINI_EXPORT infiniStatus_t infiniopGetDescriptorDeviceType(
    const struct InfiniopDescriptor *desc_ptr, infiniDevice_t *device_type);

/* Tell the number of that device. */
INFINI_EXPORT infiniStatus_t infiniopGetDescriptorDeviceId(
    const struct InfiniopDescriptor *desc_ptr, int *device_id);
"""


def _guard(name: str) -> str:
    return "INFINIOP_" + name.replace("/", "_").upper() + "_H"


def _wrap(name: str, include: str, body: str) -> str:
    includes = f'#include "infiniop/{include}.h"\n' if include else ""
    return f"""\
/* InfiniOP. {text.NOTE} */
#ifndef {_guard(name)}
#define {_guard(name)}

{includes}
{headers.OPEN_C}
{body}
{headers.CLOSE_C}
#endif"""


def _types() -> str:
    return f"""\
/* Types that all operators share. {text.NOTE} */
#ifndef INFINIOP_TYPES_H
#define INFINIOP_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "infinicore.h"

{headers.OPEN_C}
typedef struct InfiniopHandle *infiniopHandle_t;
typedef struct InfiniopTensorDescriptor *infiniopTensorDescriptor_t;
struct InfiniopDescriptor;

{"".join(headers.enum(enum) for enum in parse_enums(ENUMS))}
{headers.CLOSE_C}
#endif"""


def _umbrella(by_header: dict[str, list[Operator]]) -> str:
    names = sorted(name for name, ops in by_header.items() if ops[0].umbrella)
    includes = "".join(f'#include "infiniop/ops/{name}.h"\n' for name in names)
    return f"""\
/* InfiniOP: operators on any device. Describe one (create), ask for the bytes of its workspace,
 * run it on a stream as often as you like, destroy it. {text.NOTE} */
#ifndef INFINIOP_H
#define INFINIOP_H

#include "infiniop/handle.h"
#include "infiniop/operator_descriptor.h"
{includes}#include "infiniop/tensor_descriptor.h"

#endif"""


def _header(name: str, operators: list[Operator]) -> str:
    return _wrap(f"ops/{name}", "types", "\n".join(map(_declarations, operators)))


def _declarations(operator: Operator) -> str:
    type_name = f"infiniop{operator.c_name}Descriptor_t"
    parts = [
        text.comment(operator.doc or operator.name),
        f"typedef struct InfiniopDescriptor *{type_name};\n",
    ]
    for head, params in signatures(operator):
        parts.append(text.call(f"INFINI_EXPORT infiniStatus_t {head}", params, ";") + "\n")
    return "\n".join(parts)


def signatures(operator: Operator) -> list[tuple[str, list[str]]]:
    """Names and parameters of all C functions of an operator."""
    made = [(name, create_params(operator)) for name in operator.create_names]
    made += [(name, _desc(operator, "size_t *size")) for name in workspace_names(operator)]
    made += [(run.name, run_params(operator, run)) for run in operator.runs]
    made.append((f"infiniopDestroy{operator.c_name}Descriptor", _desc(operator)))
    return made


def workspace_names(operator: Operator) -> list[str]:
    """Both names in use."""
    if not operator.workspace:
        return []
    return [f"infiniopGet{operator.c_name}Workspace{end}" for end in ("Size", "")]


def _desc(operator: Operator, *more: str) -> list[str]:
    return [f"infiniop{operator.c_name}Descriptor_t desc", *more]


def create_params(operator: Operator) -> list[str]:
    params = [
        "infiniopHandle_t handle",
        f"infiniop{operator.c_name}Descriptor_t *desc_ptr",
    ]
    for param in operator.create:
        if isinstance(param, Tensor):
            star = " *" if param.array else " "
            params.append(f"{DESCRIPTOR}{star}{param.c_name}")
        else:
            params.append(declared(param))
    return params


def run_params(operator: Operator, run: Run) -> list[str]:
    workspace = ["void *workspace", "size_t workspace_size"] if operator.workspace else []
    return [*_desc(operator, *workspace), *map(declared, run.params), "void *stream"]


def declared(param: Param | Pointer) -> str:
    return f"{param.type}{'' if param.type.endswith('*') else ' '}{param.name}"
