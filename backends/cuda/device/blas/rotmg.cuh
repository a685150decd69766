// rotmg: its scalars are in device memory.
#pragma once

#include "divide.h"

namespace infini {

struct RotmgParams {
    void *d1, *d2, *x;
    const void *y;
    void *param;
    int64_t step;  // stride of param
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

// rotmg: the modified Givens rotation of the reference BLAS, by one thread.
namespace infini {

using C = Choose<kSame<T, double>, double, float>;

INFINI_DEVICE C size_of(C x) { return x < 0 ? -x : x; }

struct Rotation {
    C flag = -1, h11 = 0, h21 = 0, h12 = 0, h22 = 0;
    C d1, d2, x;

    INFINI_DEVICE Rotation(C first, C second, C x1, C y) : d1(first), d2(second), x(x1) {
        const C p1 = d1 * x, p2 = d2 * y, q1 = p1 * x, q2 = p2 * y;
        if (d1 >= 0 && p2 == 0) {
            flag = -2;
            return;
        }
        C u = 0;  // remains 0 if there is no such rotation
        if (d1 >= 0 && size_of(q1) > size_of(q2)) {
            flag = 0, h11 = 1, h21 = -y / x, h12 = p2 / p1, h22 = 1;
            u = 1 - h12 * h21;
        } else if (d1 >= 0 && q2 >= 0) {
            flag = 1, h11 = p1 / p2, h21 = -1, h12 = 1, h22 = x / y;
            u = 1 + h11 * h22;
            const C other = d1;
            d1 = d2, d2 = other;
            x = y;
        }
        if (u > 0)
            d1 /= u, d2 /= u, x *= u;
        else
            flag = -1, h11 = h21 = h12 = h22 = d1 = d2 = x = 0;
        C none = 0;
        rescale(d1, h11, h12, x);
        rescale(d2, h21, h22, none);
    }

    // Moves factors that are far from 1 into a row of the matrix, 4096 at a time.
    INFINI_DEVICE void rescale(C &d, C &left, C &right, C &vector) {
        while (d != 0 && size_of(d) < infinity<C>() &&
               !(size_of(d) > C(0x1p-24) && size_of(d) < C(0x1p24))) {
            const C step = size_of(d) <= 1 ? C(4096) : C(1) / 4096;
            d = d * step * step;
            left /= step, right /= step, vector /= step;
            flag = -1;
        }
    }
};

}  // namespace infini

using namespace infini;

INFINI_ENTRY(RotmgParams, 32, 1) {
    if (threadIdx.x != 0) return;
    T *d1 = static_cast<T *>(p.d1), *d2 = static_cast<T *>(p.d2), *x = static_cast<T *>(p.x);
    T *param = static_cast<T *>(p.param);
    const Rotation r(convert<C>(*d1), convert<C>(*d2), convert<C>(*x),
                     convert<C>(*static_cast<const T *>(p.y)));
    param[0] = convert<T>(r.flag);
    if (r.flag == -2) return;
    *d1 = convert<T>(r.d1), *d2 = convert<T>(r.d2), *x = convert<T>(r.x);
    if (r.flag != 0) param[p.step] = convert<T>(r.h11), param[4 * p.step] = convert<T>(r.h22);
    if (r.flag != 1) param[2 * p.step] = convert<T>(r.h21), param[3 * p.step] = convert<T>(r.h12);
}

#endif  // INFINI_DEVICE
