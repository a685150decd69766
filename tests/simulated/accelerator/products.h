// Matrix products on the host, for the simulated operator libraries.
#pragma once

#include <vector>

#include "backends/null/storage.h"
#include "core.h"

namespace simulated {

// A matrix, or a batch of them, in memory of a device.
struct Matrices {
    void *data;
    int dtype;  // infiniDtype_t
    int64_t batch, rows, columns;
    int64_t batch_stride, row_stride, column_stride;  // in elements

    // Its bytes on the host; null, with a report, if any of it is not device memory.
    char *bytes(int device) const {
        if (batch * rows * columns == 0) return static_cast<char *>(data);
        const int64_t last =
            (batch - 1) * batch_stride + (rows - 1) * row_stride + (columns - 1) * column_stride;
        return bytes_of(data, size_t(last + 1) * infiniSizeOf(infiniDtype_t(dtype)), device);
    }
    int64_t at(int64_t i, int64_t row, int64_t column) const {
        return (i * batch_stride + row * row_stride + column * column_stride) *
               int64_t(infiniSizeOf(infiniDtype_t(dtype)));
    }
};

// c = alpha * a @ b + beta * c. As on hardware, NaNs in c remain if beta is 0.
inline int multiply(const Matrices &c, const Matrices &a, const Matrices &b, double alpha,
                    double beta, bool reads_c, int device, int failure) {
    char *out = c.bytes(device), *left = a.bytes(device), *right = b.bytes(device);
    if (!out || !left || !right) return failure;
    const auto of_c = infini::plain::storage_of<double>(c.dtype);
    const auto of_a = infini::plain::storage_of<double>(a.dtype);
    const auto of_b = infini::plain::storage_of<double>(b.dtype);
    for (int64_t i = 0; i < c.batch; ++i)
        for (int64_t y = 0; y < c.rows; ++y)
            for (int64_t x = 0; x < c.columns; ++x) {
                double sum = 0;
                for (int64_t k = 0; k < a.columns; ++k)
                    sum += of_a.load(left + a.at(i, y, k)) * of_b.load(right + b.at(i, k, x));
                double value = alpha * sum;
                if (reads_c) value += beta * of_c.load(out + c.at(i, y, x));
                of_c.store(out + c.at(i, y, x), value);
            }
    return 0;
}

}  // namespace simulated
