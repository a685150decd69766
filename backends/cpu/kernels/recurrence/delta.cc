// recurrent_gated_delta_rule, chunk_gated_delta_rule and kimi_delta_attention. Work is divided into
// units: some rows of the state of one head of one request, with all its tokens. A unit processes
// its tokens in chunks: their keys, queries and gates are prepared in F32 and then applied to
// groups of four rows of the state, which stay in L1.

#include "convert.h"
#include "floats.h"
#include "functions.h"
#include "recurrence/requests.h"
#include "threads.h"

namespace infini::cpu {

// The delta rule on rows of a state. For each token, with decay A over the columns:
//   S = S A;  d = beta (v - S k);  S = S + d k^T;  out = S q.
// Rows are independent. S A k and S A q are products of the old S with A k and A q, and out = S A q
// + d (k . q), so the update with one token and both products for the next are done in one pass.

// Vectors of a token, each `width` floats long (a multiple of the lanes, zero-padded).
struct Token {
    const float *decay, *k, *decayed_k, *decayed_q;
    float beta, kq;
};

inline constexpr int64_t kDeltaRows = 4;

// Accumulates both products of the state's rows with a token.
template <int64_t rows>
struct Products {
    F32 k[rows], q[rows];

    INFINI_SIMD void clear() {
        for (int64_t row = 0; row < rows; ++row) k[row] = q[row] = F32{};
    }
    INFINI_SIMD void add(int64_t row, F32 state, F32 with_k, F32 with_q) {
        k[row] = fma(state, with_k, k[row]);
        q[row] = fma(state, with_q, q[row]);
    }
    // The token's update of each row; replaces v by the output.
    INFINI_SIMD void finish(const Token &token, float *v, F32 (&delta)[rows]) const {
        for (int64_t row = 0; row < rows; ++row) {
            const float d = token.beta * (v[row] - reduce_add(k[row]));
            v[row] = reduce_add(q[row]) + d * token.kq;
            delta[row] = broadcast<F32>(d);
        }
    }
};

// Applies some tokens to some rows of a state in F32; v [count, v_step] becomes the output.
template <int64_t rows>
void delta_tokens(float *state, int64_t width, const Token *tokens, int64_t count, float *v,
                  int64_t v_step) {
    constexpr int64_t kStep = kWidth<float>;
    Products<rows> products;
    products.clear();
    for (int64_t j = 0; j < width; j += kStep) {
        const F32 k = load<F32>(tokens[0].decayed_k + j), q = load<F32>(tokens[0].decayed_q + j);
        for (int64_t row = 0; row < rows; ++row)
            products.add(row, load<F32>(state + row * width + j), k, q);
    }
    for (int64_t t = 0; t < count; ++t) {
        const Token &token = tokens[t];
        F32 delta[rows];
        products.finish(token, v + t * v_step, delta);
        const bool more = t + 1 < count;
        const Token &next = tokens[more ? t + 1 : t];
        // Copies, because the stores below might alias `tokens`.
        const float *decays = token.decay, *keys = token.k;
        const float *next_keys = next.decayed_k, *next_queries = next.decayed_q;
        products.clear();
        for (int64_t j = 0; j < width; j += kStep) {
            const F32 decay = load<F32>(decays + j), old_k = load<F32>(keys + j);
            const F32 k = load<F32>(next_keys + j), q = load<F32>(next_queries + j);
            for (int64_t row = 0; row < rows; ++row) {
                float *at = state + row * width + j;
                const F32 updated = fma(delta[row], old_k, load<F32>(at) * decay);
                store(at, updated);
                products.add(row, updated, k, q);
            }
        }
    }
}

// Applies one token to rows of a state in its own dtype, without an intermediate copy; a null `to`
// discards the new state. `size` is a multiple of the vector's lanes.
template <int64_t rows, class T>
void delta_once(const T *from, int64_t from_step, T *to, int64_t to_step, int64_t size,
                const Token &token, float *v) {
    constexpr int64_t kStep = kWidth<float>;
    Products<rows> products;
    products.clear();
    for (int64_t j = 0; j < size; j += kStep) {
        const F32 k = load<F32>(token.decayed_k + j), q = load<F32>(token.decayed_q + j);
        for (int64_t row = 0; row < rows; ++row)
            products.add(row, load_f32(from + row * from_step + j), k, q);
    }
    F32 delta[rows];
    products.finish(token, v, delta);
    if (!to) return;
    const float *decays = token.decay, *keys = token.k;
    for (int64_t j = 0; j < size; j += kStep) {
        const F32 decay = load<F32>(decays + j), k = load<F32>(keys + j);
        for (int64_t row = 0; row < rows; ++row) {
            const F32 old = load_f32(from + row * from_step + j) * decay;
            store_f32(to + row * to_step + j, fma(delta[row], k, old));
        }
    }
}

namespace {

constexpr int64_t kChunk = 16;  // tokens prepared together

struct Settings {
    Shape out, initial, final_state, q, k, v, g, beta;
    int a_log = -1, dt_bias = -1;  // tensor indices of kimi_delta_attention
    float scale = 1, lower_bound = 0;
    bool normalise = false;
};

float *aligned(float *p) {
    return reinterpret_cast<float *>((reinterpret_cast<uintptr_t>(p) + 63) & ~uintptr_t(63));
}

template <class T>
class DeltaRule final : public Plan {
public:
    DeltaRule(const Settings &settings, const Requests &requests)
        : s_(settings),
          requests_(requests),
          heads_(s_.v.size[2]),
          rows_(s_.v.size[3]),
          columns_(s_.k.size[3]),
          group_(s_.k.size[2] ? heads_ / s_.k.size[2] : 1) {
        constexpr int64_t kStep = kWidth<float>;
        width_ = (columns_ + kStep - 1) / kStep * kStep;
        const int64_t threads = int64_t(thread_count()), states = requests_.count * heads_;
        const int64_t steps = s_.v.size[0] * s_.v.size[1] * heads_ * rows_ * columns_;
        part_rows_ = rows_;
        if (steps > 100000)
            while (states * parts() < 2 * threads && part_rows_ >= 32)
                part_rows_ = (part_rows_ / 2 + kDeltaRows - 1) / kDeltaRows * kDeltaRows;
        units_ = states * parts();
        slots_ = steps <= 50000 ? 1 : units_ < 4 * threads ? units_ : 4 * threads;
        // The state, the vectors and values of tokens, and 64 bytes for alignment.
        slot_ = part_rows_ * width_ + kChunk * (4 * width_ + part_rows_) + 16;
        workspace = size_t(slots_ * slot_) * sizeof(float) + 64;
    }

