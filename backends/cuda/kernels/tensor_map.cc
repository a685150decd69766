#include "tensor_map.h"

#include "libraries.h"

namespace infini::cuda {
namespace {

// cuTensorMapEncodeTiled.
using Encode = int (*)(void *map, int type, uint32_t rank, void *memory, const uint64_t *sizes,
                       const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                       int interleave, int swizzle, int promotion, int fill);

Encode encoder() {
    static const auto encode = function<Encode>(Part::kDriver, "TensorMapEncodeTiled");
    return encode;
}

}  // namespace

bool MappedTensor::can_map(size_t element_bytes) const {
    if (element_bytes != 2 || !encoder() || box[0] != 64) return false;
    for (int i = 0; i < 4; ++i)
        if (size[i] <= 0 || size[i] > int64_t(1) << 31 || box[i] <= 0 || box[i] > 256) return false;
    for (int i = 1; i < 4; ++i) {
        if (size[i] == 1) continue;
        if (stride[i] <= 0 || stride[i] % 8 != 0 || stride[i] >= int64_t(1) << 38) return false;
    }
    return true;
}

bool make_map(TensorMap &map, const MappedTensor &t, const void *memory) {
    constexpr int kWords = 1;  // any 16-bit type
    constexpr int kSwizzle128 = 3, kPromote256 = 3;
    uint64_t sizes[4], strides[3];
    uint32_t box[4], steps[4] = {1, 1, 1, 1};
    for (int i = 0; i < 4; ++i) sizes[i] = uint64_t(t.size[i]), box[i] = uint32_t(t.box[i]);
    // The stride of a dimension of size 1 has no effect, but the driver checks it.
    for (int i = 1; i < 4; ++i) strides[i - 1] = t.size[i] == 1 ? 16 : uint64_t(t.stride[i] * 2);
    return encoder()(&map, kWords, 4, const_cast<void *>(memory), sizes, strides, box, steps, 0,
                     kSwizzle128, kPromote256, 0) == 0;
}

}  // namespace infini::cuda
