// vander: rows of powers. Up to single precision they are running products in double; doubles take
// each power by squaring, which rounds less often.
#include <algorithm>

#include "convert.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu {
namespace {

template <class T>
void powers(T *row, double x, int64_t count, bool increasing) {
    double running = 1;
    for (int64_t k = 0; k < count; ++k, running *= x)
        store_element(row[increasing ? k : count - 1 - k], running);
}

template <>
void powers(double *row, double x, int64_t count, bool increasing) {
    for (int64_t k = 0; k < count; ++k) {
        double result = 1, square = x;
        for (int64_t rest = k; rest; rest >>= 1, square *= square)
            if (rest & 1) result *= square;
        row[increasing ? k : count - 1 - k] = result;
    }
}

std::unique_ptr<Plan> plan_vander(const Operation &operation) {
    const int64_t rows = operation.tensor(0).size(0), columns = operation.tensor(0).size(1);
    const bool increasing = operation.integer(1) != 0;
    const size_t grain = size_t(std::max<int64_t>(1, 8192 / std::max<int64_t>(columns, 1)));
    std::unique_ptr<Plan> plan;
    visit_dtype(operation.tensor(0).dtype, [&]<class T>(Type<T>) {
        if constexpr (kIsFloat<T>)
            plan = make_plan([=](const Arguments &a) {
                T *output = a.pointer<T>(0);
                const T *input = a.pointer<T>(1);
                parallel_for(size_t(rows), grain, [=](size_t begin, size_t end) {
                    for (int64_t i = int64_t(begin); i < int64_t(end); ++i)
                        powers(output + i * columns, load_element<double>(input[i]), columns,
                               increasing);
                });
            });
    });
    return plan;
}

INFINI_KERNEL("vander", plan_vander);

}  // namespace
}  // namespace infini::cpu
