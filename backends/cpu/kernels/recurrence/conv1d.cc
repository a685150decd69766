// causal_conv1d: out[t] = sum_j w[j] x[t - 3 + j] for each channel, with the last three inputs of
// earlier tokens as state. Work is divided into blocks of channels and runs of tokens; in a block,
// groups of four tokens share the weights and most of the inputs in registers.
#include "convert.h"
#include "floats.h"
#include "recurrence/requests.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kChannels = 128;  // per block
constexpr int64_t kTokens = 256;    // per run

// The weights of a block by tap, its bias, and the three inputs before the first token of a run.
struct Block {
    float tap[4][kChannels], bias[kChannels], before[3][kChannels];
};

template <class T>
class CausalConv final : public Plan {
public:
    CausalConv(const Operation &op)
        : out_(op.tensor(0)),
          state_(op.tensor(1)),
          final_(op.tensor(2)),
          x_(op.tensor(3)),
          weight_(op.tensor(4)),
          bias_(op.tensor(5)),
          requests_(op, 6, 7, op.tensor(0), op.tensor(1), op.tensor(2)) {
        channels_ = out_.size[2];
        blocks_ = (channels_ + kChannels - 1) / kChannels;
        // A request may have up to all of the tokens; empty runs cost little.
        runs_ = (requests_.tokens + kTokens - 1) / kTokens;
        runs_ = runs_ ? runs_ : 1;
    }

    void run(const Arguments &arguments) const override {
        requests_.each_gap(arguments, [&](int64_t row, int64_t begin, int64_t end) {
            zero(arguments, row, begin, end, 0, channels_);
        });
        const int64_t items = requests_.count * runs_ * blocks_;
        const int64_t tokens = requests_.tokens < kTokens ? requests_.tokens : kTokens;
        parallel_for(size_t(items), size_t(1 + 64 / (tokens + 3)), [&](size_t begin, size_t end) {
            for (size_t item = begin; item < end; ++item) {
                const int64_t block = int64_t(item) % blocks_, rest = int64_t(item) / blocks_;
                run_item(arguments, rest / runs_, rest % runs_, block * kChannels);
            }
        });
    }

private:
    void zero(const Arguments &arguments, int64_t row, int64_t begin, int64_t end, int64_t first,
              int64_t count) const {
        for (int64_t t = begin; t < end; ++t) {
            T *out = arguments.pointer<T>(0) + row * out_.stride[0] + t * out_.stride[1] + first;
            for (int64_t c = 0; c < count; ++c) store_element(out[c], 0.0f);
        }
    }

    void run_item(const Arguments &arguments, int64_t number, int64_t run, int64_t first) const {
        const int64_t count = channels_ - first < kChannels ? channels_ - first : kChannels;
        const Request request = requests_.at(arguments, number);
        const int64_t begin = request.begin + run * kTokens;
        const int64_t end = begin + kTokens < request.end ? begin + kTokens : request.end;
        if (run > 0 && begin >= end) return;
        if (request.source < 0) return zero(arguments, request.row, begin, end, first, count);

        Block block;
        const T *x = arguments.pointer<const T>(3) + request.row * x_.stride[0] + first;
        const T *state = arguments.pointer<const T>(1) + request.source * state_.stride[0] +
                         first * state_.stride[1];
        // Input `t` of the request, which may be before its first token.
        auto input = [&](float *to, int64_t t) {
            if (t >= request.begin)
                load_block(to, x + t * x_.stride[1], size_t(count));
            else
                load_strided(to, state + (t - request.begin + 3) * state_.stride[2], size_t(count),
                             state_.stride[1]);
        };
        for (int64_t i = 0; i < 3; ++i) input(block.before[i], begin - 3 + i);
        if (begin < end) {
            load_weights(arguments, block, first, count);
            T *out = arguments.pointer<T>(0) + request.row * out_.stride[0] +
                     begin * out_.stride[1] + first;
            convolve(block, out, x + begin * x_.stride[1], end - begin, count);
        }
        // The first run writes the state: it has read the old state, and the new one depends only
        // on that and the inputs.
        if (run == 0 && request.target >= 0) {
            const Shape &shape = requests_.pooled() ? state_ : final_;
            T *to = arguments.pointer<T>(requests_.pooled() ? 1 : 2) +
                    request.target * shape.stride[0] + first * shape.stride[1];
            float last[3][kChannels];
            for (int64_t i = 0; i < 3; ++i) input(last[i], request.end - 3 + i);
            for (int64_t i = 0; i < 3; ++i)
                store_strided(to + i * shape.stride[2], last[i], size_t(count), shape.stride[1]);
        }
    }

