#include "device/moe/experts.cuh"

#include <algorithm>

#include "../matmul/product_parts.h"
#include "../matmul/rows.h"
#include "refuse.h"

namespace infini::cuda {

// Applies experts to tokens: pairs of tokens and choices are sorted by expert on the device; their
// rows are multiplied tile by tile, activated, multiplied again, and summed for each token. The
// host never reads the routing.
struct ExpertsShape {
    int dtype = 0;
    int64_t tokens = 0, choices = 0, experts = 0;
    int64_t hidden = 0, wide = 0, inner = 0;  // columns of tokens, after layer 1, after the gate
    int kind = 1;                             // infiniopFusedMoeActivation_t
    bool scale_inside = false;  // the choice's scale is applied after the gate, not in the sum
    bool mxfp4 = false;
    bool separate = false;  // gates, ups and downs are separate matrices, given by pointers
    int64_t positions = 0, labels = 0;  // of moe_align's blocks, if they determine the experts

    int64_t pairs() const { return tokens * choices; }
};

struct ExpertsData {
    void *out;
    const void *in;
    const int *ids;       // [tokens, choices]
    const float *scales;  // [tokens, choices]
    const void *w1 = nullptr, *w2 = nullptr;
    const uint8_t *scales1 = nullptr, *scales2 = nullptr;  // for MXFP4
    const void *bias1 = nullptr, *bias2 = nullptr;         // [experts, wide], [experts, hidden]
    const int *sorted = nullptr, *labels = nullptr, *used = nullptr;  // outputs of moe_align
    // On the device: gates, ups, downs. Or null, and `host_pointers` contains all of them.
    const void *const *gates = nullptr, *const *ups = nullptr, *const *downs = nullptr;
    const void *const *host_pointers = nullptr;
};

namespace {

class Experts final : public Plan {
public:
    using DataOf = ExpertsData (*)(const Arguments &, const ExpertsShape &);

    Experts(const ExpertsShape &shape, Device &device, DataOf data)
        : s(shape), data_of_(data), gate_(s.dtype, s.kind, s.pairs(), s.inner, device) {
        constexpr int64_t kMost = INT32_MAX - 1024;
        if (std::max({s.hidden, s.wide, s.inner, s.experts, s.pairs(), s.positions}) > kMost)
            refuse_shape("more tokens or features than can be counted");
        choose_tile(device);
        compile(device);
        lay_out();
    }

    Error run(const Arguments &arguments, const Stream &stream) const override {
        const ExpertsData d = data_of_(arguments, s);
        char *memory = arguments.workspace();
        const SortPairsParams pairs = sort_params(d, memory);
        Error error = sort(pairs, stream);
        const void *const *gates = d.gates, *const *ups = d.ups, *const *downs = d.downs;
        if (!error && s.separate && d.host_pointers) {
            auto **all = reinterpret_cast<const void **>(memory + pointers_);
            error = store_pointers(all, d.host_pointers, stream);
            gates = all, ups = all + s.experts, downs = ups + s.experts;
        }
        ExpertsParams p{};
        // Matrices known only to the device are assumed to be aligned, like all allocations.
        const void *unaligned = nullptr;
        for (int64_t i = 0; d.host_pointers && i < 3 * s.experts; ++i)
            if (!is_aligned(d.host_pointers[i])) unaligned = d.host_pointers[i];
        p.starts = pairs.starts, p.tiles = pairs.tiles, p.order = pairs.order;
        p.experts = int(s.experts);
        // From tokens to wide rows.
        p.a = d.in, p.choices = int(s.choices), p.k = int(s.hidden), p.c = memory + wide_;
        p.c_row = s.wide, p.weights = s.separate ? unaligned : d.w1, p.scales = d.scales1,
        p.bias = d.bias1;
        p.n = int(s.separate ? s.inner : s.wide), p.pointers = gates;
        if (!error) error = multiply(p, stream);
        if (s.separate) {
            p.c = memory + wide_ + s.inner * element_, p.pointers = ups;
            if (!error) error = multiply(p, stream);
        }
        if (!error)
            error = gate_.run(memory + inner_, memory + wide_, stream,
                              s.scale_inside ? d.scales : nullptr, pairs.order,
                              pairs.starts + s.experts);
        // From inner rows to rows of the result.
        p.a = memory + inner_, p.choices = 0, p.k = int(s.inner), p.c = memory + rows_;
        p.c_row = s.hidden, p.weights = s.separate ? unaligned : d.w2, p.scales = d.scales2,
        p.bias = d.bias2;
        p.n = int(s.hidden), p.pointers = downs;
        if (!error) error = multiply(p, stream);
        const SumPairsParams sum{d.out,         memory + rows_, s.scale_inside ? nullptr : d.scales,
                                 pairs.rows,    s.tokens,       s.hidden,
                                 int(s.choices)};
        if (error) return error;
        const Kernel *add = sum_->get(is_aligned(d.out), error);
        return add ? add->launch(stream, sum_blocks_, 256, sum) : error;
    }

private:
    // Few rows per expert: tiles of minimal height, since reading the weights dominates.
    void choose_tile(const Device &device) {
        const bool halves = s.dtype == INFINI_DTYPE_F16 || s.dtype == INFINI_DTYPE_BF16;
        mma_ = device.has_mma && halves;
        const int64_t average = s.pairs() / std::max<int64_t>(s.experts, 1);
        rows_of_tile_ = !mma_ ? 64 : average <= 8 ? 16 : average < 64 ? 64 : 128;
        columns_ = mma_ ? 128 : 64;
        threads_ = rows_of_tile_ == 16 ? 128 : 256;
        shared_ = mma_ ? std::max<size_t>(4 * 64 * size_t(rows_of_tile_ + columns_),
                                          4 * size_t(rows_of_tile_) * size_t(columns_))
                       : 0;
        tiles_ = s.pairs() / rows_of_tile_ + std::min(s.experts, s.pairs());
    }

