// Fused steps give the same results as the steps one after the other.
#include "core_fuse.h"

namespace {

// ---- Maps ---------------------------------------------------------------------------------------

void chains_of_maps() {
    Record r;
    Tensor x = r.input({37, 130}), y = r.input({37, 130}), row = r.input({130});
    Tensor a = r.map("mul", {x, Record::spread(row, {37, 130})});
    Tensor b = r.map("tanh", {a});
    Tensor c = r.map("add", {b, y});
    Tensor d = r.map("mul", {c, x});
    expect(r.compare({d}), {"mul+tanh+add+mul"});
}

void two_makers_of_one() {
    Record r;
    Tensor x = r.input({5, 9}), y = r.input({5, 9});
    Tensor a = r.map("sigmoid", {x}), b = r.map("tanh", {y});
    Tensor c = r.map("mul", {a, b});
    expect(r.compare({c}), {"tanh+sigmoid+mul"});
}

void several_readers() {
    Record r;
    Tensor x = r.input({8, 40});
    Tensor a = r.map("tanh", {x});
    Tensor b = r.map("neg", {a}), c = r.map("abs", {a}), d = r.map("mul", {b, c});
    CHECK(r.compare({d}).size() < 4);

    Record s;  // used outside
    x = s.input({8, 40});
    a = s.map("tanh", {x});
    b = s.map("neg", {a});
    expect(s.compare({a, b}), {"tanh+neg"});

    Record t;  // each separately, and twice by one
    x = t.input({300});
    a = t.map("tanh", {x});
    b = t.map("mul", {a, a});
    c = t.map("add", {b, x});
    expect(t.compare({c, a}), {"tanh+mul+add"});
}

void in_place() {
    Record r;
    Tensor x = r.input({7, 50}), y = r.input({7, 50});
    r.record("tanh", {x, x});
    r.record("mul", {x, x, y});
    r.record("add", {x, y, x});
    expect(r.compare({}), {"tanh+mul+add"});

    Record s;  // over the first's input
    x = s.input({7, 50});
    Tensor a = s.map("tanh", {x});
    s.record("neg", {x, a});
    expect(s.compare({}), {"tanh+neg"});

    Record t;  // the same, but shifted: not element by element
    x = t.input({60});
    Tensor from = x->narrow({{0, 1, 50}}), to = x->narrow({{0, 0, 50}});
    a = t.map("tanh", {from});
    t.record("neg", {to, a});
    expect(t.compare({}), {"tanh", "neg"});

    Record u;  // the old x, then the new one
    x = u.input({60}), y = u.input({60});
    a = u.map("tanh", {x});
    u.record("neg", {x, y});
    Tensor b = u.map("mul", {a, x});
    expect(u.compare({b}), {"tanh+neg+mul"});

    Record v;  // shifted again: the step between them prevents fusion
    x = v.input({61}), y = v.input({60});
    a = v.map("tanh", {x->narrow({{0, 0, 60}})});
    v.record("neg", {x->narrow({{0, 1, 60}}), y});
    b = v.map("mul", {a, x->narrow({{0, 1, 60}})});
    expect(v.compare({b}), {"tanh", "neg+mul"});
}

void moved_up() {
    // The second would move up to the first, but x changes in between.
    Record r;
    Tensor x = r.input({60}), y = r.input({60});
    Tensor a = r.map("tanh", {x});
    r.record("softmax", {x, y}, {{.i = 0}});
    Tensor b = r.map("neg", {a});
    expect(r.compare({b}), {"tanh+neg", "softmax"});
}

void other_views() {
    Record r;  // another shape
    Tensor x = r.input({6, 35}), y = r.input({2, 3, 35});
    Tensor a = r.map("tanh", {x});
    Tensor b = r.map("add", {a->view({2, 3, 35}), y});
    expect(r.compare({b}), {"tanh+add"});

    Record s;  // another order
    x = s.input({2, 5, 3, 8}), y = s.input({2, 3, 5, 8});
    a = s.map("tanh", {x});
    b = s.map("mul", {a->permute({0, 2, 1, 3}), y});
    expect(s.compare({b}), {"tanh+mul"});

    Record t;  // a part of it, and a part with another
    x = t.input({4, 16});
    a = t.map("tanh", {x});
    b = t.map("neg", {a->narrow({{1, 0, 8}})});
    Tensor c = t.map("mul", {a->narrow({{1, 0, 8}}), a->narrow({{1, 8, 8}})});
    expect(t.compare({b, c}), {"tanh", "neg", "mul"});

    Record u;  // broadcast: it would be computed repeatedly
    x = u.input({16}), y = u.input({9, 16});
    a = u.map("tanh", {x});
    b = u.map("mul", {y, Record::spread(a, {9, 16})});
    expect(u.compare({b}), {"tanh", "mul"});

    Record v;  // but a scalar may be
    y = v.input({9, 16});
    a = v.result({});
    v.record("fill", {a}, {{.f = 0.5}});
    b = v.map("mul", {y, Record::spread(a, {9, 16})});
    expect(v.compare({b}), {"fill+mul"});
}

void types() {
    Record r;  // bools are 0 and 1 with or without a tensor
    Tensor x = r.input({9, 33}), y = r.input({9, 33});
    Tensor less = r.map("less", {x, y}, DataType::BOOL);
    Tensor z = r.result({9, 33});
    r.record("where", {z, less, x, y});
    expect(r.compare({z}), {"less+where"});

    for (DataType between : {DataType::BOOL, DataType::I32, DataType::U8}) {
        Record s;
        x = s.input({9, 33});
        Tensor a = s.cast(x, between), b = s.cast(a, DataType::F32);
        expect(s.compare({b}), {"cast", "cast"});
    }
    for (DataType between : {DataType::F16, DataType::BF16}) {
        Record s;  // a cast must round; other maps need not
        x = s.input({9, 33});
        Tensor a = s.cast(s.map("tanh", {x}), between), b = s.cast(a, DataType::F32);
        expect(s.compare({b}), {"tanh+cast", "cast"});
        Record h;
        x = h.input({9, 33}, between);
        a = h.map("tanh", {x}), b = h.cast(h.map("mul", {a, a}), DataType::F32);
        expect(h.compare({b}, 2 * rounding(between)), {"tanh+mul+cast"});
    }
    Record t;  // integers via floats: two kinds of arithmetic
    x = t.input({50}, DataType::I64);
    Tensor a = t.cast(x, DataType::F32), b = t.map("mul", {a, a}), c = t.cast(b, DataType::I64);
    t.compare({c});
    Record u;  // and of 64 bits
    x = u.input({50}, DataType::I64);
    a = u.map("mul", {x, x}), b = u.map("sub", {a, x});
    expect(u.compare({b}), {"mul+sub"});
    Record v;  // those of 32 wrap
    x = v.input({50}, DataType::I32);
    a = v.map("mul", {x, x}), b = v.map("sub", {a, x});
    expect(v.compare({b}), {"mul", "sub"});
    Record w;
    x = w.input({50}, DataType::F64);
    a = w.map("mul", {x, x}), b = w.map("sub", {a, x});
    expect(w.compare({b}), {"mul+sub"});
}

// A copy, of any type, is fused with the producer of its source, or with its reader.
void copies() {
    Record r;  // two results adjacent in one tensor
    Tensor x = r.input({6, 40}), y = r.input({6, 8}), both = r.result({6, 48});
    r.record("rearrange", {both->narrow({{1, 0, 40}}), r.map("tanh", {x})});
    r.record("rearrange", {both->narrow({{1, 40, 8}}), r.map("neg", {y})});
    expect(r.compare({both}), {"tanh+rearrange", "neg+rearrange"});

    Record s;  // of truth values, and of integers
    x = s.input({6, 40}), y = s.input({6, 40});
    Tensor less = s.map("less", {x, y}, DataType::BOOL), out = s.result({40, 6}, DataType::BOOL);
    s.record("rearrange", {out->permute({1, 0}), less});
    Tensor whole = s.cast(x, DataType::I32), other = s.result({6, 50}, DataType::I32);
    s.record("rearrange", {other->narrow({{1, 3, 40}}), whole});
    expect(s.compare({out, other}), {"less+rearrange", "cast+rearrange"});

    Record t;  // before a map; before a norm or another copy they are kept
    x = t.input({20, 30});
    Tensor a = t.map("rearrange", {x->permute({1, 0})}), b = t.map("tanh", {a});
    Tensor c = t.map("rearrange", {t.map("rearrange", {x->permute({1, 0})})});
    Tensor d = t.softmax(t.map("rearrange", {x->permute({1, 0})}), 1);
    expect(t.compare({b, c, d}, 1e-6),
           {"rearrange+tanh", "rearrange", "rearrange", "rearrange", "softmax"});

    Record u;  // over what is read
    x = u.input({20, 20});
    u.record("rearrange", {x->permute({1, 0}), u.map("tanh", {x})});
    expect(u.compare({}), {"tanh", "rearrange"});
    Record v;
    x = v.input({20, 20});
    v.record("rearrange", {x, v.softmax(v.map("tanh", {x}), 1)});
    expect(v.compare({}, 1e-6), {"tanh+softmax+rearrange"});
    Record w;  // of a product
    x = w.input({20, 30}), out = w.result({20, 90});
    w.record("rearrange", {out->narrow({{1, 10, 60}}), w.gemm(x, w.input({30, 60}))});
    expect(w.compare({out}, 1e-5), {"gemm+rearrange"});
}

void empty_tensors() {
    Record r;
    Tensor x = r.input({0, 8});
    Tensor a = r.map("tanh", {x}), b = r.map("neg", {a});
    r.compare({b});
    Record s;
    Tensor g = s.gemm(s.input({0, 8}), s.input({8, 4}));
    s.compare({s.map("tanh", {g})});
}

// ---- Rows ---------------------------------------------------------------------------------------

void norms() {
    for (DataType dtype : {DataType::F32, DataType::F16, DataType::BF16}) {
        const double tolerance = dtype == DataType::F32 ? 1e-6 : 4 * rounding(dtype);
        for (size_t columns : {8u, 200u, 5000u}) {
            Record r{unsigned(columns)};  // maps before and after
            const ic::Shape shape = {6, columns};
            Tensor x = r.input(shape, dtype), y = r.input(shape, dtype);
            Tensor w = r.input({columns}, dtype);
            Tensor a = r.map("add", {x, y});
            Tensor b = r.rms_norm(a, w);
            Tensor c = r.map("silu", {b});
            Tensor d = r.map("mul", {c, y});
            expect(r.compare({d, a}, tolerance), {"add+rms_norm+silu+mul"});
        }
    }
    for (int axis : {0, 1, 2}) {
        Record r;
        Tensor x = r.input({3, 20, 70});
        Tensor half = r.input({});
        Tensor a = r.map("mul", {x, Record::spread(half, x->shape())});
        Tensor b = r.softmax(a, axis);
        Tensor c = r.map("mul", {b, x});
        expect(r.compare({c}, 1e-6), {"mul+softmax+mul"});
    }
    Record s;  // a norm of another view, and a view of its result
    Tensor x = s.input({6, 32}), w = s.input({32}), y = s.input({2, 3, 32});
    Tensor a = s.map("tanh", {x});
    Tensor b = s.rms_norm(a->view({2, 3, 32}), w);
    Tensor c = s.map("neg", {b->view({6, 32})});
    expect(s.compare({c}, 1e-6), {"tanh+rms_norm+neg"});

    Record t;  // two norms are not fused
    x = t.input({6, 32}), w = t.input({32});
    b = t.rms_norm(t.rms_norm(x, w), w);
    expect(t.compare({b}), {"rms_norm", "rms_norm"});
}

void sums() {
    for (bool keep : {false, true})
        for (size_t dim : {0u, 1u, 2u}) {
            Record r;
            Tensor x = r.input({4, 30, 50}), y = r.input({4, 30, 50});
            Tensor a = r.map("mul", {x, y});
            Tensor b = r.sum(a, dim, keep);
            Tensor c = r.map("sqrt", {r.map("abs", {b})});
            expect(r.compare({c}, 1e-5), {"mul+sum+abs+sqrt"});
        }
    Record r;  // the sum of what is broadcast: its shape must not be lost
    Tensor x = r.input({30}), a = r.result({4, 30});
    r.record("cast", {a, Record::spread(x, {4, 30})});
    Tensor b = r.sum(a, 0, false);
    r.compare({b}, 1e-6);
    Record s;
    a = s.result({4, 30});
    s.record("fill", {a}, {{.f = 0.5}});
    b = s.sum(a, 0, false);
    s.compare({b}, 1e-6);
}

// Rows that are cut in chunks, along and across.
void long_rows() {
    for (bool across : {false, true})
        for (size_t rows : {1u, 3u}) {
            const ic::Shape shape = across ? ic::Shape{20000, rows * 20} : ic::Shape{rows, 50000};
            Record r;
            Tensor x = r.input(shape), y = r.input(shape);
            Tensor a = r.map("mul", {x, y});
            Tensor b = r.map("tanh", {r.sum(r.map("tanh", {a}), across ? 0 : 1, false)});
            expect(r.compare({b}, 1e-4), {"mul+tanh+sum+tanh"});
            Record s;
            x = s.input(shape), y = s.input(shape);
            a = s.map("tanh", {s.map("mul", {x, y})});
            b = s.softmax(a, across ? 0 : 1);
            Tensor c = s.map("add", {s.map("mul", {b, a}), x});
            expect(s.compare({c}, 1e-5), {"mul+tanh+softmax+mul+add"});
        }
}

}  // namespace

int main() {
    RUN(chains_of_maps);
    RUN(two_makers_of_one);
    RUN(several_readers);
    RUN(in_place);
    RUN(moved_up);
    RUN(other_views);
    RUN(types);
    RUN(copies);
    RUN(empty_tensors);
    RUN(norms);
    RUN(sums);
    RUN(long_rows);
}
