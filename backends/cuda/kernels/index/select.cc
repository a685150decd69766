// argwhere and masked_select: the size of the result depends on the data. The result is allocated
// here, so the host waits for the count: chunks are counted, then written in parallel.
#include "device/index/select.cuh"

#include <cstdlib>
#include <new>

#include "kernels/dims.h"
#include "kernels/index/grouping.h"

namespace infini::cuda {
namespace {

constexpr int64_t kPiece = 4096;  // elements, as in select.cuh

struct Selecting {
    SelectParams params = {};
    int64_t pieces = 0;
    RunningSum sum;
    std::shared_ptr<const Kernel> count, write;

    Selecting(Device &device, const Tensor &given, const Tensor &tested, uint64_t low,
              uint64_t high, bool coordinates) {
        Dims<2> dims;
        for (int d = 0; d < given.ndim; ++d) {
            dims.add(given.shape[d], given.strides[d], tested.strides[d]);
            params.size[d] = given.shape[d];
        }
        params.places = dims.places(), params.ndim = given.ndim;
        params.low = low, params.high = high;
        pieces = divide_up(params.places.count, kPiece);
        if (pieces == 0) return;
        sum = RunningSum(device, sizeof(uint64_t));
        const char *mask = bytes_type(dtype_bytes(tested.dtype));
        Source writing("index/select.cuh:write");
        writing.type("M", mask).type("E", bytes_type(dtype_bytes(given.dtype)));
        count = device.compile(Source("index/select.cuh:count").type("M", mask));
        write = device.compile(writing.constant("kCoordinates", coordinates));
    }
    size_t workspace() const { return size_t(pieces + 1) * sizeof(uint64_t); }

    // Counts the selected elements and waits for the result.
    Error find(const Stream &stream, SelectParams &here, uint64_t *total) const {
        *total = 0;
        if (pieces == 0) return infinirtSuccess;
        INFINI_CUDA_TRY(count->launch(stream, pieces, 256, here));
        INFINI_CUDA_TRY(sum.run(stream, here.counts, pieces, here.counts + pieces));
        INFINI_CUDA_TRY(copy_bytes(stream, total, here.counts + pieces, sizeof *total));
        return wait(stream);
    }
};

std::unique_ptr<Plan> plan_argwhere(const Operation &operation, Device &device) {
    const Tensor input = operation.tensor(0);
    // The bits that distinguish a value from 0; the sign of floats is ignored.
    constexpr uint64_t kAll = ~uint64_t(0), kNoSign = kAll >> 1;
    uint64_t low = kAll, high = kAll;
    switch (input.dtype) {
        case INFINI_DTYPE_F8:
            low = 0x7f;
            break;
        case INFINI_DTYPE_F16:
        case INFINI_DTYPE_BF16:
            low = 0x7fff;
            break;
        case INFINI_DTYPE_C16:
            low = 0x7f7f;
            break;
        case INFINI_DTYPE_F32:
            low = 0x7fffffff;
            break;
        case INFINI_DTYPE_C32:
            low = 0x7fff7fff;
            break;
        case INFINI_DTYPE_C64:
            low = 0x7fffffff7fffffff;
            break;
        case INFINI_DTYPE_F64:
        case INFINI_DTYPE_C128:
            low = high = kNoSign;
            break;
    }
    const Selecting selecting(device, input, input, low, high, true);
    auto run = [=](const Arguments &a, const Stream &stream) {
        int64_t **output = a.pointer<int64_t *>(0);
        size_t *count = a.pointer<size_t>(1);
        SelectParams params = selecting.params;
        params.tested = a.pointer<void>(2);
        params.counts = reinterpret_cast<uint64_t *>(a.workspace());
        uint64_t total = 0;
        INFINI_CUDA_TRY(selecting.find(stream, params, &total));
        const size_t entries = size_t(total) * size_t(params.ndim);
        *output = new (std::nothrow) int64_t[entries];
        *count = *output ? size_t(total) : SIZE_MAX;
        if (entries == 0 || !*output) return infinirtSuccess;
        const size_t bytes = entries * sizeof(int64_t);
        INFINI_CUDA_TRY(allocate(stream, bytes, &params.out));
        Error error = selecting.write->launch(stream, selecting.pieces, 256, params);
        if (!error) error = copy_bytes(stream, *output, params.out, bytes);
        if (!error) error = wait(stream);
        const Error released = release(stream, params.out);
        return error ? error : released;
    };
    return make_plan(run, selecting.workspace());
}

std::unique_ptr<Plan> plan_masked_select(const Operation &operation, Device &device) {
    const Tensor input = operation.tensor(0);
    const size_t element = dtype_bytes(input.dtype);
    const Selecting selecting(device, input, operation.tensor(1), 0xff, 0, false);
    auto run = [=](const Arguments &a, const Stream &stream) {
        SelectParams params = selecting.params;
        params.data = a.pointer<void>(0), params.tested = a.pointer<void>(1);
        params.counts = reinterpret_cast<uint64_t *>(a.workspace());
        uint64_t total = 0;
        INFINI_CUDA_TRY(selecting.find(stream, params, &total));
        const size_t bytes = size_t(total) * element;
        INFINI_CUDA_TRY(allocate(stream, bytes ? bytes : 1, &params.out));
        *a.pointer<void *>(2) = params.out;
        *a.pointer<size_t>(3) = size_t(total);
        return total ? selecting.write->launch(stream, selecting.pieces, 256, params)
                     : infinirtSuccess;
    };
    return make_plan(run, selecting.workspace());
}

std::unique_ptr<Plan> plan_select(const Operation &operation, Device &device) {
    return operation.is("argwhere") ? plan_argwhere(operation, device)
                                    : plan_masked_select(operation, device);
}

INFINI_CUDA_KERNEL("masked_select", plan_select);

}  // namespace
}  // namespace infini::cuda