    void compile(Device &device) {
        element_ = int64_t(dtype_bytes(s.dtype));
        const int64_t chunk = 16 / element_;
        const bool vector = s.hidden % chunk == 0 && s.inner % chunk == 0;
        Source source("moe/experts.cuh:experts");
        source.type("T", s.dtype).constant("kMxfp4", s.mxfp4);
        source.constant("kRows", rows_of_tile_).constant("kColumns", columns_);
        if (mma_)
            source.constant("kWarpsM", rows_of_tile_ == 16 ? 1 : 2).constant("kWarpsN", 4);
        else
            source.constant("kMicro", 4);
        source.line(mma_ ? "#define INFINI_MMA 1" : "#define INFINI_MMA 0");
        Source other = source;
        kernel_ = std::make_shared<AlignedKernel>(device, source.constant("kVector", vector),
                                                  other.constant("kVector", 0));
        vector_ = vector;
        auto phase = [&](int number) {
            Source sort("moe/experts.cuh:sort");
            return device.compile(sort.constant("kPhase", number));
        };
        at_once_ = std::max(s.pairs(), s.positions) <= 16384;
        if (at_once_) {
            phases_[0] = phase(0);
        } else {
            for (int i = 1; i <= 4; ++i) phases_[i] = phase(i);
        }
        sort_blocks_ = device.blocks_for(std::max(s.pairs(), s.positions), kSortThreads, 4);
        Source sum("moe/experts.cuh:sum");
        const bool wide = s.hidden % chunk == 0;
        sum.type("T", s.dtype);
        Source one_by_one = sum;
        sum_ = std::make_shared<AlignedKernel>(device, sum.constant("kVector", wide),
                                               one_by_one.constant("kVector", 0));
        sum_blocks_ = device.blocks_for(s.tokens * (wide ? s.hidden / chunk : s.hidden), 256);
        if (s.separate) store_ = device.compile(Source("moe/experts.cuh:store"));
    }

    void lay_out() {
        auto take = [&](int64_t bytes) {
            const size_t place = workspace;
            workspace += padded(size_t(bytes));
            return place;
        };
        starts_ = take((s.experts + 1) * 4), tiles_at_ = take((s.experts + 1) * 4);
        cursors_ = take(s.experts * 4), order_ = take(s.pairs() * 4);
        places_ = take(s.pairs() * 4), positions_ = take(s.pairs() * 4);
        pointers_ = take(s.separate ? 3 * s.experts * int64_t(sizeof(void *)) : 0);
        wide_ = take(s.pairs() * s.wide * element_);
        inner_ = take(s.pairs() * s.inner * element_);
        rows_ = take(s.pairs() * s.hidden * element_);
    }