    void run(const Arguments &arguments) const override {
        requests_.each_gap(arguments, [&](int64_t row, int64_t begin, int64_t end) {
            for (int64_t head = 0; head < heads_; ++head)
                zero(arguments, row, begin, end, head, 0, rows_);
        });
        if (units_ == 0 || rows_ == 0) return;
        parallel_for(size_t(slots_), 1, [&](size_t begin, size_t end) {
            for (size_t slot = begin; slot < end; ++slot) {
                float *scratch = reinterpret_cast<float *>(arguments.workspace()) + slot * slot_;
                for (int64_t unit = int64_t(slot); unit < units_; unit += slots_)
                    run_unit(arguments, unit, aligned(scratch));
            }
        });
    }

private:
    int64_t parts() const { return rows_ ? (rows_ + part_rows_ - 1) / part_rows_ : 1; }

    T *out_at(const Arguments &arguments, int64_t row, int64_t token, int64_t head) const {
        const int64_t *stride = s_.out.stride;
        return arguments.pointer<T>(0) + row * stride[0] + token * stride[1] + head * stride[2];
    }

    void zero(const Arguments &arguments, int64_t row, int64_t begin, int64_t end, int64_t head,
              int64_t from, int64_t to) const {
        for (int64_t token = begin; token < end; ++token) {
            T *out = out_at(arguments, row, token, head);
            for (int64_t i = from; i < to; ++i) store_element(out[i], 0.0f);
        }
    }

