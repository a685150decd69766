// rotmg: the modified Givens rotation of the reference BLAS. Its rescaling loops cannot be
// expressed as a program.
#include <cmath>
#include <utility>

#include "kernel.h"
#include "types.h"

namespace infini::cpu {
namespace {

template <class T>
struct Rotation {
    T flag = -1, h11 = 0, h21 = 0, h12 = 0, h22 = 0;
    T d1, d2, x;

    Rotation(T first, T second, T x1, T y) : d1(first), d2(second), x(x1) {
        const T p1 = d1 * x, p2 = d2 * y, q1 = p1 * x, q2 = p2 * y;
        if (d1 >= 0 && p2 == 0) {
            flag = -2;
            return;
        }
        T u = 0;  // stays 0 when there is no such rotation
        if (d1 >= 0 && std::fabs(q1) > std::fabs(q2)) {
            flag = 0, h11 = 1, h21 = -y / x, h12 = p2 / p1, h22 = 1;
            u = 1 - h12 * h21;
        } else if (d1 >= 0 && q2 >= 0) {
            flag = 1, h11 = p1 / p2, h21 = -1, h12 = 1, h22 = x / y;
            u = 1 + h11 * h22;
            std::swap(d1, d2);
            x = y;
        }
        if (u > 0)
            d1 /= u, d2 /= u, x *= u;
        else
            flag = -1, h11 = h21 = h12 = h22 = d1 = d2 = x = 0;
        rescale(d1, h11, h12, &x);
        rescale(d2, h21, h22, nullptr);
    }

    // Moves factors far from 1 into a row of the matrix, 4096 at a time.
    void rescale(T &d, T &left, T &right, T *vector) {
        while (d != 0 && std::isfinite(d) &&
               !(std::fabs(d) > T(0x1p-24) && std::fabs(d) < T(0x1p24))) {
            const T step = std::fabs(d) <= 1 ? T(4096) : T(1) / 4096;
            d = d * step * step;
            left /= step, right /= step;
            if (vector) *vector /= step;
            flag = -1;
        }
    }
};

template <class T>
void run(int dtype, const Arguments &a, int64_t step) {
    auto get = [&](int i) { return load_as<T>(dtype, a.pointer<void>(i), 0); };
    const Rotation<T> r(get(0), get(1), get(2), get(3));
    auto put = [&](int64_t i, T value) { store_as(dtype, a.pointer<void>(4), i * step, value); };
    put(0, r.flag);
    if (r.flag == -2) return;
    store_as(dtype, a.pointer<void>(0), 0, r.d1);
    store_as(dtype, a.pointer<void>(1), 0, r.d2);
    store_as(dtype, a.pointer<void>(2), 0, r.x);
    if (r.flag != 0) put(1, r.h11), put(4, r.h22);
    if (r.flag != 1) put(2, r.h21), put(3, r.h12);
}

std::unique_ptr<Plan> plan_rotmg(const Operation &operation) {
    const int dtype = operation.tensor(0).dtype;
    const int64_t step = operation.tensor(4).stride(0);
    return make_plan([=](const Arguments &a) {
        if (dtype == INFINI_DTYPE_F64)
            run<double>(dtype, a, step);
        else
            run<float>(dtype, a, step);
    });
}

INFINI_KERNEL("rotmg", plan_rotmg);

}  // namespace
}  // namespace infini::cpu
