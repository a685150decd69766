// A row of logits T in the order in which sampling processes it: greatest first, NaN before all
// others, both zeros equal, equal values by index.
#pragma once

#include "random_params.h"

namespace infini {

constexpr int kKeyBits = 8 * int(sizeof(T));
using Key = Choose<sizeof(T) == 8, uint64_t, uint32_t>;
using C = Choose<kSame<T, double>, double, float>;
using Bits = Choose<sizeof(T) == 8, uint64_t, Choose<sizeof(T) == 4, uint32_t, uint16_t>>;

INFINI_DEVICE float exponential(float x) { return expf(x); }
INFINI_DEVICE double exponential(double x) { return exp(x); }

struct Row {
    const T *data;
    int64_t size, step;

    INFINI_DEVICE C value(int64_t i) const { return convert<C>(data[i * step]); }
    // Smaller for elements that come first.
    INFINI_DEVICE Key key(int64_t i) const {
        constexpr Bits kSign = Bits(Bits(1) << (kKeyBits - 1));
        const T x = data[i * step];
        const C value = convert<C>(x);
        const Bits bits = value == 0 ? Bits(0) : bit_cast<Bits>(x);
        const Bits ascending = value != value ? Bits(~Bits(0))
                               : bits & kSign ? Bits(~bits)
                                              : Bits(bits | kSign);
        return Bits(~ascending);
    }
};

// A key and the index of its first occurrence.
struct alignas(16) Best {
    Key key;
    int64_t place;
};
struct Earlier {
    INFINI_DEVICE Best operator()(Best a, Best b) const {
        return a.key < b.key || (a.key == b.key && a.place < b.place) ? a : b;
    }
};

// Weights exp((x - base) / temperature) as integers, so that sums do not depend on the order.
// The greatest weight is 1, so that the sum of a row's weights is less than 2^63.
struct Weights {
    C base, temperature;
    double unit;

    INFINI_DEVICE uint64_t of(C x) const {
        const double weight = double(exponential((x - base) / temperature));
        return weight <= 1 ? uint64_t(weight * unit) : 0;  // NaN has weight 0
    }
};

}  // namespace infini
