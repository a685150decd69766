// histc: counts the elements in bins of equal width.
#include <cmath>

#include "convert.h"
#include "kernel.h"
#include "sort/order.h"

namespace infini::cpu {
namespace {

std::unique_ptr<Plan> plan_histc(const Operation &operation) {
    const Tensor y = operation.tensor(0), x = operation.tensor(1);
    const int64_t bins = operation.integer(0), size = x.size(0), step = x.stride(0);
    const int64_t out_step = y.stride(0);
    const double least = operation.number(1), greatest = operation.number(2);
    const double width = (greatest - least) / double(bins);
    // Chunks of the input have their own tables, as long as these are smaller than the chunks.
    constexpr int64_t kPiece = 32768;
    const int64_t pieces =
        std::max<int64_t>(1, std::min({size / kPiece, size / bins, int64_t(thread_count())}));

    std::unique_ptr<Plan> plan;
    visit_dtype(x.dtype, [&]<class T>(Type<T>) {
        auto run = [=](const Arguments &a) {
            const T *data = a.pointer<T>(1);
            int64_t *tables = reinterpret_cast<int64_t *>(a.workspace());
            std::fill(tables, tables + pieces * bins, 0);
            parallel_for(size_t(pieces), 1, [&](size_t first, size_t last) {
                for (int64_t piece = int64_t(first); piece < int64_t(last); ++piece) {
                    int64_t *table = tables + piece * bins;
                    const int64_t end = size * (piece + 1) / pieces;
                    for (int64_t i = size * piece / pieces; i < end; ++i) {
                        const double value = load_element<double>(data[i * step]);
                        if (!(value >= least && value <= greatest)) continue;
                        const double bin = std::floor((value - least) / width);
                        ++table[std::min(bins - 1, int64_t(bin))];
                    }
                }
            });
            float *result = a.pointer<float>(0);
            for (int64_t bin = 0; bin < bins; ++bin) {
                int64_t sum = 0;
                for (int64_t piece = 0; piece < pieces; ++piece) sum += tables[piece * bins + bin];
                result[bin * out_step] = float(sum);
            }
        };
        plan = make_plan(run, size_t(pieces * bins) * sizeof(int64_t));
    });
    return plan;
}

INFINI_KERNEL("histc", plan_histc);

}  // namespace
}  // namespace infini::cpu