    SortPairsParams sort_params(const ExpertsData &d, char *memory) const {
        auto ints = [&](size_t place) { return reinterpret_cast<int *>(memory + place); };
        SortPairsParams p{};
        p.ids = d.ids, p.pairs = int(s.pairs()), p.experts = int(s.experts);
        p.tile = rows_of_tile_;
        p.sorted = d.sorted, p.labels = d.labels, p.used = d.used;
        p.positions = int(s.positions), p.place = ints(positions_);
        p.labelled = s.labels ? int((s.positions + s.labels - 1) / s.labels) : 1;
        p.labelled = std::max(p.labelled, 1);
        p.starts = ints(starts_), p.tiles = ints(tiles_at_), p.cursors = ints(cursors_);
        p.order = ints(order_), p.rows = ints(places_);
        return p;
    }

    Error sort(const SortPairsParams &p, const Stream &stream) const {
        if (at_once_) return phases_[0]->launch(stream, 1, kSortThreads, p);
        Error error = fill_bytes(stream, p.cursors, 0, size_t(s.experts) * 4);
        if (!error && p.sorted) {
            error = fill_bytes(stream, p.place, 255, size_t(s.pairs()) * 4);
            if (!error) error = phases_[4]->launch(stream, sort_blocks_, kSortThreads, p);
        }
        if (!error) error = phases_[1]->launch(stream, sort_blocks_, kSortThreads, p);
        if (!error) error = phases_[2]->launch(stream, 1, kSortThreads, p);
        return error ? error : phases_[3]->launch(stream, sort_blocks_, kSortThreads, p);
    }

    // Passed as launch parameters, so that a graph contains them too.
    Error store_pointers(const void **to, const void *const *from, const Stream &stream) const {
        Error error = infinirtSuccess;
        const int64_t all = 3 * s.experts;
        for (int64_t first = 0; first < all && !error; first += StorePointersParams::kMost) {
            StorePointersParams p{};
            p.to = to + first;
            p.count = int(std::min<int64_t>(StorePointersParams::kMost, all - first));
            std::copy_n(from + first, p.count, p.pointers);
            error = store_->launch(stream, 1, 256, p);
        }
        return error;
    }

    Error multiply(ExpertsParams &p, const Stream &stream) const {
        if (p.n == 0) return infinirtSuccess;
        p.tiles_n = int((p.n + columns_ - 1) / columns_);
        const bool aligned = !vector_ || (is_aligned(p.a) && is_aligned(p.weights));
        Error error = infinirtSuccess;
        const Kernel *kernel = kernel_->get(aligned, error);
        return kernel ? kernel->launch(stream, tiles_ * p.tiles_n, threads_, p, shared_) : error;
    }

    static constexpr unsigned kSortThreads = 512;

