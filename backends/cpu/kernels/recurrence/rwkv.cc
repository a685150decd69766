// rwkv5_wkv. Columns of a head's state are independent: a unit is a few vectors of columns, which
// process all tokens with their sums in registers and their part of the state in L1.
#include "convert.h"
#include "floats.h"
#include "functions.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kStep = kWidth<float>;
constexpr int64_t kVectors = 4;
constexpr int64_t kColumns = kVectors * kStep;  // per unit

struct Sizes {
    int64_t batch, tokens, heads, size;
};

template <class T>
struct Data {
    T *out;
    const T *r, *k, *v, *decay, *bonus;
    float *state;
};

// The scratch memory of a slot: the unit's state, zero-padded, then r, k, u and decay.
size_t scratch_floats(const Sizes &s) { return size_t(s.size * (kColumns + 4)); }

template <class T>
void run_unit(const Sizes &s, const Data<T> &data, int64_t row, int64_t head, int64_t first,
              float *scratch) {
    const int64_t size = s.size, count = size - first < kColumns ? size - first : kColumns;
    float *state = scratch, *r = state + size * kColumns, *k = r + size, *u = k + size;
    float *decay = u + size;
    float *kept = data.state + (row * s.heads + head) * size * size + first;
    for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j < kColumns; ++j)
            state[i * kColumns + j] = j < count ? kept[i * size + j] : 0.0f;
    load_block(u, data.bonus + head * size, size_t(size));
    load_block(decay, data.decay + head * size, size_t(size));
    for (int64_t i = 0; i < size; ++i) decay[i] = exp(-exp(decay[i]));

    for (int64_t t = 0; t < s.tokens; ++t) {
        const int64_t at = ((row * s.tokens + t) * s.heads + head) * size;
        load_block(r, data.r + at, size_t(size));
        load_block(k, data.k + at, size_t(size));
        float some[kColumns] = {};
        load_block(some, data.v + at + first, size_t(count));
        F32 v[kVectors], sum[kVectors] = {};
        for (int64_t j = 0; j < kVectors; ++j) v[j] = load<F32>(some + j * kStep);
        // sum_i r_i u_i k_i v_j is a scalar times v_j.
        float bonus = 0;
        for (int64_t i = 0; i < size; ++i) {
            const F32 r_i = broadcast<F32>(r[i]), k_i = broadcast<F32>(k[i]);
            const F32 decay_i = broadcast<F32>(decay[i]);
            bonus = fma(float(r[i] * u[i]), k[i], bonus);
            for (int64_t j = 0; j < kVectors; ++j) {
                float *place = state + i * kColumns + j * kStep;
                const F32 old = load<F32>(place);
                sum[j] = fma(r_i, old, sum[j]);
                store(place, fma(decay_i, old, F32(k_i * v[j])));
            }
        }
        for (int64_t j = 0; j < kVectors; ++j)
            store(some + j * kStep, fma(broadcast<F32>(bonus), v[j], sum[j]));
        store_block(data.out + at + first, some, size_t(count));
    }
    for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j < count; ++j) kept[i * size + j] = state[i * kColumns + j];
}

template <class T>
std::unique_ptr<Plan> plan_for(const Operation &op) {
    const Tensor decay = op.tensor(4), data_shape = op.tensor(0);
    const Sizes sizes = {data_shape.size(0), data_shape.size(1), decay.size(0), decay.size(1)};
    const int64_t parts = (sizes.size + kColumns - 1) / kColumns;
    const int64_t units = sizes.batch * sizes.heads * parts, threads = int64_t(thread_count());
    const int64_t steps = sizes.batch * sizes.tokens * sizes.heads * sizes.size * sizes.size;
    const int64_t most = units < 8 * threads ? units : 8 * threads;
    const int64_t slots = steps < 50000 ? 1 : most;
    const size_t slot = (scratch_floats(sizes) + 15) / 16 * 16;
    auto run = [=](const Arguments &a) {
        const Data<T> data = {a.pointer<T>(0),       a.pointer<const T>(1), a.pointer<const T>(2),
                              a.pointer<const T>(3), a.pointer<const T>(4), a.pointer<const T>(5),
                              a.pointer<float>(6)};
        parallel_for(size_t(slots), 1, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) {
                float *scratch = reinterpret_cast<float *>(a.workspace()) + i * slot;
                for (int64_t unit = int64_t(i); unit < units; unit += slots) {
                    const int64_t head = unit / parts;
                    run_unit(sizes, data, head / sizes.heads, head % sizes.heads,
                             unit % parts * kColumns, scratch);
                }
            }
        });
    };
    return make_plan(run, size_t(slots) * slot * sizeof(float));
}

std::unique_ptr<Plan> plan_rwkv5_wkv(const Operation &op) {
    return visit_single(op.tensor(0).dtype, [&]<class T>(Type<T>) { return plan_for<T>(op); });
}

INFINI_KERNEL("rwkv5_wkv", plan_rwkv5_wkv);

}  // namespace
}  // namespace infini::cpu