    void load_weights(const Arguments &arguments, Block &block, int64_t first,
                      int64_t count) const {
        const T *weight = arguments.pointer<const T>(4) + first * weight_.stride[0];
        for (int64_t j = 0; j < 4; ++j)
            load_strided(block.tap[j], weight + j * weight_.stride[2], size_t(count),
                         weight_.stride[0]);
        for (int64_t c = 0; c < count; ++c) block.bias[c] = 0;
        if (bias_)
            load_strided(block.bias, arguments.pointer<const T>(5) + first * bias_.stride[0],
                         size_t(count), bias_.stride[0]);
    }

    void convolve(Block &block, T *out, const T *x, int64_t tokens, int64_t count) const {
        int64_t t = 0;
        for (; t + 4 <= tokens; t += 4)
            step<4>(block, out + t * out_.stride[1], x + t * x_.stride[1], count);
        for (; t < tokens; ++t)
            step<1>(block, out + t * out_.stride[1], x + t * x_.stride[1], count);
    }

    // Some tokens of all channels of a block; advances `before`.
    template <int64_t tokens>
    void step(Block &block, T *out, const T *x, int64_t count) const {
        constexpr int64_t kStep = kWidth<float>;
        int64_t c = 0;
        for (; c + kStep <= count; c += kStep) {
            F32 input[3 + tokens];
            for (int64_t i = 0; i < 3; ++i) input[i] = load<F32>(block.before[i] + c);
            for (int64_t t = 0; t < tokens; ++t) input[3 + t] = load_f32(x + t * x_.stride[1] + c);
            for (int64_t t = 0; t < tokens; ++t) {
                F32 sum = load<F32>(block.bias + c);
                for (int64_t j = 0; j < 4; ++j)
                    sum = fma(load<F32>(block.tap[j] + c), input[t + j], sum);
                store_f32(out + t * out_.stride[1] + c, sum);
            }
            for (int64_t i = 0; i < 3; ++i) store(block.before[i] + c, input[tokens + i]);
        }
        for (; c < count; ++c) {
            float input[3 + tokens];
            for (int64_t i = 0; i < 3; ++i) input[i] = block.before[i][c];
            for (int64_t t = 0; t < tokens; ++t)
                input[3 + t] = load_element<float>(x[t * x_.stride[1] + c]);
            for (int64_t t = 0; t < tokens; ++t) {
                float sum = block.bias[c];
                for (int64_t j = 0; j < 4; ++j) sum = fma(block.tap[j][c], input[t + j], sum);
                store_element(out[t * out_.stride[1] + c], sum);
            }
            for (int64_t i = 0; i < 3; ++i) block.before[i][c] = input[tokens + i];
        }
    }

    const Shape out_, state_, final_, x_, weight_, bias_;
    const Requests requests_;
    int64_t channels_, blocks_, runs_;
};

std::unique_ptr<Plan> plan_causal_conv1d(const Operation &op) {
    return visit_single(op.tensor(0).dtype, [&]<class T>(Type<T>) -> std::unique_ptr<Plan> {
        return std::make_unique<CausalConv<T>>(op);
    });
}

INFINI_KERNEL("causal_conv1d", plan_causal_conv1d);

}  // namespace
}  // namespace infini::cpu
