#include "reduce.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "infinicore.h"
#include "kernels/types.h"

namespace infini::cpu::collectives {
namespace {

template <int op, class C>
inline C combine(C a, C b) {
    if constexpr (op == kSum || op == kAverage) {
        if constexpr (std::is_integral_v<C>) {
            using U = std::make_unsigned_t<C>;
            return C(U(a) + U(b));  // wraps
        } else {
            return a + b;
        }
    } else if constexpr (op == kProduct) {
        if constexpr (std::is_integral_v<C>) {
            using U = std::common_type_t<std::make_unsigned_t<C>, unsigned>;
            return C(U(a) * U(b));
        } else {
            return a * b;
        }
    } else if constexpr (op == kMax) {
        return a > b || a != a ? a : b;  // a NaN wins
    } else {
        return a < b || a != a ? a : b;
    }
}

// The most frequent case needs no block. `to` may be one of the sources, which the pragma allows.
template <class T, int op>
void reduce_two(void *to, const void *const *from, size_t count) {
    const T *a = static_cast<const T *>(from[0]), *b = static_cast<const T *>(from[1]);
    T *result = static_cast<T *>(to);
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) result[i] = combine<op>(a[i], b[i]);
}

// Through a block of numbers in the type of computation, which stays in the L1 cache.
template <class T, class C, int op>
void reduce(void *to, const void *const *from, int sources, size_t count) {
    if constexpr (std::is_same_v<T, C> && op != kAverage)
        if (sources == 2) return reduce_two<T, op>(to, from, count);
    constexpr size_t kBlock = 1024;
    C block[kBlock];
    for (size_t at = 0; at < count; at += kBlock) {
        const size_t n = std::min(kBlock, count - at);
        const T *first = static_cast<const T *>(from[0]) + at;
        for (size_t i = 0; i < n; ++i) block[i] = load_element<C>(first[i]);
        for (int s = 1; s < sources; ++s) {
            const T *next = static_cast<const T *>(from[s]) + at;
            for (size_t i = 0; i < n; ++i)
                block[i] = combine<op>(block[i], load_element<C>(next[i]));
        }
        if constexpr (op == kAverage)
            for (size_t i = 0; i < n; ++i) block[i] = C(block[i] / C(sources));
        T *result = static_cast<T *>(to) + at;
        for (size_t i = 0; i < n; ++i) store_element(result[i], block[i]);
    }
}

template <class T, class C>
Reduce of_type(int op) {
    switch (op) {
        case kSum:
            return reduce<T, C, kSum>;
        case kProduct:
            return reduce<T, C, kProduct>;
        case kMax:
            return reduce<T, C, kMax>;
        case kMin:
            return reduce<T, C, kMin>;
        case kAverage: {  // the sum of small integers must not wrap
            using Wide = std::conditional_t<std::is_signed_v<C>, int64_t, uint64_t>;
            return reduce<T, std::conditional_t<std::is_integral_v<C>, Wide, C>, kAverage>;
        }
        default:
            return nullptr;
    }
}

}  // namespace

Reduce find_reduce(int dtype, int op) {
    switch (dtype) {
        case INFINI_DTYPE_I8:
            return of_type<int8_t, int8_t>(op);
        case INFINI_DTYPE_I16:
            return of_type<int16_t, int16_t>(op);
        case INFINI_DTYPE_I32:
            return of_type<int32_t, int32_t>(op);
        case INFINI_DTYPE_I64:
            return of_type<int64_t, int64_t>(op);
        case INFINI_DTYPE_BYTE:
        case INFINI_DTYPE_U8:
            return of_type<uint8_t, uint8_t>(op);
        case INFINI_DTYPE_U16:
            return of_type<uint16_t, uint16_t>(op);
        case INFINI_DTYPE_U32:
            return of_type<uint32_t, uint32_t>(op);
        case INFINI_DTYPE_U64:
            return of_type<uint64_t, uint64_t>(op);
        case INFINI_DTYPE_F8:
            return of_type<f8, float>(op);
        case INFINI_DTYPE_F16:
            return of_type<f16, float>(op);
        case INFINI_DTYPE_BF16:
            return of_type<bf16, float>(op);
        case INFINI_DTYPE_F32:
            return of_type<float, float>(op);
        case INFINI_DTYPE_F64:
            return of_type<double, double>(op);
        default:
            return nullptr;
    }
}

}  // namespace infini::cpu::collectives
