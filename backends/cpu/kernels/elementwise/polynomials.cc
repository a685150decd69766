// Orthogonal polynomials by their recurrences, with one step per degree up to the highest in a
// vector. Chebyshev polynomials of degrees above 8 use circular and hyperbolic functions.
#include "elementwise/pairs.h"

namespace infini::cpu {
namespace {

enum Kind {
    kT,
    kU,
    kV,
    kW,
    kHermite,
    kHermiteE,
    kLaguerre,
    kLegendre,
    kShifted,
    kKinds = kShifted + 4
};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr bool is_chebyshev(int kind) { return kind <= kW; }

template <int kind>
INFINI_SIMD F64 degree_one(F64 x) {
    if constexpr (kind == kT || kind == kHermiteE || kind == kLegendre) return x;
    if constexpr (kind == kU || kind == kHermite) return x + x;
    if constexpr (kind == kV) return x + x - 1.0;
    if constexpr (kind == kW) return x + x + 1.0;
    return 1.0 - x;
}

// Computes degree k + 1 from degrees k and k - 1.
template <int kind>
INFINI_SIMD F64 next_degree(F64 x, int64_t k, F64 last, F64 before) {
    const double n = double(k);
    if constexpr (is_chebyshev(kind)) return (x + x) * last - before;
    if constexpr (kind == kHermite) return (x * last - before * n) * 2.0;
    if constexpr (kind == kHermiteE) return x * last - before * n;
    const double inverse = 1.0 / (n + 1);
    if constexpr (kind == kLaguerre) return (((2 * n + 1) - x) * last - before * n) * inverse;
    return (x * last * (2 * n + 1) - before * n) * inverse;
}

// Degree n for y >= 0: f((n + shift) a) / f(shift a) with f = cos or sin and y = cos a, or
// hyperbolic.
template <int kind>
INFINI_SIMD F64 by_angle(F64 y, F64 n) {
    constexpr double shift = kind == kT ? 0.0 : kind == kU ? 1.0 : 0.5;
    const F64 one = broadcast<F64>(1), beyond = maximum(F64(y - 1.0), F64{});
    const F64 circular = acos(minimum(y, one));
    const F64 hyperbolic = log1p(F64(beyond + sqrt(F64(beyond * (beyond + 2.0)))));
    const F64 times = n + shift;
    F64 inside, outside;
    if constexpr (kind == kT || kind == kV) {
        inside = cos(F64(times * circular)), outside = cosh(F64(times * hyperbolic));
        if constexpr (kind == kV) {
            inside = inside / cos(F64(circular * shift));
            outside = outside / cosh(F64(hyperbolic * shift));
        }
    } else {
        inside = sin(F64(times * circular)) / sin(F64(circular * shift));
        outside = sinh(F64(times * hyperbolic)) / sinh(F64(hyperbolic * shift));
    }
    F64 made = select(y < one, inside, outside);
    if constexpr (kind == kU) made = select(y == one, n + 1.0, made);
    if constexpr (kind == kW) made = select(y == one, n * 2.0 + 1.0, made);
    return made;
}

// By symmetry, values at x < 0 are those at -x up to sign; the third and fourth kinds are mirror
// images of each other.
template <int kind>
[[gnu::noinline]] F64 of_high_degree(F64 x, F64 n) {
    constexpr int mirror = kind == kV ? kW : kind == kW ? kV : kind;
    const F64 y = absolute(x);
    const F64 made = by_angle<kind>(y, n);
    const F64 mirrored = mirror == kind ? made : by_angle<mirror>(y, n);
    const F64 half = n * 0.5;
    const auto odd = trunc(half) != half;
    return select(x < F64{}, select(odd, -mirrored, mirrored), made);
}

template <int kind, int most>
INFINI_SIMD F64 polynomial_of(F64 x, F64 degree) {
    const F64 n = trunc(degree), one = broadcast<F64>(1);
    const auto by_steps = (n >= F64{}) & (n <= broadcast<F64>(most));
    const int64_t steps = int64_t(reduce_max(F64(select(by_steps, n, F64{}))));
    F64 before = one, last = degree_one<kind>(x);
    F64 made = select(n >= one, last, before);
    for (int64_t k = 1; k < steps; ++k) {
        const F64 next = next_degree<kind>(x, k, last, before);
        before = last, last = next;
        made = select(n > broadcast<F64>(double(k)), last, made);
    }
    const auto below = n < F64{};
    if (!all(decltype(below)(by_steps | below))) {
        F64 other = broadcast<F64>(kNan);
        if constexpr (is_chebyshev(kind)) other = of_high_degree<kind>(x, n);
        made = select(by_steps, made, other);
    }
    return select(below, F64{}, made);
}

template <int kind, int most, bool shifted = false>
void compute(const void *const *in, const ptrdiff_t *step, void *const *out, size_t n) {
    each_piece<256>(in, step, out, n,
                    [](const double *x, const double *degree, double *y, size_t count) {
                        for (size_t i = 0; i < count; i += kWidth<double>) {
                            const F64 at = shifted ? load(x + i) * 2.0 - 1.0 : load(x + i);
                            store(y + i, polynomial_of<kind, most>(at, load(degree + i)));
                        }
                    });
}

// As in torch, Hermite polynomials of degrees above these are NaN: their coefficients overflow the
// type. Other kinds are limited because the recurrence takes one step per degree.
constexpr int kSingle = 128, kDouble = 512, kMost = 1 << 15, kExact = 8;

}  // namespace

std::unique_ptr<Plan> plan_polynomial(const Operation &operation) {
    const bool single = operation.tensor(0).dtype == INFINI_DTYPE_F32;
    static constexpr BlockFunction kFunctions[] = {
        compute<kT, kExact>,        compute<kU, kExact>,        compute<kV, kExact>,
        compute<kW, kExact>,        compute<kHermite, kDouble>, compute<kHermiteE, kDouble>,
        compute<kLaguerre, kMost>,  compute<kLegendre, kMost>,  compute<kT, kExact, true>,
        compute<kU, kExact, true>,  compute<kV, kExact, true>,  compute<kW, kExact, true>,
        compute<kHermite, kSingle>, compute<kHermiteE, kSingle>};
    int64_t kind = operation.integer(0);
    if (single && (kind == kHermite || kind == kHermiteE)) kind += kKinds - kHermite;
    return plan_pairs(operation, kFunctions[kind], 60);
}

}  // namespace infini::cpu