    void run_unit(const Arguments &arguments, int64_t unit, float *scratch) const {
        const int64_t head = unit / parts() % heads_, first = unit % parts() * part_rows_;
        const int64_t last = first + part_rows_ < rows_ ? first + part_rows_ : rows_;
        const Request request = requests_.at(arguments, unit / parts() / heads_);
        if (request.source < 0)
            return zero(arguments, request.row, request.begin, request.end, head, first, last);

        const int64_t *from_stride = s_.initial.stride;
        const T *from = arguments.pointer<const T>(1) + request.source * from_stride[0] +
                        head * from_stride[1] + first * from_stride[2];
        const int64_t *to_stride = requests_.pooled() ? from_stride : s_.final_state.stride;
        T *to = nullptr;
        if (request.target >= 0)
            to = arguments.pointer<T>(requests_.pooled() ? 1 : 2) + request.target * to_stride[0] +
                 head * to_stride[1] + first * to_stride[2];

        float *state = scratch, *vectors = scratch + part_rows_ * width_;
        float *values = vectors + kChunk * 4 * width_;
        const bool once = request.end - request.begin == 1 && columns_ == width_;
        if (!once)
            for (int64_t row = 0; row < last - first; ++row) {
                load_block(state + row * width_, from + row * from_stride[2], size_t(columns_));
                for (int64_t j = columns_; j < width_; ++j) state[row * width_ + j] = 0;
            }
        for (int64_t at = request.begin; at < request.end; at += kChunk) {
            const int64_t count = request.end - at < kChunk ? request.end - at : kChunk;
            Token tokens[kChunk];
            for (int64_t t = 0; t < count; ++t) {
                tokens[t] = prepare(arguments, request.row, at + t, head, vectors + 4 * t * width_);
                const int64_t *stride = s_.v.stride;
                const T *v = arguments.pointer<const T>(5) + request.row * stride[0] +
                             (at + t) * stride[1] + head * stride[2];
                load_block(values + t * part_rows_, v + first, size_t(last - first));
            }
            if (once)
                one_token(from, from_stride[2], to, to_stride[2], last - first, tokens[0], values);
            else
                many_tokens(state, last - first, tokens, count, values);
            for (int64_t t = 0; t < count; ++t)
                store_block(out_at(arguments, request.row, at + t, head) + first,
                            values + t * part_rows_, size_t(last - first));
        }
        if (!once && to)
            for (int64_t row = 0; row < last - first; ++row)
                store_block(to + row * to_stride[2], state + row * width_, size_t(columns_));
    }

    void many_tokens(float *state, int64_t rows, const Token *tokens, int64_t count,
                     float *values) const {
        int64_t row = 0;
        for (; row + kDeltaRows <= rows; row += kDeltaRows)
            delta_tokens<kDeltaRows>(state + row * width_, width_, tokens, count, values + row,
                                     part_rows_);
        for (; row < rows; ++row)
            delta_tokens<1>(state + row * width_, width_, tokens, count, values + row, part_rows_);
    }
    void one_token(const T *from, int64_t from_step, T *to, int64_t to_step, int64_t rows,
                   const Token &token, float *values) const {
        int64_t row = 0;
        for (; row + kDeltaRows <= rows; row += kDeltaRows)
            delta_once<kDeltaRows>(from + row * from_step, from_step,
                                   to ? to + row * to_step : nullptr, to_step, width_, token,
                                   values + row);
        for (; row < rows; ++row)
            delta_once<1>(from + row * from_step, from_step, to ? to + row * to_step : nullptr,
                          to_step, width_, token, values + row);
    }

    // Fills the four vectors of a token, starting at `decay`.
    Token prepare(const Arguments &arguments, int64_t row, int64_t token, int64_t head,
                  float *decay) const {
        float *k = decay + width_, *decayed_k = k + width_, *q = decayed_k + width_;
        const int64_t from = head / group_;
        load_block(q, vector(arguments, 3, s_.q, row, token, from), size_t(columns_));
        load_block(k, vector(arguments, 4, s_.k, row, token, from), size_t(columns_));
        fill_decay(arguments, row, token, head, decay);
        for (int64_t j = columns_; j < width_; ++j) decay[j] = k[j] = q[j] = 0;

        F32 qq = {}, kk = {}, qk = {};
        for (int64_t j = 0; j < width_; j += kWidth<float>) {
            const F32 a = load<F32>(q + j), b = load<F32>(k + j);
            qq = fma(a, a, qq), kk = fma(b, b, kk), qk = fma(a, b, qk);
        }
        const float q_scale = s_.scale * norm(qq), k_scale = norm(kk);
        for (int64_t j = 0; j < width_; j += kWidth<float>) {
            const F32 a = load<F32>(decay + j), key = load<F32>(k + j) * k_scale;
            store(k + j, key);
            store(decayed_k + j, a * key);
            store(q + j, a * (load<F32>(q + j) * q_scale));
        }
        float beta = gate(arguments, 7, s_.beta, row, token, head);
        if (s_.a_log >= 0) beta = 1.0f / (1.0f + exp(-beta));
        return {decay, k, decayed_k, q, beta, reduce_add(qk) * q_scale * k_scale};
    }