    ExpertsShape s;
    DataOf data_of_;
    GateRows gate_;
    bool mma_ = false, at_once_ = false, vector_ = false;
    int rows_of_tile_ = 64, columns_ = 64;
    unsigned threads_ = 256;
    size_t shared_ = 0;
    int64_t tiles_ = 0, element_ = 2, sort_blocks_ = 1, sum_blocks_ = 1;
    std::shared_ptr<const AlignedKernel> kernel_, sum_;
    std::shared_ptr<const Kernel> phases_[5], store_;
    // Offsets in the workspace.
    size_t starts_, tiles_at_, cursors_, order_, places_, positions_, pointers_, wide_, inner_,
        rows_;
};

std::unique_ptr<Plan> plan_experts(const ExpertsShape &shape, Device &device,
                                   ExpertsData (*data)(const Arguments &, const ExpertsShape &)) {
    if (shape.tokens * shape.hidden == 0) return make_empty_plan();
    return std::make_unique<Experts>(shape, device, data);
}

// The operators fused_moe, fused_moe_mxfp4, moe_fused_dense and deepseek_moe.

ExpertsShape shape_of(const Tensor &out, const Tensor &ids) {
    ExpertsShape s;
    s.dtype = out.dtype, s.tokens = out.size(0), s.hidden = out.size(1), s.choices = ids.size(1);
    return s;
}

std::unique_ptr<Plan> plan_fused_moe(const Operation &op, Device &device) {
    const Tensor w1 = op.tensor(4), w2 = op.tensor(5);
    ExpertsShape s = shape_of(op.tensor(0), op.tensor(2));
    s.experts = w1.size(0), s.wide = w1.size(1), s.inner = w2.size(2), s.kind = int(op.integer(0));
    if (s.wide != (s.kind == 0 ? 1 : 2) * s.inner)
        refuse_shape("w1 must have as many rows as w2 has columns, or twice as many with a gate");
    return plan_experts(s, device, [](const Arguments &a, const ExpertsShape &) {
        ExpertsData d{a.pointer<void>(0), a.pointer<void>(1), a.pointer<int>(2),
                      a.pointer<float>(3)};
        d.w1 = a.pointer<void>(4), d.w2 = a.pointer<void>(5);
        d.bias1 = a.pointer<void>(6), d.bias2 = a.pointer<void>(7);
        return d;
    });
}

std::unique_ptr<Plan> plan_fused_moe_mxfp4(const Operation &op, Device &device) {
    const Tensor w13 = op.tensor(4);
    ExpertsShape s = shape_of(op.tensor(0), op.tensor(2));
    s.experts = w13.size(0), s.wide = w13.size(1), s.inner = s.wide / 2;
    s.kind = int(op.integer(0)), s.mxfp4 = true;
    return plan_experts(s, device, [](const Arguments &a, const ExpertsShape &) {
        ExpertsData d{a.pointer<void>(0), a.pointer<void>(1), a.pointer<int>(2),
                      a.pointer<float>(3)};
        d.w1 = a.pointer<void>(4), d.scales1 = a.pointer<uint8_t>(5);
        d.w2 = a.pointer<void>(6), d.scales2 = a.pointer<uint8_t>(7);
        return d;
    });
}

// The experts of the pairs are given by the blocks of moe_align.
std::unique_ptr<Plan> plan_moe_fused_dense(const Operation &op, Device &device) {
    const Tensor w13 = op.tensor(2);
    ExpertsShape s = shape_of(op.tensor(0), op.tensor(5));
    s.experts = w13.size(0), s.wide = w13.size(1), s.inner = s.wide / 2;
    s.positions = op.tensor(6).numel(), s.labels = op.tensor(7).numel();
    if (s.labels == 0) s.positions = 0;
    return plan_experts(s, device, [](const Arguments &a, const ExpertsShape &s) {
        ExpertsData d{a.pointer<void>(0), a.pointer<void>(1), nullptr, a.pointer<float>(4)};
        d.w1 = a.pointer<void>(2), d.w2 = a.pointer<void>(3);
        if (s.positions > 0) {
            d.sorted = a.pointer<int>(6), d.labels = a.pointer<int>(7);
            d.used = a.pointer<int>(8);
        }
        return d;
    });
}

std::unique_ptr<Plan> plan_deepseek_moe(const Operation &op, Device &device) {
    ExpertsShape s = shape_of(op.tensor(0), op.tensor(2));
    s.inner = op.integer(0), s.experts = op.integer(1), s.wide = 2 * s.inner;
    s.scale_inside = s.separate = true;
    return plan_experts(s, device, [](const Arguments &a, const ExpertsShape &) {
        ExpertsData d{a.pointer<void>(0), a.pointer<void>(1), a.pointer<int>(2),
                      a.pointer<float>(3)};
        // The last scalar selects the run function: with arrays of pointers on the host, which are
        // passed as separate pointers, or with arrays on the device.
        if (a.integer(int(a.c.scalar_count) - 1) == 1) {
            d.gates = a.pointer<const void *const>(4), d.ups = a.pointer<const void *const>(5);
            d.downs = a.pointer<const void *const>(6);
        } else {
            d.host_pointers = a.c.pointers + 4;
        }
        return d;
    });
}

INFINI_CUDA_KERNEL("fused_moe_mxfp4", plan_fused_moe_mxfp4);

std::unique_ptr<Plan> plan_experts(const Operation &operation, Device &device) {
    if (operation.is("fused_moe")) return plan_fused_moe(operation, device);
    if (operation.is("moe_fused_dense")) return plan_moe_fused_dense(operation, device);
    return plan_deepseek_moe(operation, device);
}

INFINI_CUDA_KERNEL("fused_moe", plan_experts);

}  // namespace

}  // namespace infini::cuda
