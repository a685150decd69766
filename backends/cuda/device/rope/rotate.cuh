// Pairs turned by angles, and the rows of tables that hold them.
#pragma once

namespace infini {

template <class T>
using Angle = Choose<kSame<T, double>, double, float>;

// A position that the table does not have uses row 0, so that bad data reads nothing outside it.
template <class P>
INFINI_DEVICE int64_t table_row(P position, int64_t rows) {
    const int64_t row = int64_t(position);
    return row >= 0 && row < rows ? row : 0;
}

template <class C>
INFINI_DEVICE void rotate(C &first, C &second, C sine, C cosine) {
    const C a = first, b = second;
    first = a * cosine - b * sine;
    second = a * sine + b * cosine;
}

}  // namespace infini
