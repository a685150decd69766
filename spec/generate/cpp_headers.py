"""The public C++ headers: infini/rt.h and infinirt_runtime.h."""

from __future__ import annotations

from .. import Api, First
from ..model import declare
from . import text

PART = "c"


def files(api: Api, first: First) -> dict[str, str]:
    return {
        "include/infini/rt.h": rt(api, first),
        "include/infinirt_runtime.h": RUNTIME,
    }


def rt(api: Api, first: First) -> str:
    kinds = "".join(
        f"        k{word.capitalize()} = {value},\n" for word, value in first.device_kinds.items()
    )
    names = "".join(f'        "{word}",\n' for word in first.device_kinds)
    parts = []
    for group in api.groups:
        parts.append(f"// ---- {group.title}\n")
        for function in group.functions:
            params = text.params(function, defaults=" = {}") if function.params else []
            head = text.call("inline " + declare(function.returns, function.name), params, " {")
            arguments = [param.name for param in function.params]
            body = text.call(f"return ::{function.c_name}", arguments, ";", 4)
            parts.append(f"{text.notes(function.doc)}\n{head}\n{body}\n}}\n")
    body = "\n".join(parts)
    return f"""\
// InfiniRT for C++17: the functions of infinirt_runtime_api.h as infini::rt::runtime::Malloc(...),
// and the kind of device that this thread's calls go to.
// {text.NOTE}
#ifndef INFINI_RT_H
#define INFINI_RT_H

#include <cstring>

#include "infini/ext.h"
#include "infinirt_runtime_api.h"

namespace infini::rt {{

struct Device {{
    enum class Type : int {{
{kinds}        kCount = {len(first.device_kinds)},  // also: a kind that has no number here
    }};
}};

namespace detail {{
inline const char *kind_name(int type) {{
    constexpr const char *kNames[] = {{
{names}    }};
    return type >= 0 && type < static_cast<int>(Device::Type::kCount) ? kNames[type] : "";
}}
}}  // namespace detail

// Sends this thread's calls to the devices of one kind.
inline infiniStatus_t set_runtime_device_type(Device::Type type) {{
    return ::infinirtSetDeviceKind(detail::kind_name(static_cast<int>(type)));
}}

// The kind of device that this thread's calls go to.
inline Device::Type runtime_device_type() {{
    const char *kind = ::infinirtGetDeviceKind();
    for (int type = 0; kind && type < static_cast<int>(Device::Type::kCount); ++type)
        if (std::strcmp(kind, detail::kind_name(type)) == 0) return static_cast<Device::Type>(type);
    return Device::Type::kCount;
}}

namespace runtime {{

{body}
}}  // namespace runtime
}}  // namespace infini::rt

#endif"""


# The overloads that CUDA provides in cuda_runtime.h, for functions that make sense without a device
# compiler. Names and parameters are those of CUDA's overloads.
RUNTIME = f"""\
/* InfiniRT, the aligned face with the conveniences of cuda_runtime.h: makers of small structs, and
 * in C++ overloads that take pointers of any type.
 * {text.NOTE} */
#ifndef INFINIRT_RUNTIME_H
#define INFINIRT_RUNTIME_H

#include "infinirt_runtime_api.h"

static inline struct infinirtPitchedPtr make_infinirtPitchedPtr(void *d, size_t p, size_t xsz,
                                                                size_t ysz) {{
    struct infinirtPitchedPtr s;
    s.ptr = d;
    s.pitch = p;
    s.xsize = xsz;
    s.ysize = ysz;
    return s;
}}

static inline struct infinirtPos make_infinirtPos(size_t x, size_t y, size_t z) {{
    struct infinirtPos p;
    p.x = x;
    p.y = y;
    p.z = z;
    return p;
}}

static inline struct infinirtExtent make_infinirtExtent(size_t w, size_t h, size_t d) {{
    struct infinirtExtent e;
    e.width = w;
    e.height = h;
    e.depth = d;
    return e;
}}

#ifdef __cplusplus

template <class T>
inline infinirtError_t infinirtMalloc(T **devPtr, size_t size) {{
    return ::infinirtMalloc(reinterpret_cast<void **>(devPtr), size);
}}

inline infinirtError_t infinirtMallocHost(void **ptr, size_t size, unsigned int flags) {{
    return ::infinirtHostAlloc(ptr, size, flags);
}}

template <class T>
inline infinirtError_t infinirtMallocHost(T **ptr, size_t size, unsigned int flags = 0) {{
    return ::infinirtHostAlloc(reinterpret_cast<void **>(ptr), size, flags);
}}

template <class T>
inline infinirtError_t infinirtHostAlloc(T **ptr, size_t size, unsigned int flags) {{
    return ::infinirtHostAlloc(reinterpret_cast<void **>(ptr), size, flags);
}}

template <class T>
inline infinirtError_t infinirtHostGetDevicePointer(T **pDevice, void *pHost, unsigned int flags) {{
    return ::infinirtHostGetDevicePointer(reinterpret_cast<void **>(pDevice), pHost, flags);
}}

template <class T>
inline infinirtError_t infinirtMallocManaged(T **devPtr, size_t size,
                                             unsigned int flags = infinirtMemAttachGlobal) {{
    return ::infinirtMallocManaged(reinterpret_cast<void **>(devPtr), size, flags);
}}

template <class T>
inline infinirtError_t infinirtMallocPitch(T **devPtr, size_t *pitch, size_t width,
                                           size_t height) {{
    return ::infinirtMallocPitch(reinterpret_cast<void **>(devPtr), pitch, width, height);
}}

inline infinirtError_t infinirtMallocAsync(void **ptr, size_t size, infinirtMemPool_t memPool,
                                           infinirtStream_t stream) {{
    return ::infinirtMallocFromPoolAsync(ptr, size, memPool, stream);
}}

template <class T>
inline infinirtError_t infinirtMallocAsync(T **ptr, size_t size, infinirtMemPool_t memPool,
                                           infinirtStream_t stream) {{
    return ::infinirtMallocFromPoolAsync(reinterpret_cast<void **>(ptr), size, memPool, stream);
}}

template <class T>
inline infinirtError_t infinirtMallocAsync(T **ptr, size_t size, infinirtStream_t stream) {{
    return ::infinirtMallocAsync(reinterpret_cast<void **>(ptr), size, stream);
}}

template <class T>
inline infinirtError_t infinirtMallocFromPoolAsync(T **ptr, size_t size, infinirtMemPool_t memPool,
                                                   infinirtStream_t stream) {{
    return ::infinirtMallocFromPoolAsync(reinterpret_cast<void **>(ptr), size, memPool, stream);
}}

template <class T>
inline infinirtError_t infinirtStreamAttachMemAsync(infinirtStream_t stream, T *devPtr,
                                                    size_t length = 0,
                                                    unsigned int flags = infinirtMemAttachSingle) {{
    return ::infinirtStreamAttachMemAsync(stream, static_cast<void *>(devPtr), length, flags);
}}

inline infinirtError_t infinirtEventCreate(infinirtEvent_t *event, unsigned int flags) {{
    return ::infinirtEventCreateWithFlags(event, flags);
}}

inline infinirtError_t infinirtGraphInstantiate(infinirtGraphExec_t *pGraphExec,
                                                infinirtGraph_t graph,
                                                infinirtGraphNode_t *pErrorNode, char *pLogBuffer,
                                                size_t bufferSize) {{
    (void)pErrorNode;  // CUDA 12 ignores these three as well
    (void)pLogBuffer;
    (void)bufferSize;
    return ::infinirtGraphInstantiate(pGraphExec, graph, 0);
}}

#endif
#endif"""