    float norm(F32 squares) const {
        return s_.normalise ? 1.0f / sqrt(reduce_add(squares) + 1e-6f) : 1.0f;
    }
    const T *vector(const Arguments &arguments, int place, const Shape &shape, int64_t row,
                    int64_t token, int64_t head) const {
        return arguments.pointer<const T>(place) + row * shape.stride[0] + token * shape.stride[1] +
               head * shape.stride[2];
    }
    float gate(const Arguments &arguments, int place, const Shape &shape, int64_t row,
               int64_t token, int64_t head) const {
        const int64_t *stride = shape.stride;
        return load_as<float>(shape.dtype, arguments.pointer<void>(place),
                              row * stride[0] + token * stride[1] + head * stride[2]);
    }
    void fill_decay(const Arguments &arguments, int64_t row, int64_t token, int64_t head,
                    float *decay) const {
        constexpr int64_t kStep = kWidth<float>;
        if (s_.a_log < 0) {
            const F32 a = broadcast<F32>(exp(gate(arguments, 6, s_.g, row, token, head)));
            for (int64_t j = 0; j < width_; j += kStep) store(decay + j, a);
            return;
        }
        const int64_t *stride = s_.g.stride;
        const int64_t at = row * stride[0] + token * stride[1] + head * stride[2];
        visit_dtype(s_.g.dtype, [&]<class G>(Type<G>) {
            load_block(decay, arguments.pointer<const G>(6) + at, size_t(columns_));
        });
        const float *bias = arguments.pointer<const float>(s_.dt_bias) + head * columns_;
        const float rate = exp(arguments.pointer<const float>(s_.a_log)[head]);
        for (int64_t j = columns_; j < width_; ++j) decay[j] = 0;
        for (int64_t j = 0; j < width_; j += kStep) {
            const int64_t left = columns_ - j;
            const F32 b =
                left >= kStep ? load<F32>(bias + j) : load_partial<F32>(bias + j, size_t(left));
            const F32 x = rate * (load<F32>(decay + j) + b);
            store(decay + j, exp(F32(s_.lower_bound / (1.0f + exp(-x)))));
        }
    }

    const Settings s_;
    const Requests requests_;
    const int64_t heads_, rows_, columns_, group_;
    int64_t width_, part_rows_, units_, slots_, slot_;
};

std::unique_ptr<Plan> plan(const Operation &op, Settings settings, int lengths, int indices) {
    settings.out = op.tensor(0), settings.initial = op.tensor(1);
    settings.final_state = op.tensor(2);
    settings.q = op.tensor(3), settings.k = op.tensor(4), settings.v = op.tensor(5);
    settings.g = op.tensor(6), settings.beta = op.tensor(7);
    const Requests requests(op, lengths, indices, op.tensor(0), op.tensor(1), op.tensor(2));
    return visit_single(settings.out.dtype, [&]<class T>(Type<T>) -> std::unique_ptr<Plan> {
        return std::make_unique<DeltaRule<T>>(settings, requests);
    });
}

float key_scale(const Operation &op) {
    const int64_t size = op.tensor(4).size(-1);
    return size ? float(1.0 / std::sqrt(double(size))) : 1.0f;
}

std::unique_ptr<Plan> plan_delta_rule(const Operation &op) {
    Settings settings;
    if (op.is("kimi_delta_attention")) {
        settings.a_log = 8, settings.dt_bias = 9;
        settings.scale = float(op.number(0)), settings.lower_bound = float(op.number(1));
        settings.normalise = op.integer(2) != 0;
        return plan(op, settings, 10, 11);
    }
    settings.scale = key_scale(op);
    settings.normalise = op.integer(0) != 0;
    const bool chunks = op.is("chunk_gated_delta_rule");
    return chunks ? plan(op, settings, 8, 9) : plan(op, settings, -1, 8);
}

INFINI_KERNEL("delta_rule", plan_delta_rule);

}  // namespace

}  // namespace infini::cpu
