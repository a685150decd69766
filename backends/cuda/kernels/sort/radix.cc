// Radix sort of long lines. All digits are counted together; each pass then stably moves every
// tile's keys to their positions.
#include <algorithm>

#include "kernels/sort/order.h"

namespace infini::cuda {
namespace {

constexpr int kDigitBits = 8, kDigits = 256, kRadixThreads = 256;

Source source_of(const char *file, const Ordering &ordering) {
    Source source(file);
    source.type("T", ordering.dtype).type("P", ordering.place_dtype);
    return source.constant("kDescending", ordering.descending);
}

}  // namespace

std::unique_ptr<Plan> plan_radix_sort(const Ordering &ordering, Device &device) {
    // As in radix.cuh: counts of warps, bases, and a tile of entries.
    const auto shared_bytes = [&](int64_t items) {
        return size_t((kRadixThreads / device.warp + 1) * kDigits * 4 + 16 +
                      kRadixThreads * items * (ordering.key_bytes() + 4));
    };
    const int64_t wanted = ordering.key_bytes() == 8 ? 8 : 20;
    const int64_t items = shared_bytes(wanted) <= device.shared_bytes ? wanted : 12;
    const size_t shared = shared_bytes(items);
    RadixParams params = {};
    params.from = sort_lines(ordering.from);
    params.to = sort_lines(ordering.to), params.stood = sort_lines(ordering.stood);
    params.lines = ordering.lines(), params.size = ordering.from.size;
    params.first = ordering.first, params.count = ordering.count;
    params.tiles = int32_t(divide_up(params.size, kRadixThreads * items));
    // As many chunks of a line as fit on the device, if they are not too small.
    const int64_t parts = std::min(divide_up(params.size, 8192),
                                   std::max<int64_t>(1, device.multiprocessors * 4 / params.lines));
    params.part = round_up(divide_up(params.size, parts), 64);
    params.parts = int32_t(divide_up(params.size, params.part));

    const int passes = int(divide_up(ordering.key_bits(), kDigitBits));
    const auto count = device.compile(source_of("sort/radix.cuh:count", ordering));
    const auto starts = device.compile(source_of("sort/radix.cuh:starts", ordering));
    Source source = source_of("sort/radix.cuh:scatter", ordering);
    source.constant("kThreads", kRadixThreads).constant("kItems", items);
    Source last_source = source;
    const auto last = device.compile(last_source.constant("kLast", 1));
    const auto pass = passes > 1 ? device.compile(source.constant("kLast", 0)) : last;

    size_t bytes = 0;
    EntryRoom rooms[2];
    for (int i = 0; i < 2 && i < passes - 1; ++i)
        rooms[i] = EntryRoom(ordering, params.size, bytes);
    const auto room = [&](int64_t words) {
        const size_t begin = bytes;
        bytes += size_t(round_up(words * 4, 256));
        return begin;
    };
    const size_t at_counts = room(params.lines * params.parts * passes * kDigits);
    const size_t at_starts = room(params.lines * passes * kDigits);
    const size_t at_idle = room(params.lines * passes), at_tickets = room(passes);
    size_t at_states[2] = {};
    for (int i = 0; i < 2 && i < passes; ++i)
        at_states[i] = room(params.lines * params.tiles * kDigits);
    const bool vectors = ordering.from.aligned(dtype_bytes(ordering.dtype), 16);

    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        RadixParams p = params;
        p.values = a.pointer<void>(0), p.places = a.pointer<void>(1), p.x = a.pointer<void>(2);
        p.vector = vectors && is_aligned(p.x, 16);
        const auto words = [&](size_t at) {
            return reinterpret_cast<uint32_t *>(a.workspace() + at);
        };
        p.counts = words(at_counts), p.starts = words(at_starts);
        p.idle = words(at_idle), p.tickets = words(at_tickets);
        for (int i = 0; i < 2; ++i)
            p.rooms[i] = rooms[i].at(a.workspace()), p.states[i] = words(at_states[i]);
        INFINI_CUDA_TRY(count->launch(stream, p.lines * p.parts, 512, p));
        INFINI_CUDA_TRY(starts->launch(stream, p.lines * passes, kDigits, p));
        for (p.pass = 0; p.pass < passes; ++p.pass)
            INFINI_CUDA_TRY((p.pass < passes - 1 ? pass : last)
                                ->launch(stream, p.lines * p.tiles, kRadixThreads, p, shared));
        return infinirtSuccess;
    };
    return make_plan(run, bytes);
}

}  // namespace infini::cuda
