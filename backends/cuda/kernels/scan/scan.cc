// cumsum, cumprod, cummax, cummin and logcumsumexp. A warp or a block processes a line; if
// neighbouring lines are adjacent in memory, a thread does. Few long lines are split into chunks: a
// first kernel computes the total of each chunk, the second one starts with the total of the
// previous chunks.
#include "device/scan/scan.cuh"

#include <algorithm>

#include "kernels/lines.h"

namespace infini::cuda {
namespace {

constexpr int64_t kScanThreads = 256, kMostPieces = 1024;
constexpr size_t kStateBytes = 16;  // at most

struct Scan {
    Tensor y, places, x;  // places: only for extremes
    int axis = 0;
    std::string running;  // its name in scan.cuh
    bool exclusive = false, reverse = false;
};

struct Schedule {
    ScanParams params = {};
    bool across = false, vectors = false;
    int64_t items = 1;  // per thread at a time, unless it processes a whole line
    int64_t line_threads = kScanThreads, blocks = 0;
    int64_t offsets[3] = {};  // of the tensors' first elements, in scan order

    Schedule(const Scan &scan, const Device &device) {
        const Lines from(scan.x, scan.axis), to(scan.y, scan.axis);
        const Lines stood = scan.places ? Lines(scan.places, scan.axis) : to;
        ScanParams &p = params;
        p.from = from.offsets, p.to = to.offsets, p.stood = stood.offsets;
        p.from_step = from.step, p.to_step = to.step, p.stood_step = stood.step;
        p.lines = from.count(), p.size = from.size;
        if (scan.reverse) {
            int number = 0;
            for (int64_t *step : {&p.to_step, &p.stood_step, &p.from_step}) {
                offsets[number++] = (p.size - 1) * *step;
                *step = -*step;
            }
        }
        // States of extremes also have an index, so only fewer elements fit into registers.
        items = dtype_bytes(scan.x.dtype) == 8 || scan.places ? 4 : 8;
        vectors = !scan.reverse && from.aligned(dtype_bytes(scan.x.dtype), 16) &&
                  to.aligned(dtype_bytes(scan.y.dtype), 16);
        across = p.from_step != 1 && (p.lines >= 64 || p.size <= 8);
        cut(device);
    }

private:
    void cut(const Device &device) {
        ScanParams &p = params;
        int64_t pieces = 1, unit = 1;
        if (across) {
            const int64_t wanted = device.multiprocessors * 1024;
            pieces = std::min(wanted / std::max<int64_t>(p.lines, 1), p.size / 64);
        } else {
            unit = kScanThreads * items;
            const int64_t wanted = device.multiprocessors * 4;
            pieces = std::min(wanted / std::max<int64_t>(p.lines, 1), p.size / (8 * unit));
        }
        pieces = std::clamp<int64_t>(pieces, 1, kMostPieces);
        p.piece = round_up(divide_up(p.size, pieces), unit);
        p.pieces = int32_t(divide_up(p.size, p.piece));
        if (!across && p.pieces == 1 && p.size <= 2 * device.warp * items)
            line_threads = device.warp;
        const int64_t tasks = p.lines * p.pieces;
        blocks = divide_up(across ? tasks : tasks * line_threads, kScanThreads);
    }
};

std::unique_ptr<Plan> plan_scan(const Scan &scan, Device &device) {
    if (scan.x.numel() == 0) return make_empty_plan();
    const Schedule schedule(scan, device);
    const bool sum = scan.running == "RunningSum<T, R>";
    auto compile = [&](bool sums) {
        Source source(schedule.across ? "scan/scan.cuh:across" : "scan/scan.cuh:along");
        source.type("T", scan.x.dtype).type("R", scan.y.dtype);
        source.line("template <class T, class R> struct RunningSum;")
            .line("template <class T, class R, bool> struct RunningProduct;")
            .line("template <class T, class R, bool> struct RunningExtreme;")
            .line("template <class T, class R> struct RunningLogSum;")
            .type("Running", scan.running);
        source.constant("kSums", sums).constant("kPlaces", bool(scan.places));
        if (!schedule.across)
            source.constant("kLineThreads", schedule.line_threads)
                .constant("kItems", schedule.items)
                .constant("kResident", sum           ? 4
                                       : scan.places ? 3
                                                     : 2);
        return device.compile(source.constant("kExclusive", scan.exclusive));
    };
    std::shared_ptr<const Kernel> sums, kernel = compile(false);
    const bool cut = schedule.params.pieces > 1;
    if (cut) sums = compile(true);
    const bool places = bool(scan.places);
    const size_t in_bytes = dtype_bytes(scan.x.dtype), out_bytes = dtype_bytes(scan.y.dtype);
    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        ScanParams p = schedule.params;
        p.y = a.pointer<char>(0) + schedule.offsets[0] * int64_t(out_bytes);
        if (places) p.places = a.pointer<int64_t>(1) + schedule.offsets[1];
        p.x = a.pointer<char>(places ? 2 : 1) + schedule.offsets[2] * int64_t(in_bytes);
        p.parts = a.workspace();
        p.vector = schedule.vectors && is_aligned(p.x, 16) && is_aligned(p.y, 16);
        if (cut) INFINI_CUDA_TRY(sums->launch(stream, schedule.blocks, kScanThreads, p));
        return kernel->launch(stream, schedule.blocks, kScanThreads, p);
    };
    const int64_t parts = cut ? schedule.params.lines * schedule.params.pieces : 0;
    return make_plan(run, size_t(parts) * kStateBytes);
}

template <bool product>
std::unique_ptr<Plan> plan_cumulative(const Operation &operation, Device &device) {
    Scan scan;
    scan.y = operation.tensor(0), scan.x = operation.tensor(1);
    scan.axis = int(operation.integer(0));
    const std::string whole = is_float(scan.x.dtype) ? "true" : "false";
    scan.running = product ? "RunningProduct<T, R, " + whole + ">" : "RunningSum<T, R>";
    return plan_scan(scan, device);
}

template <bool least>
std::unique_ptr<Plan> plan_extremes(const Operation &operation, Device &device) {
    Scan scan;
    scan.y = operation.tensor(0), scan.places = operation.tensor(1);
    scan.x = operation.tensor(2), scan.axis = int(operation.integer(0));
    scan.running = least ? "RunningExtreme<T, R, true>" : "RunningExtreme<T, R, false>";
    return plan_scan(scan, device);
}

std::unique_ptr<Plan> plan_logcumsumexp(const Operation &operation, Device &device) {
    Scan scan;
    scan.y = operation.tensor(0), scan.x = operation.tensor(1);
    scan.axis = int(operation.integer(0));
    scan.exclusive = operation.integer(1) != 0, scan.reverse = operation.integer(2) != 0;
    scan.running = "RunningLogSum<T, R>";
    return plan_scan(scan, device);
}

INFINI_CUDA_KERNEL("logcumsumexp", plan_logcumsumexp);

std::unique_ptr<Plan> plan_sums_or_products(const Operation &operation, Device &device) {
    return operation.is("cumprod") ? plan_cumulative<true>(operation, device)
                                   : plan_cumulative<false>(operation, device);
}

INFINI_CUDA_KERNEL("cumulative", plan_sums_or_products);

std::unique_ptr<Plan> plan_extreme(const Operation &operation, Device &device) {
    return operation.is("cummin") ? plan_extremes<true>(operation, device)
                                  : plan_extremes<false>(operation, device);
}

INFINI_CUDA_KERNEL("cumulative_extremes", plan_extreme);

}  // namespace
}  // namespace infini::cuda
