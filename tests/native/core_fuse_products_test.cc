// Steps after a matrix product give the same results as its epilogue.
#include "core_fuse.h"

namespace {

void products() {
    struct Case {
        size_t m, k, n;
    };
    // Tiny, few rows, by columns, shared; one block of k and several; odd edges.
    const Case cases[] = {{1, 64, 40},      {3, 5, 7},   {4, 300, 129}, {1, 700, 900},
                          {8, 1000, 257},   {33, 40, 9}, {50, 600, 77}, {200, 90, 210},
                          {300, 1100, 250}, {40, 20, 3}};
    for (DataType dtype : {DataType::F32, DataType::F16, DataType::BF16}) {
        const double tolerance = dtype == DataType::F32 ? 2e-5 : 6 * rounding(dtype);
        for (const Case &c : cases) {
            for (bool transposed : {false, true}) {
                Record r{unsigned(c.m + c.n)};
                const ic::Shape shape = {c.m, c.n};
                Tensor x = r.input({c.m, c.k}, dtype);
                Tensor w = transposed ? r.input({c.n, c.k}, dtype)->permute({1, 0})
                                      : r.input({c.k, c.n}, dtype);
                Tensor bias = r.input({c.n}, dtype), residual = r.input(shape, dtype);
                Tensor a = r.gemm(x, w, 0.125);
                Tensor b = r.map("add", {a, Record::spread(bias, shape)});
                Tensor d = r.map("gelu", {b});
                Tensor e = r.map("add", {residual, d});
                const Names names = r.compare({e}, tolerance);
                if (c.n > 8 || c.m <= c.n) expect(names, {"gemm+add+gelu+add"});
            }
        }
    }
}

void batches_of_products() {
    for (bool shared : {false, true})
        for (size_t batch : {1u, 3u, 20u})
            for (size_t m : {1u, 5u, 70u}) {
                Record r{unsigned(batch + m)};
                const ic::Shape shape = {batch, m, 90};
                Tensor x = r.input({batch, m, 33});
                Tensor w = shared ? r.input({33, 90})->view_as({batch, 33, 90}, {0, 90, 1},
                                                               DataType::F32, 0)
                                  : r.input({batch, 33, 90});
                Tensor y = r.input(shape), scale = r.input({});
                Tensor a = r.gemm(x, w);
                Tensor b = r.map("mul", {a, Record::spread(scale, shape)});
                Tensor c = r.map("add", {b, y});
                expect(r.compare({c}, 2e-5), {"gemm+mul+add"});
            }
}

void what_follows_a_product() {
    Record r;  // it is used, too
    Tensor x = r.input({40, 64}), w = r.input({64, 100}), y = r.input({4, 10, 100});
    Tensor a = r.gemm(x, w);
    Tensor b = r.map("silu", {a});
    Tensor c = r.map("mul", {b->view({4, 10, 100}), y});  // another shape
    expect(r.compare({c, a}, 2e-5), {"gemm+silu+mul"});

    Record s;  // two products and a gate
    x = s.input({40, 64});
    Tensor gate = s.gemm(x, s.input({64, 100})), up = s.gemm(x, s.input({64, 100}));
    Tensor z = s.map("mul", {s.map("silu", {gate}), up});
    expect(s.compare({z}, 2e-5), {"gemm", "gemm+silu+mul"});

    Record t;  // in place, into another type, and into something strided
    x = t.input({40, 64});
    a = t.gemm(x, t.input({64, 100}));
    t.record("tanh", {a, a});
    b = t.result({40, 100}, DataType::F16);
    t.record("cast", {b, a});
    expect(t.compare({b}, 1e-3), {"gemm+tanh+cast"});
    Record u;
    x = u.input({40, 64});
    a = u.gemm(x, u.input({64, 100}));
    b = u.result({100, 40});
    u.record("tanh", {b->permute({1, 0}), a});
    expect(u.compare({b}, 2e-5), {"gemm+tanh"});

    Record q;  // steps before a softmax are fused with it, if the product is kept
    x = q.input({40, 64});
    a = q.map("tanh", {q.gemm(x, q.input({64, 100}))});
    b = q.softmax(q.map("neg", {a}), 1);
    c = q.map("add", {b, a});
    expect(q.compare({c}, 2e-5), {"gemm+tanh", "neg+softmax+add"});

    Record v;  // a norm cannot be an epilogue
    x = v.input({40, 64});
    a = v.gemm(x, v.input({64, 100}));
    b = v.rms_norm(v.map("tanh", {a}), v.input({100}));
    expect(v.compare({b}, 2e-5), {"gemm+tanh", "rms_norm"});
}

}  // namespace

int main() {
    RUN(products);
    RUN(batches_of_products);
    RUN(what_follows_a_product);
}
