// mamba_selective_scan. Channels are independent: vector lanes hold channels, so that no sums
// across lanes are needed. A block of channels keeps its state and rates transposed, [N, channels],
// in L1.
#include "convert.h"
#include "floats.h"
#include "functions.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kStep = kWidth<float>;
constexpr int64_t kChannels = 16;  // per block: a cache line of F32
constexpr int64_t kVectors = kChannels / kStep;

struct Sizes {
    int64_t batch, tokens, channels, states;
};

template <class T>
struct Data {
    T *out;
    const T *x, *dt, *b, *c, *a_log, *d, *gate, *dt_bias;
    float *state;
};

// The scratch memory of a slot: rates and state by n, each kChannels wide, then b and c of a token.
size_t scratch_floats(const Sizes &s) { return size_t(s.states * (2 * kChannels + 2)); }

struct Channels {
    F32 v[kVectors];
};

template <class T>
INFINI_SIMD Channels load_channels(const T *p, int64_t count) {
    Channels result;
    if (count == kChannels) {
        for (int64_t i = 0; i < kVectors; ++i) result.v[i] = load_f32(p + i * kStep);
        return result;
    }
    float some[kChannels] = {};
    for (int64_t i = 0; i < count; ++i) some[i] = load_element<float>(p[i]);
    for (int64_t i = 0; i < kVectors; ++i) result.v[i] = load<F32>(some + i * kStep);
    return result;
}
template <class T>
INFINI_SIMD void store_channels(T *p, const Channels &x, int64_t count) {
    if (count == kChannels) {
        for (int64_t i = 0; i < kVectors; ++i) store_f32(p + i * kStep, x.v[i]);
        return;
    }
    float some[kChannels];
    for (int64_t i = 0; i < kVectors; ++i) store(some + i * kStep, x.v[i]);
    for (int64_t i = 0; i < count; ++i) store_element(p[i], some[i]);
}

INFINI_SIMD F32 softplus(F32 x) {
    return select(x > 20.0f, x, log1p(exp(minimum(x, broadcast<F32>(20.0f)))));
}
INFINI_SIMD F32 silu(F32 x) { return x / (1.0f + exp(-x)); }

template <class T>
void run_block(const Sizes &s, const Data<T> &data, int64_t row, int64_t first, float *scratch) {
    const int64_t count = s.channels - first < kChannels ? s.channels - first : kChannels;
    const int64_t states = s.states;
    float *rate = scratch, *state = rate + states * kChannels;
    float *b = state + states * kChannels, *c = b + states;
    float *kept = data.state + (row * s.channels + first) * states;
    for (int64_t n = 0; n < states; ++n)
        for (int64_t i = 0; i < kChannels; ++i) {
            const bool there = i < count;
            state[n * kChannels + i] = there ? kept[i * states + n] : 0.0f;
            rate[n * kChannels + i] =
                there ? load_element<float>(data.a_log[(first + i) * states + n]) : 0.0f;
        }
    for (int64_t i = 0; i < states * kChannels; i += kStep)
        store(rate + i, -exp(load<F32>(rate + i)));

    const Channels bias = load_channels(data.dt_bias + first, count);
    const Channels skip = load_channels(data.d + first, count);
    for (int64_t t = 0; t < s.tokens; ++t) {
        const int64_t token = row * s.tokens + t, at = token * s.channels + first;
        load_block(b, data.b + token * states, size_t(states));
        load_block(c, data.c + token * states, size_t(states));
        const Channels x = load_channels(data.x + at, count);
        Channels dt = load_channels(data.dt + at, count), dx, y;
        for (int64_t i = 0; i < kVectors; ++i) {
            dt.v[i] = softplus(dt.v[i] + bias.v[i]);
            dx.v[i] = dt.v[i] * x.v[i];
            y.v[i] = skip.v[i] * x.v[i];
        }
        for (int64_t n = 0; n < states; ++n) {
            float *s_n = state + n * kChannels;
            const float *rate_n = rate + n * kChannels;
            for (int64_t i = 0; i < kVectors; ++i) {
                const F32 decay = exp(F32(load<F32>(rate_n + i * kStep) * dt.v[i]));
                const F32 updated = fma(decay, load<F32>(s_n + i * kStep), F32(dx.v[i] * b[n]));
                store(s_n + i * kStep, updated);
                y.v[i] = fma(updated, broadcast<F32>(c[n]), y.v[i]);
            }
        }
        const Channels gate = load_channels(data.gate + at, count);
        for (int64_t i = 0; i < kVectors; ++i) y.v[i] = y.v[i] * silu(gate.v[i]);
        store_channels(data.out + at, y, count);
    }
    for (int64_t n = 0; n < states; ++n)
        for (int64_t i = 0; i < count; ++i) kept[i * states + n] = state[n * kChannels + i];
}

template <class T>
std::unique_ptr<Plan> plan_for(const Operation &op) {
    const Tensor x = op.tensor(1);
    const Sizes sizes = {x.size(0), x.size(1), x.size(2), op.tensor(5).size(1)};
    const int64_t blocks = (sizes.channels + kChannels - 1) / kChannels;
    const int64_t units = sizes.batch * blocks, threads = int64_t(thread_count());
    const int64_t steps = sizes.batch * sizes.tokens * sizes.channels * sizes.states;
    const int64_t most = units < 8 * threads ? units : 8 * threads;
    const int64_t slots = steps < 10000 ? 1 : most;
    const size_t slot = (scratch_floats(sizes) + 15) / 16 * 16;
    auto run = [=](const Arguments &a) {
        const Data<T> data = {a.pointer<T>(0),       a.pointer<const T>(1), a.pointer<const T>(2),
                              a.pointer<const T>(3), a.pointer<const T>(4), a.pointer<const T>(5),
                              a.pointer<const T>(6), a.pointer<const T>(7), a.pointer<const T>(8),
                              a.pointer<float>(9)};
        parallel_for(size_t(slots), 1, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) {
                float *scratch = reinterpret_cast<float *>(a.workspace()) + i * slot;
                for (int64_t unit = int64_t(i); unit < units; unit += slots)
                    run_block(sizes, data, unit / blocks, unit % blocks * kChannels, scratch);
            }
        });
    };
    return make_plan(run, size_t(slots) * slot * sizeof(float));
}

std::unique_ptr<Plan> plan_mamba_selective_scan(const Operation &op) {
    return visit_single(op.tensor(0).dtype, [&]<class T>(Type<T>) { return plan_for<T>(op); });
}

INFINI_KERNEL("mamba_selective_scan", plan_mamba_selective_scan);

}  // namespace
}  // namespace infini::cpu
