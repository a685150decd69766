// Channel normalisations: batch_norm, whose statistics are inputs, and channel_norm, which computes
// them. Tensors are processed by runs: contiguous elements that share a channel, or have one each.
#include "norm/rows.h"

namespace infini::cpu::norm {
namespace {

constexpr int64_t kPiece = 16384;  // elements of a run, or of a row, per task
constexpr int64_t kShared = 2048;  // channels whose factors are computed once

// Dimensions of tensors of one shape, merged where all layouts allow it. The first two are the
// result and the input.
template <int kTensors>
struct Walk {
    void add(const Shape *tensors, int dim) {
        const int64_t extent = tensors[0].size[dim];
        if (extent == 1) return;
        bool joins = count > 0;
        for (int t = 0; t < kTensors; ++t)
            joins = joins && stride[t][count - 1] == extent * tensors[t].stride[dim];
        if (!joins) size[count++] = 1;
        size[count - 1] *= extent;
        for (int t = 0; t < kTensors; ++t) stride[t][count - 1] = tensors[t].stride[dim];
        total *= extent;
    }
    // Removes the last dimension from the walk; false if its elements are not contiguous.
    bool take_run(int64_t &length, bool (&vary)[kTensors]) {
        if (count == 0 || stride[0][count - 1] != 1) return false;
        --count;
        length = size[count];
        total /= length;
        for (int t = 0; t < kTensors; ++t) {
            if (stride[t][count] != 0 && stride[t][count] != 1) return false;
            vary[t] = stride[t][count] != 0;
        }
        return vary[1];
    }
    void locate(int64_t index, int64_t (&offset)[kTensors]) const {
        std::fill_n(offset, kTensors, int64_t(0));
        for (int d = count - 1; d >= 0; --d) {
            const int64_t at = d ? index % size[d] : index;
            if (d) index /= size[d];
            for (int t = 0; t < kTensors; ++t) offset[t] += at * stride[t][d];
        }
    }

    int count = 0;
    int64_t total = 1, size[Shape::kMost], stride[kTensors][Shape::kMost];
};

// Calls f with the types of the result and of the channel parameters: the same, or F32.
template <class F>
void with_types(int dtype, int channels, F &&f) {
    with_float(dtype, [&]<class T>(T zero) {
        if (channels == dtype) f(zero, zero);
        if constexpr (!std::is_same_v<T, float>)
            if (channels == INFINI_DTYPE_F32) f(zero, float{});
    });
}

template <class W>
INFINI_SIMD float one(const W *p) {
    return load_element<float>(*p);
}

// ---- batch_norm ---------------------------------------------------------------------------------

enum { kTo, kFrom, kMean, kVariance, kWeight, kBias, kBatchTensors };

std::unique_ptr<Plan> plan_batch_norm(const Operation &operation) {
    Shape tensors[kBatchTensors];
    for (int t = 0; t < kBatchTensors; ++t) tensors[t] = operation.tensor(t);
    Walk<kBatchTensors> walk{};
    for (int d = 0; d < tensors[0].ndim; ++d) walk.add(tensors, d);
    int64_t length;
    bool vary[kBatchTensors];
    if (operation.tensor(0).numel() == 0 || !walk.take_run(length, vary)) return nullptr;
    if (length < 4) return nullptr;
    const bool any = vary[kMean] || vary[kVariance] || vary[kWeight] || vary[kBias];
    const bool every = vary[kMean] && vary[kVariance] && vary[kWeight] && vary[kBias];
    if (any && !every) return nullptr;
    const float eps = float(operation.number(0));
    const int64_t pieces = (length + kPiece - 1) / kPiece, piece = std::min(length, kPiece);
    // Rows with the same channels: the square root of each channel is computed only once.
    bool shared = any && length <= kShared;
    for (int d = 0; d < walk.count; ++d)
        shared = shared && walk.stride[kVariance][d] == 0 && walk.stride[kWeight][d] == 0;
    std::unique_ptr<Plan> plan;
    with_types(tensors[kTo].dtype, tensors[kMean].dtype, [&]<class T, class W>(T, W) {
        plan = make_plan([=](const Arguments &a) {
            parallel_for(size_t(walk.total * pieces), grain_of(piece, 7), [&](size_t b, size_t e) {
                float factors[kShared];
                if (shared)
                    for (int64_t i = 0; i < length; ++i)
                        factors[i] = one(a.pointer<const W>(kWeight) + i) /
                                     std::sqrt(one(a.pointer<const W>(kVariance) + i) + eps);
                for (int64_t item = int64_t(b); item < int64_t(e); ++item) {
                    const int64_t begin = pieces == 1 ? 0 : item % pieces * kPiece;
                    const size_t n = size_t(std::min(piece, length - begin));
                    int64_t at[kBatchTensors];
                    walk.locate(pieces == 1 ? item : item / pieces, at);
                    T *y = a.pointer<T>(kTo) + at[kTo] + begin;
                    const T *x = a.pointer<const T>(kFrom) + at[kFrom] + begin;
                    auto place = [&](int t) {
                        return a.pointer<const W>(t) + at[t] + (vary[t] ? begin : 0);
                    };
                    const W *mean = place(kMean), *variance = place(kVariance);
                    const W *weight = place(kWeight), *bias = place(kBias);
                    if (shared) {
                        const float *factor = factors;
                        map_row(y, x, n, [=](F32 v, auto part) {
                            return fma(F32(v - part(mean)), part(factor), part(bias));
                        });
                        continue;
                    }
                    if (any) {
                        map_row(y, x, n, [=](F32 v, auto part) {
                            const F32 factor = part(weight) / sqrt(F32(part(variance) + eps));
                            return fma(F32(v - part(mean)), factor, part(bias));
                        });
                        continue;
                    }
                    const F32 factor = broadcast<F32>(one(weight) / std::sqrt(one(variance) + eps));
                    const float middle = one(mean);
                    const F32 shift = broadcast<F32>(one(bias));
                    map_row(y, x, n,
                            [=](F32 v, auto) { return fma(F32(v - middle), factor, shift); });
                }
            });
        });
    });
    return plan;
}

// ---- channel_norm -------------------------------------------------------------------------------

enum { kScale = 2, kShift = 3, kChannelTensors = 4 };

// A row is the range of one mean: runs of the input only, and runs that share a weight.
struct ChannelNorm {
    Walk<kChannelTensors> rows, runs;
    Walk<1> sums;
    int64_t run = 0, sum_run = 0;  // elements
    bool vary = false;             // whether each element has its own weight and bias
    float eps = 0;

