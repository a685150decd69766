#include "widen.h"

#include <cstdint>
#include <cstring>

#include "infinicore.h"
#include "kernels/types.h"
#include "reduce.h"

namespace infini::cpu::collectives {
namespace {

template <class T>
struct Type {
    using type = T;
};

// Calls f(Type<T>(), Type<W>()): the type of the elements, and the wide one.
template <class F>
void with_types(int dtype, int wide, const F &f) {
    switch (dtype) {
        case INFINI_DTYPE_F8:
            return f(Type<f8>(), Type<float>());
        case INFINI_DTYPE_F16:
            return f(Type<f16>(), Type<float>());
        case INFINI_DTYPE_BF16:
            return f(Type<bf16>(), Type<float>());
        case INFINI_DTYPE_F32:
            return f(Type<float>(), Type<float>());
        case INFINI_DTYPE_F64:
            return f(Type<double>(), Type<double>());
        default:
            break;
    }
    if (wide == dtype && wide != INFINI_DTYPE_I64 && wide != INFINI_DTYPE_U64) return;
    switch (dtype) {
        case INFINI_DTYPE_I8:
            return f(Type<int8_t>(), Type<int64_t>());
        case INFINI_DTYPE_I16:
            return f(Type<int16_t>(), Type<int64_t>());
        case INFINI_DTYPE_I32:
            return f(Type<int32_t>(), Type<int64_t>());
        case INFINI_DTYPE_I64:
            return f(Type<int64_t>(), Type<int64_t>());
        case INFINI_DTYPE_BYTE:
        case INFINI_DTYPE_U8:
            return f(Type<uint8_t>(), Type<uint64_t>());
        case INFINI_DTYPE_U16:
            return f(Type<uint16_t>(), Type<uint64_t>());
        case INFINI_DTYPE_U32:
            return f(Type<uint32_t>(), Type<uint64_t>());
        case INFINI_DTYPE_U64:
            return f(Type<uint64_t>(), Type<uint64_t>());
        default:
            return;
    }
}

}  // namespace

int wide_type(int dtype, int op) {
    switch (dtype) {
        case INFINI_DTYPE_F8:
        case INFINI_DTYPE_F16:
        case INFINI_DTYPE_BF16:
            // The largest and the smallest are one of them: nothing is rounded.
            return op == kMax || op == kMin ? dtype : INFINI_DTYPE_F32;
        case INFINI_DTYPE_I8:
        case INFINI_DTYPE_I16:
        case INFINI_DTYPE_I32:
            return op == kAverage ? INFINI_DTYPE_I64 : dtype;
        case INFINI_DTYPE_BYTE:
        case INFINI_DTYPE_U8:
        case INFINI_DTYPE_U16:
        case INFINI_DTYPE_U32:
            return op == kAverage ? INFINI_DTYPE_U64 : dtype;
        default:
            return dtype;
    }
}

void widen(int wide, void *to, int dtype, const void *from, size_t count) {
    with_types(dtype, wide, [&](auto narrow_type, auto wide_type) {
        using T = typename decltype(narrow_type)::type;
        using W = typename decltype(wide_type)::type;
        for (size_t i = 0; i < count; ++i)
            static_cast<W *>(to)[i] = load_element<W>(static_cast<const T *>(from)[i]);
    });
}

void narrow(int dtype, void *to, int wide, const void *from, size_t count, int divisor) {
    if (dtype == wide && divisor == 1) {
        if (count && to != from) std::memmove(to, from, count * infiniSizeOf(infiniDtype_t(dtype)));
        return;
    }
    with_types(dtype, wide, [&](auto narrow_type, auto wide_type) {
        using T = typename decltype(narrow_type)::type;
        using W = typename decltype(wide_type)::type;
        for (size_t i = 0; i < count; ++i)
            store_element(static_cast<T *>(to)[i], W(static_cast<const W *>(from)[i] / W(divisor)));
    });
}

}  // namespace infini::cpu::collectives
