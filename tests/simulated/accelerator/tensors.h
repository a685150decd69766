// Tensors of a simulated operator library on the host: elements by position, whatever the strides.
#pragma once

#include <numeric>
#include <vector>

#include "backends/null/storage.h"
#include "core.h"

namespace simulated {

// A tensor in memory of a device. Positions count as in a contiguous tensor.
struct Strided {
    void *data = nullptr;
    int dtype = 0;  // infiniDtype_t
    std::vector<int64_t> size, stride;

    int64_t count() const {
        return std::accumulate(size.begin(), size.end(), int64_t(1), std::multiplies<>());
    }
    int64_t last() const { return size.empty() ? 1 : size.back(); }
    size_t element() const { return infiniSizeOf(infiniDtype_t(dtype)); }
    int64_t offset(int64_t position) const {
        int64_t sum = 0;
        for (size_t i = size.size(); i-- > 0;) {
            sum += position % size[i] * stride[i];
            position /= size[i];
        }
        return sum;
    }
    // The extent of its elements, for the memory check.
    size_t extent() const {
        int64_t last = 0;
        for (size_t i = 0; i < size.size(); ++i) last += (size[i] - 1) * stride[i];
        return size_t(last + 1) * element();
    }
};

// The elements as doubles, on the host. Empty, with a report, if they are not in device memory.
using Numbers = std::vector<double>;

inline Numbers read(const Strided &t, int device) {
    const char *bytes = t.count() ? bytes_of(t.data, t.extent(), device) : nullptr;
    Numbers numbers;
    if (!bytes) return numbers;
    const auto storage = infini::plain::storage_of<double>(t.dtype);
    for (int64_t i = 0; i < t.count(); ++i)
        numbers.push_back(storage.load(bytes + t.offset(i) * int64_t(t.element())));
    return numbers;
}

inline bool write(const Strided &t, const Numbers &numbers, int device) {
    char *bytes = t.count() ? bytes_of(t.data, t.extent(), device) : nullptr;
    if (!bytes || int64_t(numbers.size()) != t.count()) return t.count() == 0;
    const auto storage = infini::plain::storage_of<double>(t.dtype);
    for (int64_t i = 0; i < t.count(); ++i)
        storage.store(bytes + t.offset(i) * int64_t(t.element()), numbers[size_t(i)]);
    return true;
}

// The position in `from`, whose dimensions may be 1, for a position in `to`.
inline int64_t broadcast(const Strided &to, const Strided &from, int64_t position) {
    int64_t at = 0, step = 1;
    for (size_t i = 0; i < from.size.size(); ++i) {
        const size_t d = to.size.size() - 1 - i, f = from.size.size() - 1 - i;
        const int64_t index = position % to.size[d];
        position /= to.size[d];
        at += (from.size[f] == 1 ? 0 : index) * step;
        step *= from.size[f];
    }
    return at;
}

}  // namespace simulated