    int64_t length() const { return runs.total * run; }

    // The sum of f(x) over elements [begin, end) of a row.
    template <class T, class F>
    double sum(const T *row, int64_t begin, int64_t end, const F &f) const {
        constexpr int64_t kBlock = 4096;  // after this many elements the sum is moved to double
        double total = 0;
        for (int64_t at = begin; at < end;) {
            int64_t offset[1], place = at;
            if (sums.total > 1) sums.locate(at / sum_run, offset), place = offset[0] + at % sum_run;
            const int64_t here = sums.total > 1 ? sum_run - at % sum_run : end - at;
            const int64_t n = std::min({here, kBlock, end - at});
            total += double(sum_of(row + place, size_t(n), f));
            at += n;
        }
        return total;
    }

    template <class T, class W>
    void write(T *y, const T *x, const W *weight, const W *bias, int64_t begin, int64_t end,
               float mean, float factor) const {
        for (int64_t at = begin; at < end;) {
            int64_t offset[kChannelTensors], first = at % run;
            const int64_t n = std::min(run - first, end - at);
            runs.locate(at / run, offset);
            const W *scale = weight + offset[kScale], *shift = bias + offset[kShift];
            T *to = y + offset[kTo] + first;
            const T *from = x + offset[kFrom] + first;
            if (vary) {
                scale += first, shift += first;
                map_row(to, from, size_t(n), [=](F32 v, auto part) {
                    return fma(F32((v - mean) * factor), part(scale), part(shift));
                });
            } else {
                const F32 by = broadcast<F32>(factor * one(scale)),
                          plus = broadcast<F32>(one(shift));
                map_row(to, from, size_t(n),
                        [=](F32 v, auto) { return fma(F32(v - mean), by, plus); });
            }
            at += n;
        }
    }

