// Long lines, sorted digit by digit. A pass counts the digits of each tile, finds from these where
// each tile's keys go, and moves them there; equal digits keep their order.
#include "kernels/sort/order.h"

namespace infini::cuda {
namespace {

constexpr int kDigitBits = 8, kDigits = 256, kThreads = 256;

std::shared_ptr<const Kernel> compile(const char *file, const Ordering &ordering, Device &device) {
    Source source(file);
    source.type("T", ordering.dtype).type("P", ordering.place_dtype);
    return device.compile(source.constant("kDescending", ordering.descending));
}

}  // namespace

std::unique_ptr<Plan> plan_radix_sort(const Ordering &ordering, Device &device) {
    const int64_t tile = kThreads * (ordering.key_bytes() == 8 ? 8 : 12);
    RadixParams params = {};
    params.from = sort_lines(ordering.from);
    params.to = sort_lines(ordering.to), params.stood = sort_lines(ordering.stood);
    params.lines = ordering.lines(), params.size = ordering.from.size;
    params.first = ordering.first, params.count = ordering.count;
    params.tiles = int32_t(divide_up(params.size, tile));

    const int passes = int(divide_up(ordering.key_bits(), kDigitBits));
    const auto count = compile("sort/radix_count.cuh", ordering, device);
    const auto offsets = compile("sort/radix_offsets.cuh", ordering, device);
    const auto scatter = compile("sort/radix_scatter.cuh", ordering, device);

    size_t bytes = 0;
    EntryRoom rooms[2];
    for (int i = 0; i < 2 && i < passes - 1; ++i)
        rooms[i] = EntryRoom(ordering, params.size, bytes);
    const size_t counts = bytes;
    bytes += size_t(round_up(params.lines * kDigits * params.tiles * 4, 256));
    const size_t totals = bytes;
    bytes += size_t(params.lines * kDigits * 4);

    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        RadixParams p = params;
        p.values = a.pointer<void>(0), p.places = a.pointer<void>(1), p.x = a.pointer<void>(2);
        p.counts = reinterpret_cast<uint32_t *>(a.workspace() + counts);
        p.totals = reinterpret_cast<uint32_t *>(a.workspace() + totals);
        for (int i = 0; i < passes; ++i) {
            p.shift = i * kDigitBits, p.is_first = i == 0, p.is_last = i == passes - 1;
            if (i > 0) p.in = rooms[(i - 1) % 2].at(a.workspace());
            if (i < passes - 1) p.out = rooms[i % 2].at(a.workspace());
            INFINI_CUDA_TRY(count->launch(stream, p.lines * p.tiles, kThreads, p));
            INFINI_CUDA_TRY(offsets->launch(stream, p.lines * kDigits, kThreads, p));
            INFINI_CUDA_TRY(scatter->launch(stream, p.lines * p.tiles, kThreads, p));
        }
        return infinirtSuccess;
    };
    return make_plan(run, bytes);
}

}  // namespace infini::cuda
