// bincount: the number of occurrences of each value, or the sum of their weights.
#include <algorithm>

#include "kernel.h"
#include "threads.h"
#include "types.h"

namespace infini::cpu {
namespace {

// F32 accumulates in F64.
template <class R>
using Sum = std::conditional_t<std::is_same_v<R, float>, double, R>;

template <class T, class R>
std::unique_ptr<Plan> plan_as(const Operation &operation) {
    const Tensor output = operation.tensor(0), input = operation.tensor(1);
    const Tensor weights = operation.tensor(2);
    const int64_t length = output.size(0), size = input.size(0);
    const int64_t out_step = output.stride(0), step = input.stride(0);
    const bool weighted = bool(weights);
    const int64_t weight_step = weighted ? weights.stride(0) : 0;
    // Chunks of the input have their own tables, as long as these are smaller than the chunks.
    constexpr int64_t kPiece = 32768;
    const int64_t pieces = std::max<int64_t>(
        1, std::min({size / kPiece, size / std::max<int64_t>(length, 1), int64_t(thread_count())}));
    using S = Sum<R>;

    auto run = [=](const Arguments &a) {
        R *result = a.pointer<R>(0);
        const T *data = a.pointer<T>(1);
        const R *weight = weighted ? a.pointer<R>(2) : nullptr;
        S *tables = reinterpret_cast<S *>(a.workspace());
        if (length == 0) return;
        std::fill_n(tables, pieces * length, S(0));
        parallel_for(size_t(pieces), 1, [&](size_t first, size_t last) {
            for (int64_t piece = int64_t(first); piece < int64_t(last); ++piece) {
                S *table = tables + piece * length;
                const int64_t end = size * (piece + 1) / pieces;
                for (int64_t i = size * piece / pieces; i < end; ++i) {
                    // As unsigned, a negative number exceeds every length.
                    const auto at = uint64_t(data[i * step]);
                    if (at < uint64_t(length))
                        table[at] += weighted ? S(weight[i * weight_step]) : S(1);
                }
            }
        });
        for (int64_t bin = 0; bin < length; ++bin) {
            S sum = tables[bin];
            for (int64_t piece = 1; piece < pieces; ++piece) sum += tables[piece * length + bin];
            result[bin * out_step] = R(sum);
        }
    };
    return make_plan(run, size_t(pieces * length) * sizeof(S));
}

std::unique_ptr<Plan> plan_bincount(const Operation &operation) {
    std::unique_ptr<Plan> plan;
    visit_dtype(operation.tensor(1).dtype, [&]<class T>(Type<T>) {
        if constexpr (std::is_integral_v<T>) {
            switch (operation.tensor(0).dtype) {
                case INFINI_DTYPE_F32:
                    plan = plan_as<T, float>(operation);
                    break;
                case INFINI_DTYPE_F64:
                    plan = plan_as<T, double>(operation);
                    break;
                default:
                    plan = plan_as<T, int64_t>(operation);
            }
        }
    });
    return plan;
}

INFINI_KERNEL("bincount", plan_bincount);

}  // namespace
}  // namespace infini::cpu
