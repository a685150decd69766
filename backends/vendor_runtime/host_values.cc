#include "host_values.h"

#include <cstring>

#include "stream.h"

namespace infini::vendor_runtime {
namespace {

int64_t value_of(const char *at, int dtype) {
    auto load = [&]<class T>(T value) {
        memcpy(&value, at, sizeof value);
        return int64_t(value);
    };
    switch (dtype) {
        case INFINI_DTYPE_I8:
            return load(int8_t());
        case INFINI_DTYPE_U8:
            return load(uint8_t());
        case INFINI_DTYPE_I16:
            return load(int16_t());
        case INFINI_DTYPE_U16:
            return load(uint16_t());
        case INFINI_DTYPE_I32:
            return load(int32_t());
        case INFINI_DTYPE_U32:
            return load(uint32_t());
        default:
            return load(int64_t());
    }
}

}  // namespace

bool read_integers(int device, const Shape &shape, const void *data, std::vector<int64_t> *values) {
    int64_t low = 0, high = 0, count = 1;
    for (int i = 0; i < shape.ndim; ++i) {
        count *= shape.size[i];
        (shape.stride[i] < 0 ? low : high) += (shape.size[i] - 1) * shape.stride[i];
    }
    values->clear();
    if (count == 0) return true;
    const auto size = int64_t(infiniSizeOf(infiniDtype_t(shape.dtype)));
    std::vector<char> bytes(size_t((high - low + 1) * size));
    if (copy_bytes(bytes.data(), -1, static_cast<const char *>(data) + low * size, device,
                   bytes.size()))
        return false;
    for (int64_t position = 0; position < count; ++position) {
        int64_t rest = position, offset = -low;
        for (int i = shape.ndim - 1; i >= 0; --i) {
            offset += rest % shape.size[i] * shape.stride[i];
            rest /= shape.size[i];
        }
        values->push_back(value_of(&bytes[size_t(offset * size)], shape.dtype));
    }
    return true;
}

}  // namespace infini::vendor_runtime
