// qr: the factors of a matrix by Householder reflections.
#include "linalg/qr.h"

#include "linalg/reflections.h"
#include "linalg/thin_qr.h"

namespace infini::cpu {
namespace {

std::unique_ptr<Plan> plan_qr(const Operation &operation) {
    const Matrices q(operation.tensor(0), 2), r(operation.tensor(1), 2), x(operation.tensor(2), 2);
    const int64_t rows = x.rows, columns = x.columns, count = std::min(rows, columns);
    const Matrices q_columns = q.transposed(), r_columns = r.transposed(),
                   x_columns = x.transposed();
    const bool parallel = is_worth_threads(x);
    auto by_panels = [=]<class T>(T, const Arguments *a, int64_t index, Room &room) {
        const Part<T> matrix = {room.take<T>(x.size()), 1, rows};
        const Part<T> made = {room.take<T>(std::max(r.size(), q.size())), 1, rows};
        T *tau = room.take<T>(count);
        Reflections<T> reflections(parallel, rows, columns, room);
        if (a) x_columns.load(matrix.data, a->pointer<void>(2), index);
        if (a && !is_finite(matrix.data, x.size())) return false;
        if (!reflections.factor(matrix, columns, tau)) return false;
        for (int64_t j = 0; a && j < columns; ++j) {
            T *column = made.data + j * count;
            const int64_t held = std::min(j + 1, count);
            std::copy_n(matrix.data + j * rows, held, column);
            std::fill_n(column + held, count - held, T(0));
        }
        if (a) r_columns.store(a->pointer<void>(1), index, made.data);
        reflections.make_q(matrix, tau, count, made, count);
        if (a) q_columns.store(a->pointer<void>(0), index, made.data);
        room.take<char>(int64_t(reflections.bytes()));
        return true;
    };
    auto body = [=](const Arguments &a, int64_t index, double *room) {
        double *made = room + x.size(), *tau = made + rows * count;
        double *line = tau + count;
        x.load(room, a.pointer<void>(2), index);
        factor_qr(room, rows, columns, tau, line);
        make_q(made, rows, count, room, columns, tau, line);
        q.store(a.pointer<void>(0), index, made);
        for (int64_t i = 0; i < count; ++i)
            std::fill(room + i * columns, room + i * columns + i, 0.0);
        r.store(a.pointer<void>(1), index, room);
    };
    if (is_thin(rows, columns)) {
        auto thin = [=](const Arguments &a, int64_t index, double *room) {
            const bool done = in_type_of(x, [&]<class T>(T) {
                ThinQr<T> qr(room, rows, columns);
                if (!qr.factor(x_columns, a.pointer<void>(2), index)) return false;
                qr.store_q(q_columns, nullptr, a.pointer<void>(0), index);
                qr.copy_r(room);
                r.store(a.pointer<void>(1), index, room);
                return true;
            });
            if (!done) body(a, index, room);
        };
        const int64_t doubles = x.size() + rows * count + columns + 2 * count;
        return plan_batch(x.count(), std::max(doubles, thin_doubles(x, columns)),
                          x.size() * (columns + 8) / 4, thin);
    }
    return plan_with_blocks(x.count(), has_panels(x), by_dtype(x, by_panels),
                            x.size() + rows * count + columns + 2 * count,
                            x.size() * (2 * count + 8), body);
}

INFINI_KERNEL("qr", plan_qr);

}  // namespace
}  // namespace infini::cpu