    template <class T, class W>
    void operator()(const Arguments &a) const {
        const int64_t size = length(), pieces = (size + kPiece - 1) / kPiece;
        double *sums = reinterpret_cast<double *>(a.workspace());
        double *squares = sums + rows.total * pieces;
        auto place = [&](int64_t row, auto &&use) {
            int64_t at[kChannelTensors];
            rows.locate(row, at);
            use(a.pointer<T>(kTo) + at[kTo], a.pointer<const T>(kFrom) + at[kFrom],
                a.pointer<const W>(kScale) + at[kScale], a.pointer<const W>(kShift) + at[kShift]);
        };
        // Computes one of the three steps for a chunk of a row.
        auto sum_up = [&](int64_t item) {
            const int64_t row = item / pieces, begin = item % pieces * kPiece;
            place(row, [&](T *, const T *x, const W *, const W *) {
                sums[item] = sum(x, begin, std::min(size, begin + kPiece), [](F32 v) { return v; });
            });
        };
        auto mean_of = [&](const double *parts, int64_t row) {
            double total = 0;
            for (int64_t k = 0; k < pieces; ++k) total += parts[row * pieces + k];
            return float(total / double(size));
        };
        auto square = [&](int64_t item) {
            const int64_t row = item / pieces, begin = item % pieces * kPiece;
            const float mean = mean_of(sums, row);
            place(row, [&](T *, const T *x, const W *, const W *) {
                squares[item] = sum(x, begin, std::min(size, begin + kPiece),
                                    [mean](F32 v) { return (v - mean) * (v - mean); });
            });
        };
        auto finish = [&](int64_t item) {
            const int64_t row = item / pieces, begin = item % pieces * kPiece;
            const float factor = 1.0f / std::sqrt(mean_of(squares, row) + eps);
            place(row, [&](T *y, const T *x, const W *weight, const W *bias) {
                write(y, x, weight, bias, begin, std::min(size, begin + kPiece), mean_of(sums, row),
                      factor);
            });
        };
        auto each = [&](int64_t items, int64_t length, auto &&step) {
            parallel_for(size_t(items), grain_of(length, 5), [&](size_t begin, size_t end) {
                for (int64_t item = int64_t(begin); item < int64_t(end); ++item) step(item);
            });
        };
        if (pieces == 1) {  // the row stays in the cache
            each(rows.total, 2 * size, [&](int64_t row) { sum_up(row), square(row), finish(row); });
            return;
        }
        each(rows.total * pieces, kPiece, sum_up);
        each(rows.total * pieces, kPiece, square);
        each(rows.total * pieces, kPiece, finish);
    }
};

std::unique_ptr<Plan> plan_channel_norm(const Operation &operation) {
    Shape tensors[kChannelTensors];
    for (int t = 0; t < kChannelTensors; ++t) tensors[t] = operation.tensor(t);
    const int64_t *dims = operation.list(0), *dims_end = dims + operation.count(0);
    if (!dims || operation.tensor(0).numel() == 0) return nullptr;
    ChannelNorm norm;
    for (int d = 0; d < tensors[0].ndim; ++d) {
        if (std::find(dims, dims_end, d) == dims_end) {
            norm.rows.add(tensors, d);
            continue;
        }
        norm.runs.add(tensors, d);
        norm.sums.add(&tensors[kFrom], d);
    }
    bool vary[kChannelTensors];
    if (!norm.runs.take_run(norm.run, vary) || vary[kScale] != vary[kShift]) return nullptr;
    norm.vary = vary[kScale];
    // The runs of sums involve the input only, so they may be longer.
    if (norm.sums.count == 0 || norm.sums.stride[0][norm.sums.count - 1] != 1) return nullptr;
    --norm.sums.count;
    norm.sum_run = norm.sums.size[norm.sums.count];
    norm.sums.total /= norm.sum_run;
    if (norm.run < 4) return nullptr;
    norm.eps = float(operation.number(2));
    const int64_t pieces = (norm.length() + kPiece - 1) / kPiece;
    std::unique_ptr<Plan> plan;
    with_types(tensors[kTo].dtype, tensors[kScale].dtype, [&]<class T, class W>(T, W) {
        plan = make_plan([norm](const Arguments &a) { norm.template operator()<T, W>(a); },
                         size_t(norm.rows.total * pieces) * 2 * sizeof(double));
    });
    return plan;
}

INFINI_KERNEL("batch_norm", plan_batch_norm);
INFINI_KERNEL("channel_norm", plan_channel_norm);

}  // namespace
}  // namespace infini::cpu::norm
