// geqrf: QR factors as reflectors; householder_product and ormqr: their product.
#include "linalg/qr.h"
#include "linalg/reflections.h"
#include "linalg/thin_qr.h"

namespace infini::cpu {
namespace {

std::unique_ptr<Plan> plan_geqrf(const Operation &operation) {
    const Matrices made(operation.tensor(0), 2), tau(operation.tensor(1), 1);
    const Matrices x(operation.tensor(2), 2);
    const Matrices made_columns = made.transposed(), x_columns = x.transposed();
    const int64_t rows = x.rows, columns = x.columns, count = std::min(rows, columns);
    const bool parallel = is_worth_threads(x);
    auto by_panels = [=]<class T>(T, const Arguments *a, int64_t i, Room &room) {
        const Part<T> matrix = {room.take<T>(x.size()), 1, rows};
        T *factors = room.take<T>(count);
        Reflections<T> reflections(parallel, rows, columns, room);
        if (a) x_columns.load(matrix.data, a->pointer<void>(2), i);
        if (a && !is_finite(matrix.data, x.size())) return false;
        if (!reflections.factor(matrix, columns, factors)) return false;
        room.take<char>(int64_t(reflections.bytes()));
        if (a) made_columns.store(a->pointer<void>(0), i, matrix.data);
        if (a) tau.store(a->pointer<void>(1), i, factors);
        return true;
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        double *factors = room + x.size();
        x.load(room, a.pointer<void>(2), i);
        factor_qr(room, rows, columns, factors, factors + count);
        made.store(a.pointer<void>(0), i, room);
        tau.store(a.pointer<void>(1), i, factors);
    };
    if (is_thin(rows, columns)) {
        auto thin = [=](const Arguments &a, int64_t i, double *room) {
            const bool done = in_type_of(x, [&]<class T>(T) {
                ThinQr<T> qr(room, rows, columns);
                if (!qr.factor(x_columns, a.pointer<void>(2), i)) return false;
                for (int64_t j = 0; j < columns; ++j)
                    for (int64_t k = 0; k <= j; ++k) qr.column(0, j)[k] = T(qr.r[k * kThin + j]);
                qr.for_tiles([&](int64_t tile) {
                    qr.store_columns(tile, qr.column(tile, 0), made_columns, a.pointer<void>(0), i);
                });
                tau.store(a.pointer<void>(1), i, qr.tau);
                return true;
            });
            if (!done) body(a, i, room);
        };
        return plan_batch(x.count(), std::max(x.size() + count + columns, thin_doubles(x, columns)),
                          x.size() * (columns + 8) / 4, thin);
    }
    return plan_with_blocks(x.count(), has_panels(x), by_dtype(x, by_panels),
                            x.size() + count + columns, x.size() * (count + 8), body);
}

// householder_product without reflections.
std::unique_ptr<Plan> plan_identity(const Matrices &y) {
    auto body = [=](const Arguments &a, int64_t index, double *) {
        const size_t grain = size_t(32768 / std::max<int64_t>(y.columns, 1) + 1);
        parallel_for(size_t(y.rows), grain, [&](size_t begin, size_t end) {
            const int64_t size = int64_t(infiniSizeOf(infiniDtype_t(y.dtype)));
            char *to = a.pointer<char>(0) + y.batch(index);
            const double one = 1;
            for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                char *row = to + i * y.row_step * size;
                if (y.column_step == 1)
                    std::fill(row, row + y.columns * size, char(0));
                else
                    for (int64_t j = 0; j < y.columns; ++j)
                        std::fill_n(row + j * y.column_step * size, size, char(0));
                if (i < y.columns) store_dtype(row + i * y.column_step * size, y.dtype, &one, 1, 1);
            }
        });
    };
    return plan_batch(y.count(), 0, y.size(), body);
}

// Q c, or Q^T c; without c the first columns of Q.
std::unique_ptr<Plan> plan_product(const Operation &operation, bool has_c, bool transpose) {
    const Matrices y(operation.tensor(0), 2), tau(operation.tensor(2), 1);
    const Matrices c(operation.tensor(has_c ? 3 : 0), 2);
    Matrices m(operation.tensor(1), 2);
    m.columns = tau.columns;  // later columns are no reflections
    const Matrices y_columns = y.transposed(), m_columns = m.transposed();
    const Matrices c_columns = c.transposed();
    const int64_t rows = y.rows, columns = y.columns, k = tau.columns;
    const int64_t doubles = m.size() + y.size() + k + columns;
    if (k == 0 && !has_c) return plan_identity(y);
    if (is_thin(rows, std::max(k, columns))) {
        auto thin = [=](const Arguments &a, int64_t i, double *room) {
            double factors[kThin];
            tau.load(factors, a.pointer<void>(2), i);
            in_type_of(m, [&]<class T>(T) {
                ThinReflections<T>(room, rows, k, columns)
                    .run(m_columns, a.pointer<void>(1), factors, has_c ? &c_columns : nullptr,
                         has_c ? a.pointer<void>(3) : nullptr, transpose, y_columns,
                         a.pointer<void>(0), i);
                return true;
            });
        };
        return plan_batch(m.count(), thin_doubles(m, k + columns), rows * (k + 8) * (k + columns),
                          thin);
    }
    const bool parallel = is_worth_threads(m);
    auto by_panels = [=]<class T>(T, const Arguments *a, int64_t i, Room &room) {
        const Part<T> matrix = {room.take<T>(m.size()), 1, rows};
        const Part<T> made = {room.take<T>(y.size()), 1, rows};
        T *factors = room.take<T>(k);
        Reflections<T> reflections(parallel, rows, columns, room);
        if (a) m_columns.load(matrix.data, a->pointer<void>(1), i);
        if (a) tau.load(factors, a->pointer<void>(2), i);
        if (a && has_c) c_columns.load(made.data, a->pointer<void>(3), i);
        if (has_c)
            reflections.apply(matrix, factors, k, transpose, made, columns);
        else
            reflections.make_q(matrix, factors, k, made, columns);
        if (a) y_columns.store(a->pointer<void>(0), i, made.data);
        room.take<char>(int64_t(reflections.bytes()));
        return true;
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        double *made = room + m.size(), *factors = made + y.size(), *line = factors + k;
        m.load(room, a.pointer<void>(1), i);
        tau.load(factors, a.pointer<void>(2), i);
        if (has_c)
            c.load(made, a.pointer<void>(3), i);
        else
            set_identity(made, rows, columns);
        for (int64_t step = 0; step < k; ++step) {
            const int64_t at = transpose ? step : k - 1 - step, first = has_c ? 0 : at;
            reflect({made + at * columns + first, columns}, rows - at, columns - first,
                    room + at * m.columns + at, m.columns, factors[at], line);
        }
        y.store(a.pointer<void>(0), i, made);
    };
    return plan_with_blocks(m.count(), has_panels(m), by_dtype(m, by_panels), doubles,
                            rows * (columns + 1) * (2 * k + 2), body);
}

std::unique_ptr<Plan> plan_reflectors(const Operation &operation) {
    if (operation.is("geqrf")) return plan_geqrf(operation);
    if (operation.is("householder_product")) return plan_product(operation, false, false);
    return plan_product(operation, true, operation.integer(0) != 0);
}

INFINI_KERNEL("reflectors", plan_reflectors);

}  // namespace
}  // namespace infini::cpu
