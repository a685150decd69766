// random_uniform, random_normal and random_integers. Each element has its own words of the
// counter's sequence, so that neither threads nor strides change the results.
#include <algorithm>
#include <cmath>

#include "convert.h"
#include "functions.h"
#include "index/offsets.h"
#include "kernel.h"
#include "random/philox.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kPiece = 512;  // elements generated together

// 64-bit words in the memory order of the sequence: the second word is the upper half.
uint64_t wide_word(const uint32_t *words) { return words[0] | uint64_t(words[1]) << 32; }

// Fills a tensor chunk by chunk: make(values, words, n) generates n elements, from words for a
// multiple of 4 elements.
template <class C, class T, int kWords, class Make>
void fill(T *data, const Offsets &at, uint64_t seed, uint64_t offset, const Make &make) {
    const int64_t count = at.count(), pieces = (count + kPiece - 1) / kPiece;
    parallel_for(size_t(pieces), 4, [&](size_t first, size_t last) {
        alignas(64) uint32_t words[kPiece * kWords];
        alignas(64) C values[kPiece];
        for (int64_t piece = int64_t(first); piece < int64_t(last); ++piece) {
            const int64_t begin = piece * kPiece, n = std::min(kPiece, count - begin);
            const uint64_t block = offset + uint64_t(begin) * kWords / 4;
            philox(words, seed, block, size_t(n * kWords + 3) / 4);
            make(values, words, n);
            if (at.even())
                store_strided(data + begin * at.step(), values, size_t(n), at.step());
            else
                for (int64_t i = 0; i < n; ++i) store_element(data[at(begin + i)], values[i]);
        }
    });
}

template <class T>
constexpr int kDigits = std::is_same_v<T, f16>     ? 11
                        : std::is_same_v<T, bf16>  ? 8
                        : std::is_same_v<T, float> ? 24
                                                   : 53;

// The topmost bits of word i, as a number in [0, 1).
template <int kTop, class C>
C fraction(const uint32_t *words, int64_t i) {
    if constexpr (kTop > 32)
        return C(int64_t(wide_word(words + 2 * i) >> (64 - kTop))) * C(0x1p-53);
    else
        return C(int32_t(words[i] >> (32 - kTop))) * (C(1) / C(int32_t(1) << kTop));
}

template <class T>
std::unique_ptr<Plan> plan_uniform(const Offsets &at) {
    constexpr int kTop = kDigits<T>;
    return make_plan([=](const Arguments &a) {
        const double low = a.number(2), span = a.number(3) - low;
        fill<double, T, (kTop > 32 ? 2 : 1)>(
            a.pointer<T>(0), at, uint64_t(a.integer(0)), uint64_t(a.integer(1)),
            [=](double *values, const uint32_t *words, int64_t n) {
                for (int64_t i = 0; i < n; ++i) values[i] = span * fraction<kTop, double>(words, i);
                // Prevents a fused multiply-add, which would round differently.
                asm volatile("" : : "r"(values) : "memory");
                for (int64_t i = 0; i < n; ++i) values[i] += low;
            });
    });
}

// Box-Muller: two words give two independent numbers.
template <class T>
std::unique_ptr<Plan> plan_normal(const Offsets &at) {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    using V = Vec<C>;
    constexpr int kTop = kDigits<C>;
    return make_plan([=](const Arguments &a) {
        const C mean = C(a.number(2)), std = C(a.number(3));
        auto make = [=](C *values, const uint32_t *words, int64_t n) {
            constexpr C kUnit = kTop > 32 ? C(0x1p-53) : C(0x1p-24);
            constexpr int64_t kStep = int64_t(kWidth<C>);
            alignas(64) C u[kPiece / 2], v[kPiece / 2];
            const int64_t pairs = (n + 1) / 2;
            for (int64_t i = 0; i < pairs; ++i) {
                u[i] = fraction<kTop, C>(words, 2 * i) + kUnit;
                v[i] = fraction<kTop, C>(words, 2 * i + 1);
            }
            for (int64_t i = pairs; i % kStep; ++i) u[i] = v[i] = C(1);
            for (int64_t i = 0; i < pairs; i += kStep) {
                const V radius = sqrt(V(log(load<V>(u + i)) * C(-2))) * std;
                const V angle = load<V>(v + i) * C(6.283185307179586477);
                store(u + i, V(radius * cos(angle) + mean));
                store(v + i, V(radius * sin(angle) + mean));
            }
            for (int64_t i = 0; i < pairs; ++i) values[2 * i] = u[i], values[2 * i + 1] = v[i];
        };
        fill<C, T, (kTop > 32 ? 2 : 1)>(a.pointer<T>(0), at, uint64_t(a.integer(0)),
                                        uint64_t(a.integer(1)), make);
    });
}

// The upper half of the 128-bit product.
uint64_t upper_product(uint64_t a, uint64_t b) {
    using Product = unsigned __int128;
    return uint64_t(Product(a) * b >> 64);
}

template <class T>
std::unique_ptr<Plan> plan_integers(const Offsets &at) {
    return make_plan([=](const Arguments &a) {
        const uint64_t low = uint64_t(a.integer(2)), span = uint64_t(a.integer(3)) - low;
        fill<int64_t, T, 2>(
            a.pointer<T>(0), at, uint64_t(a.integer(0)), uint64_t(a.integer(1)),
            [=](int64_t *values, const uint32_t *words, int64_t n) {
                for (int64_t i = 0; i < n; ++i)
                    values[i] = int64_t(low + upper_product(wide_word(words + 2 * i), span));
            });
    });
}

std::unique_ptr<Plan> plan_random(const Operation &operation) {
    const Offsets at(operation.tensor(0), 0, operation.tensor(0).ndim);
    const bool uniform = operation.is("random_uniform"), normal = operation.is("random_normal");
    std::unique_ptr<Plan> plan;
    visit_dtype(operation.tensor(0).dtype, [&]<class T>(Type<T>) {
        if constexpr (kIsFloat<T> && !std::is_same_v<T, f8>)
            if (uniform || normal) plan = uniform ? plan_uniform<T>(at) : plan_normal<T>(at);
        if constexpr (!std::is_same_v<T, f8>)
            if (!uniform && !normal) plan = plan_integers<T>(at);
    });
    return plan;
}

INFINI_KERNEL("random_fill", plan_random);

}  // namespace
}  // namespace infini::cpu
