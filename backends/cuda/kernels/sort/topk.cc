// topk and kthvalue: the first entries of lines along a dimension. Long lines are split into
// chunks, of which each block selects the first entries; this is repeated until one block can sort
// the rest. If a large fraction of a line is requested, the whole line is sorted.
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/sort/order.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

constexpr int64_t kMostWanted = 1024;

void refuse_long(int64_t size) {
    if (size > std::numeric_limits<int32_t>::max()) refuse_shape("lines of 2^31 elements or more");
}

// One round of selection.
struct Round {
    std::shared_ptr<const Kernel> kernel;
    SelectParams params = {};
    EntryRoom in, out;
    bool vectors = false;
};

std::unique_ptr<Plan> plan_select(const Ordering &ordering, Device &device) {
    const int64_t wanted = ordering.first + ordering.count, lines = ordering.lines();
    const int64_t most = 32768 / ordering.key_bytes();  // entries per chunk
    std::vector<Round> rounds;
    size_t bytes = 0;
    int64_t size = ordering.from.size;
    const int64_t tile = std::min(kTileEntries, most_of_block(ordering, device));
    while (size > tile) {
        Round round;
        const bool entries = !rounds.empty();
        Source source("sort/select.cuh");
        source.type("T", ordering.dtype).constant("kDescending", ordering.descending);
        round.kernel = device.compile(source.constant("kEntries", entries));
        SelectParams &p = round.params;
        p.from = sort_lines(ordering.from), p.lines = lines, p.size = size;
        p.count = int32_t(wanted);
        // Chunks of equal size, in whole vectors, that do not increase the work of the next round.
        p.pieces = int32_t(divide_up(size, most));
        p.piece = int32_t(std::min(most, round_up(divide_up(size, p.pieces), 64)));
        p.pieces = int32_t(divide_up(size, p.piece));
        if (entries) round.in = rounds.back().out;
        const int64_t last = size - int64_t(p.pieces - 1) * p.piece;
        size = (p.pieces - 1) * wanted + std::min(wanted, last);
        round.out = EntryRoom(ordering, size, bytes);
        round.vectors = !entries && ordering.from.aligned(dtype_bytes(ordering.dtype), 16);
        rounds.push_back(round);
    }
    const TileSort sort(ordering, device, size, rounds.empty() ? nullptr : &rounds.back().out);
    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        for (const Round &round : rounds) {
            SelectParams p = round.params;
            p.x = a.pointer<void>(2);
            p.in = round.in.at(a.workspace()), p.out = round.out.at(a.workspace());
            p.vector = round.vectors && is_aligned(p.x, 16);
            INFINI_CUDA_TRY(round.kernel->launch(stream, p.lines * p.pieces, 512, p));
        }
        return sort.run(a, stream);
    };
    return make_plan(run, bytes);
}

std::unique_ptr<Plan> plan_first(const Ordering &ordering, Device &device) {
    const int64_t wanted = ordering.first + ordering.count;
    return wanted <= kMostWanted ? plan_select(ordering, device)
                                 : plan_sort_lines(ordering, device);
}

std::unique_ptr<Plan> plan_topk(const Operation &operation, Device &device) {
    const Tensor values = operation.tensor(0), indices = operation.tensor(1);
    const Tensor input = operation.tensor(2);
    const int64_t k = operation.integer(0);
    const int dim = int(operation.integer(1));
    for (int i = 0; i < input.ndim; ++i) {
        const int64_t expected = i == dim ? k : input.shape[i];
        if (values.shape[i] != expected || indices.shape[i] != expected)
            refuse_shape("topk: an output does not have the input's sizes with k along dim");
    }
    const Ordering ordering = {input.dtype,
                               indices.dtype,
                               operation.integer(2) != 0,
                               Lines(input, dim),
                               Lines(values, dim),
                               Lines(indices, dim),
                               0,
                               k};
    refuse_long(ordering.from.size);
    if (values.numel() == 0) return make_empty_plan();
    return plan_first(ordering, device);
}

std::unique_ptr<Plan> plan_kthvalue(const Operation &operation, Device &device) {
    const Tensor values = operation.tensor(0), indices = operation.tensor(1);
    const Tensor input = operation.tensor(2);
    const int64_t k = operation.integer(0);
    Ordering ordering = {};
    ordering.dtype = input.dtype, ordering.place_dtype = indices.dtype;
    ordering.from = Lines(input, int(operation.integer(1)));
    refuse_long(ordering.from.size);
    const int64_t size = ordering.from.size;
    if (k < 1 || k > size) refuse_parameter("kthvalue: k is not in 1 .. the size along dim");
    // Searches from the nearer end. The outputs are dense.
    ordering.descending = k - 1 > size / 2;
    ordering.first = ordering.descending ? size - k : k - 1;
    ordering.count = 1;
    ordering.to.offsets.add(ordering.lines(), 1);
    ordering.stood = ordering.to;
    if (values.numel() == 0) return make_empty_plan();
    return plan_first(ordering, device);
}

std::unique_ptr<Plan> plan_largest(const Operation &operation, Device &device) {
    return operation.is("kthvalue") ? plan_kthvalue(operation, device)
                                    : plan_topk(operation, device);
}

INFINI_CUDA_KERNEL("topk", plan_largest);

}  // namespace
}  // namespace infini::cuda
