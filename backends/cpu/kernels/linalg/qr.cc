// qr: the factors of a matrix by reflections.
#include "linalg/qr.h"

namespace infini::cpu {
namespace {

std::unique_ptr<Plan> plan_qr(const Operation &operation) {
    const Matrices q(operation.tensor(0), 2), r(operation.tensor(1), 2), x(operation.tensor(2), 2);
    const int64_t rows = x.rows, columns = x.columns, count = std::min(rows, columns);
    const int64_t doubles = x.size() + rows * count + columns + 2 * count;
    return plan_batch(x.count(), doubles, x.size() * (2 * count + 8),
                      [=](const Arguments &a, int64_t index, double *room) {
                          double *made = room + x.size(), *tau = made + rows * count;
                          double *line = tau + count;
                          x.load(room, a.pointer<void>(2), index);
                          factor_qr(room, rows, columns, tau, line);
                          make_q(made, rows, count, room, columns, tau, line);
                          q.store(a.pointer<void>(0), index, made);
                          for (int64_t i = 0; i < count; ++i)
                              std::fill(room + i * columns, room + i * columns + i, 0.0);
                          r.store(a.pointer<void>(1), index, room);
                      });
}

INFINI_KERNEL("qr", plan_qr);

}  // namespace
}  // namespace infini::cpu
