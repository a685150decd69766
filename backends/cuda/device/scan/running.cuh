// What runs along a line: a state, how an element begins one, how two that follow each other become
// one, and what is written, of elements of type T as R. The host says which one: `using Running =
// RunningSum<T, R>;`.
#pragma once

#include "scan_params.h"

namespace infini {

// Floats of up to 16 bits add up in F32, others in F64.
template <class T, class R>
struct RunningSum {
    using State = Choose<kIsFloat<T>, Choose<sizeof(T) <= 2, float, double>, uint64_t>;
    static INFINI_DEVICE State identity() { return State(0); }
    static INFINI_DEVICE State begin(T x, int64_t) {
        if constexpr (kIsFloat<T>)
            return convert<State>(x);
        else
            return State(convert<int64_t>(x));  // and wraps
    }
    static INFINI_DEVICE State combine(State a, State b) { return a + b; }
    static INFINI_DEVICE R value(State a) {
        if constexpr (kIsFloat<T>)
            return convert<R>(a);
        else
            return R(a);
    }
    static INFINI_DEVICE int64_t place(State) { return 0; }
};

// A product of floats as a fraction and an exponent. Otherwise the product of a part of a line
// could leave the range where those of the line's beginnings do not.
struct Scaled {
    double fraction;  // 1 <= |fraction| < 2, or 0, infinite, NaN
    int64_t exponent;

    static INFINI_DEVICE double power_of_two(int64_t e) {
        return bit_cast<double>(uint64_t(e + 1023) << 52);
    }
    // Of a number that is not too small for a whole fraction.
    static INFINI_DEVICE Scaled of(double x, int64_t exponent) {
        const uint64_t bits = bit_cast<uint64_t>(x);
        const int power = int(bits >> 52 & 0x7ff);
        if (power == 0 || power == 0x7ff) return {x, 0};
        return {bit_cast<double>((bits & 0x800fffffffffffff) | 0x3ff0000000000000),
                exponent + power - 1023};
    }
};

template <class T, class R, bool = kIsFloat<T>>
struct RunningProduct {
    using State = Scaled;
    static INFINI_DEVICE State identity() { return {1.0, 0}; }
    static INFINI_DEVICE State begin(T x, int64_t) {
        const double value = convert<double>(x);
        const bool tiny = value < 0x1p-1000 && value > -0x1p-1000;
        return tiny ? Scaled::of(value * 0x1p100, -100) : Scaled::of(value, 0);
    }
    static INFINI_DEVICE State combine(State a, State b) {
        return Scaled::of(a.fraction * b.fraction, a.exponent + b.exponent);
    }
    static INFINI_DEVICE R value(State a) {
        // Two factors, as powers of two beyond the range may be needed; only the second one rounds.
        constexpr int64_t kMost = 2040;
        const int64_t e = a.exponent < kMost ? a.exponent > -kMost ? a.exponent : -kMost : kMost;
        return convert<R>(a.fraction * Scaled::power_of_two(e / 2) *
                          Scaled::power_of_two(e - e / 2));
    }
    static INFINI_DEVICE int64_t place(State) { return 0; }
};
template <class T, class R>
struct RunningProduct<T, R, false> {
    using State = uint64_t;
    static INFINI_DEVICE State identity() { return 1; }
    static INFINI_DEVICE State begin(T x, int64_t) { return State(convert<int64_t>(x)); }
    static INFINI_DEVICE State combine(State a, State b) { return a * b; }
    static INFINI_DEVICE R value(State a) { return R(a); }
    static INFINI_DEVICE int64_t place(State) { return 0; }
};

// The extreme so far and where it stood, the last of equal ones; a NaN wins.
template <class T, class R, bool least>
struct RunningExtreme {
    using C = Choose<kSame<T, double>, double,
                     Choose<kIsFloat<T>, float, Choose<kSame<T, boolean>, int32_t, T>>>;
    struct alignas(16) State {
        T held;
        int64_t at;  // -1: nowhere
    };
    static INFINI_DEVICE State identity() { return {T{}, -1}; }
    static INFINI_DEVICE State begin(T x, int64_t at) { return {x, at}; }
    static INFINI_DEVICE State combine(State a, State b) {
        const C x = convert<C>(b.held), best = convert<C>(a.held);
        const bool reaches = (least ? x <= best : x >= best) || x != x;
        return b.at >= 0 && (a.at < 0 || reaches) ? b : a;
    }
    static INFINI_DEVICE R value(State a) { return a.held; }
    static INFINI_DEVICE int64_t place(State a) { return a.at; }
};

// The logarithm of a sum of exponentials, as the greatest element and the sum relative to it, so
// that nothing overflows.
template <class T, class R>
struct RunningLogSum {
    using C = Choose<kSame<T, double>, double, float>;
    struct State {
        C greatest, sum;
    };
    static INFINI_DEVICE State identity() { return {-infinity<C>(), C(0)}; }
    static INFINI_DEVICE State begin(T x, int64_t) {
        const C value = convert<C>(x);
        if (value != value) return {-infinity<C>(), value};
        return {value, C(1)};
    }
    static INFINI_DEVICE State combine(State a, State b) {
        // Equal ones, infinities too, have no distance.
        const C distance = a.greatest == b.greatest ? C(0) : b.greatest - a.greatest;
        const C scale = exp(distance > 0 ? -distance : distance);
        if (distance > 0) return {b.greatest, a.sum * scale + b.sum};
        return {a.greatest, a.sum + b.sum * scale};
    }
    static INFINI_DEVICE R value(State a) {
        return convert<R>(a.sum == 0 ? a.greatest : a.greatest + log(a.sum));
    }
    static INFINI_DEVICE int64_t place(State) { return 0; }
};

}  // namespace infini
