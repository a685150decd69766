// Builds the loops of a functor. Only generated code includes this.
#pragma once

#include <infini/program.h>

#include <utility>

#include "convert.h"
#include "functions.h"
#include "math_division.h"
#include "program/functor.h"

namespace infini::cpu {

template <class V, class T>
INFINI_SIMD V constant(T value) {
    return broadcast<V>(Element<V>(value));
}

template <class V>
INFINI_SIMD V quotient(V a, V b) {
    return a / b;
}

namespace detail {
// x86 has no shifts of bytes: the compiler would shift them one by one.
#if defined(__ARM_NEON)
template <class V>
inline constexpr bool kShiftsHalves = false;
#else
template <class V>
inline constexpr bool kShiftsHalves = kIsVector<V> && sizeof(Element<V>) == 1;
#endif

// Applies a function of vectors of 16-bit integers to the two halves of a vector of bytes.
template <class V, class F>
INFINI_SIMD V in_halves(V a, V b, F f) {
    using Wide = Vec<std::conditional_t<std::is_signed_v<Element<V>>, int16_t, uint16_t>>;
    using Half = Like<Wide, Element<V>>;
    struct Pair {
        Half low, high;
    };
    const auto x = __builtin_bit_cast(Pair, a), y = __builtin_bit_cast(Pair, b);
    auto one = [&](Half p, Half q) {
        const Wide wide = f(cast<Wide>(p), cast<Wide>(q));
        return cast<Half>(wide);
    };
    return __builtin_bit_cast(V, Pair{one(x.low, y.low), one(x.high, y.high)});
}
}  // namespace detail

// A count that is negative or not below the number of bits shifts everything out.
template <class V>
INFINI_SIMD V shift_right(V a, V b) {
    if constexpr (detail::kShiftsHalves<V>)
        return detail::in_halves(a, b, [](auto p, auto q) { return shift_right(p, q); });
    using T = Element<V>;
    const V most = broadcast<V>(T(sizeof(T) * 8 - 1));
    if constexpr (std::is_signed_v<T>)
        return a >> select(either(b<V{}, b> most), most, b);
    else
        return select(b > most, V{}, a >> minimum(b, most));
}

template <class V>
INFINI_SIMD V shift_left(V a, V b) {
    if constexpr (detail::kShiftsHalves<V>)
        return detail::in_halves(a, b, [](auto p, auto q) { return shift_left(p, q); });
    using T = Element<V>;
    using U = Like<V, std::make_unsigned_t<T>>;
    const U count = as<U>(b), most = broadcast<U>(sizeof(T) * 8 - 1);
    return select(count > most, V{}, as<V>(U(as<U>(a) << minimum(count, most))));
}

namespace detail {
template <class C, class T>
INFINI_SIMD Vec<C> fetch(const T *p) {
    if constexpr (std::is_same_v<C, T>)
        return load<Vec<C>>(p);
    else if constexpr (std::is_same_v<T, boolean>)
        return number<Vec<C>>(load<Vec<C>>(&p->bits) != 0);
#if defined(__ARM_NEON)
    else if constexpr (std::is_same_v<T, bf16>)
        return as<F32>(U32(vshll_n_u16(vld1_u16(&p->bits), 16)));
#endif
    else
        return load_f32(p);
}
// Converts a mask to bytes of 0 or 1.
template <class M>
INFINI_SIMD void put_mask(boolean *p, M mask) {
    constexpr size_t kCount = kLanes<M>;
    using Bytes = typename VectorOf<int8_t, kCount>::type;
    Bytes bytes;
    if constexpr (sizeof(Element<M>) == 1) {
        bytes = mask;
    } else {
#if defined(__ARM_NEON)
        // For so few bytes the compiler would extract the elements one by one.
        uint16x4_t halves;
        if constexpr (sizeof(Element<M>) == 4)
            halves = vmovn_u32(as<uint32x4_t>(mask));
        else
            halves = vmovn_u32(vcombine_u32(vmovn_u64(as<uint64x2_t>(mask)), vdup_n_u32(0)));
        const uint8x8_t narrow = vmovn_u16(vcombine_u16(halves, halves));
        std::memcpy(&bytes, &narrow, sizeof bytes);
#else
        bytes = cast<Bytes>(mask);
#endif
    }
    bytes = -bytes;
    std::memcpy(p, &bytes, sizeof bytes);
}

INFINI_SIMD U16x upper_halves(F32 x) {
#if defined(__ARM_NEON)
    return U16x(vshrn_n_u32(as<uint32x4_t>(x), 16));
#else
    return cast<U16x>(as<U32>(x) >> 16);
#endif
}

// `exact`: v is a number of type T, which needs no rounding.
template <class C, bool exact, class T>
INFINI_SIMD void put(T *p, Vec<C> v) {
    if constexpr (std::is_same_v<C, T>)
        store(p, v);
    else if constexpr (std::is_same_v<T, bf16> && exact)
        store(&p->bits, upper_halves(v));
    else if constexpr (std::is_same_v<T, boolean>)
        put_mask(p, v != Vec<C>{});
#if defined(__ARM_NEON)
    else if constexpr (std::is_same_v<T, bf16>) {
        // Rounds by an addition and takes the upper half; NaN is not rounded, because it could turn
        // into infinity.
        const U32 u = as<U32>(v), odd = (u >> 16) & 1u;
        const U32 half = (odd + 0x7fffu) & as<U32>(v == v);
        vst1_u16(&p->bits, vaddhn_u32(u, half));
    }
#endif
    else
        store_f32(p, v);
}

// C: the compute type. T: the storage type of tensors, To: that of the results. Inputs whose bit in
// kShared is set are shared values, not tensors.
template <template <class> class F, class C, class T, class To = T>
void block(const void *const *in, const ptrdiff_t *step, void *const *out, size_t n) {
    using V = Vec<C>;
    using Functor = F<V>;
    constexpr size_t kLanes = kWidth<C>;
    constexpr int kIn = Functor::kInputs, kOut = Functor::kOutputs;
    constexpr int kUnroll = Functor::kCost > 40 ? 1 : Functor::kCost > 8 ? 2 : 4;
    auto run = [&]<size_t... I, size_t... O>(std::index_sequence<I...>, std::index_sequence<O...>) {
        [[maybe_unused]] const char *a[kIn + 1] = {static_cast<const char *>(in[I])..., nullptr};
        char *b[] = {static_cast<char *>(out[O])...};
        [[maybe_unused]] constexpr size_t kBytes[] = {
            (Functor::kShared >> I & 1 ? sizeof(C) : sizeof(T))..., 0};
        [[maybe_unused]] const size_t move[] = {step[I] * kBytes[I] * kLanes..., 0};
        auto get = [&]<size_t i>(std::integral_constant<size_t, i>, size_t at) {
            using S = std::conditional_t<(Functor::kShared >> i & 1) != 0, C, T>;
            return fetch<C>(reinterpret_cast<const S *>(a[i] + at * move[i]));
        };
        auto evaluate = [&](size_t at) {
            const V x[kIn + 1] = {get(std::integral_constant<size_t, I>{}, at)..., V{}};
            V y[kOut];
            Functor::eval(x, y);
            (put<C, Functor::kSelects>(reinterpret_cast<To *>(b[O]) + at * kLanes, y[O]), ...);
        };
        // All inputs are read before any output is written, so that steps can be interleaved.
        [[maybe_unused]] auto several = [&](size_t at) {
            V y[kUnroll][kOut];
            for (int u = 0; u < kUnroll; ++u) {
                const V x[kIn + 1] = {get(std::integral_constant<size_t, I>{}, at + u)..., V{}};
                Functor::eval(x, y[u]);
            }
            for (int u = 0; u < kUnroll; ++u)
                (put<C, Functor::kSelects>(reinterpret_cast<To *>(b[O]) + (at + u) * kLanes,
                                           y[u][O]),
                 ...);
        };
        size_t full = n / kLanes;
        const size_t rest = n % kLanes;
        // Elements that do not fill a vector go through buffers, so that `evaluate` is inlined here
        // only once. If a full vector precedes it, the tail is a vector that overlaps that one:
        // results may alias operands, so the tail is computed first and written last.
        alignas(64) char inputs[kIn + 1][sizeof(V)], outputs[kOut][sizeof(V)];
        bool apart = rest != 0;
        const bool overlaps = apart && full != 0;
        if (apart) {
            [[maybe_unused]] auto stage = [&](size_t i, size_t bytes) {
                if (overlaps) {
                    a[i] += size_t(step[i]) * bytes * (n - kLanes);
                    return;
                }
                std::memset(inputs[i], 0, sizeof(V));
                std::memcpy(inputs[i], a[i], step[i] ? rest * bytes : sizeof(V));
                a[i] = inputs[i];
            };
            (stage(I, kBytes[I]), ...);
            ((b[O] = outputs[O]), ...);
            full = 1;
        }
        for (;;) {
            size_t at = 0;
            if constexpr (kUnroll > 1)
                for (; at + kUnroll <= full; at += kUnroll) several(at);
            for (; at < full; ++at) evaluate(at);
            if (!apart) break;
            if (!overlaps) {
                (std::memcpy(out[O], outputs[O], rest * sizeof(To)), ...);
                return;
            }
            apart = false;
            ((a[I] = static_cast<const char *>(in[I])), ...);
            ((b[O] = static_cast<char *>(out[O])), ...);
            full = n / kLanes;
        }
        if (overlaps)
            (std::memcpy(static_cast<To *>(out[O]) + n - kLanes, outputs[O], kLanes * sizeof(To)),
             ...);
    };
    run(std::make_index_sequence<kIn>(), std::make_index_sequence<kOut>());
}

// Evaluates the functor and folds its output, in several independent chains.
template <template <class> class F, class C, int fold>
void folded(const void *const *in, const ptrdiff_t *step, void *result, size_t n) {
    using V = Vec<C>;
    using Functor = F<V>;
    constexpr size_t kLanes = kWidth<C>, kChains = 4;
    constexpr int kIn = Functor::kInputs;
    static_assert(Functor::kOutputs == 1);
    auto combine = [](auto a, auto b) {
        if constexpr (fold == INFINI_FOLD_SUM) return decltype(a)(a + b);
        if constexpr (fold == INFINI_FOLD_MAX) return maximum(a, b);
        if constexpr (fold == INFINI_FOLD_MIN) return minimum(a, b);
    };
    auto run = [&]<size_t... I>(std::index_sequence<I...>) {
        const C *a[] = {static_cast<const C *>(in[I])...};
        const size_t move[] = {size_t(step[I]) * kLanes...};
        auto evaluate = [&](size_t at) {
            const V x[] = {load<V>(a[I] + at * move[I])...};
            V y[1];
            Functor::eval(x, y);
            return y[0];
        };
        const size_t full = n / kLanes, rest = n % kLanes;
        size_t at = 0;
        bool some = false;
        C total{};
        auto take = [&](C one) {
            total = some ? combine(total, one) : one;
            some = true;
        };
        if (full >= kChains) {
            V chain[kChains];
            for (size_t k = 0; k < kChains; ++k) chain[k] = evaluate(k);
            for (at = kChains; at + kChains <= full; at += kChains)
                for (size_t k = 0; k < kChains; ++k) chain[k] = combine(chain[k], evaluate(at + k));
            take(
                reduce(combine(combine(chain[0], chain[1]), combine(chain[2], chain[3])), combine));
        }
        for (; at < full; ++at) take(reduce(evaluate(at), combine));
        if (rest) {
            C buffers[kIn][kLanes] = {};
            auto stage = [&](size_t i) {
                std::memcpy(buffers[i], a[i] + full * move[i],
                            (step[i] ? rest : kLanes) * sizeof(C));
                a[i] = buffers[i];
            };
            (stage(I), ...);
            const V last = evaluate(0);
            for (size_t i = 0; i < rest; ++i) take(last[i]);
        }
        *static_cast<C *>(result) = total;
    };
    run(std::make_index_sequence<kIn>());
}
}  // namespace detail

enum FunctorTypes : unsigned {
    kForFloat = 1,
    kForDouble = 2,
    kForInt64 = 4,
    kForUint64 = 8,
    kForHalf = 16,
    kForNarrow = 32,
    kForTruth = 64
};

template <template <class> class F, unsigned types, int fold = 0>
constexpr Functor functor(const char *name) {
    using namespace infini::program;
    Functor entry{name, F<F32>::kInputs, F<F32>::kOutputs, F<F32>::kCost, {}, {}, {}, fold, {}};
    if constexpr (types & kForFloat) entry.compute[kFloat] = detail::block<F, float, float>;
    if constexpr (types & kForDouble) entry.compute[kDouble] = detail::block<F, double, double>;
    if constexpr (types & kForInt64) entry.compute[kInt64] = detail::block<F, int64_t, int64_t>;
    if constexpr (types & kForUint64) entry.compute[kUint64] = detail::block<F, uint64_t, uint64_t>;
    if constexpr (types & kForHalf) {
        entry.direct[kF16] = detail::block<F, float, f16>;
        entry.direct[kBf16] = detail::block<F, float, bf16>;
    }
    if constexpr (types & kForNarrow) {
        entry.direct[kBoolean] = detail::block<F, uint8_t, boolean>;
        if constexpr (types & kForTruth) {
            entry.truth[kI64] = detail::block<F, int64_t, int64_t, boolean>;
            entry.truth[kI32] = detail::block<F, int32_t, int32_t, boolean>;
            entry.truth[kI8] = detail::block<F, int8_t, int8_t, boolean>;
            entry.truth[kU8] = detail::block<F, uint8_t, uint8_t, boolean>;
        } else {
            entry.direct[kI32] = detail::block<F, int32_t, int32_t>;
            entry.direct[kI8] = detail::block<F, int8_t, int8_t>;
            entry.direct[kU8] = detail::block<F, uint8_t, uint8_t>;
        }
    }
    if constexpr ((types & kForTruth) && (types & kForFloat)) {
        entry.truth[kF32] = detail::block<F, float, float, boolean>;
        entry.truth[kF16] = detail::block<F, float, f16, boolean>;
        entry.truth[kBf16] = detail::block<F, float, bf16, boolean>;
    }
    if constexpr (fold && (types & kForFloat))
        entry.folded[kFloat] = detail::folded<F, float, fold>;
    if constexpr (fold && (types & kForDouble))
        entry.folded[kDouble] = detail::folded<F, double, fold>;
    return entry;
}

}  // namespace infini::cpu
