// Layers of infinicore::nn with an array interface, for tests that compare with NumPy. Every
// function returns an empty string or an error message.
#include <cstring>
#include <infinicore/nn.hpp>
#include <string>
#include <unordered_map>

using namespace infinicore;

namespace {

struct Array {
    const char *name;
    void *data;
    int dtype;
    int rank;
    size_t shape[4];
};

Tensor host(const Array &array) {
    return Tensor::from_blob(array.data, Shape(array.shape, array.shape + array.rank),
                             DataType(array.dtype), Device::cpu());
}

// A copy: the layers work in place.
Tensor given(const Array &array) {
    Tensor copy = Tensor::empty(host(array)->shape(), DataType(array.dtype), context::getDevice());
    copy->copy_from(host(array));
    return copy;
}

void give(const Array &array, const Tensor &tensor) {
    host(array)->copy_from(tensor);
    context::syncStream();
}

std::string said;

template <class Work>
const char *attempt(Work work) {
    said.clear();
    try {
        context::setDevice(context::getDevice());
        work();
    } catch (const std::exception &error) {
        said = error.what();
    }
    return said.c_str();
}

struct Rope {
    size_t head_dim, rotary_dim, max_seq_len;
    double theta;
    int algo, dtype;
    const char *scaling;  // longrope, llama3, yarn or empty
    const float *numbers;
    size_t original;
    const int *section;  // null: none
    int interleaved;
};

std::shared_ptr<nn::RopeScalingConfig> scaling_of(const Rope &rope) {
    std::string name = rope.scaling;
    const float *n = rope.numbers;
    size_t half = rope.rotary_dim / 2;
    if (name == "longrope")
        return std::make_shared<nn::LongRopeScalingConfig>(
            std::vector<float>(n + 1, n + 1 + half),
            std::vector<float>(n + 1 + half, n + 1 + 2 * half), rope.original, n[0]);
    if (name == "llama3")
        return std::make_shared<nn::Llama3RopeScalingConfig>(n[0], n[1], n[2], rope.original);
    if (name == "yarn")
        return std::make_shared<nn::YarnRopeScalingConfig>(
            n[0], rope.original, rope.rotary_dim, float(rope.theta), n[1], n[2], n[3], n[4]);
    return nullptr;
}

nn::RoPE made(const Rope &rope) {
    std::optional<std::vector<int>> section;
    if (rope.section) section = std::vector<int>(rope.section, rope.section + 3);
    return nn::RoPE(rope.head_dim, rope.rotary_dim, rope.max_seq_len, rope.theta,
                    nn::RoPE::Algo(rope.algo), DataType(rope.dtype), context::getDevice(),
                    scaling_of(rope), section, rope.interleaved != 0);
}

std::shared_ptr<quantization::BaseQuantization> quantization_of(const std::string &name,
                                                                int group_size, int desc_act) {
    quantization::Config config = {
        {"bits", 4}, {"group_size", group_size}, {"desc_act", desc_act != 0}};
    if (name == "awq") return std::make_shared<quantization::AWQ>(config);
    if (name == "gptq") return std::make_shared<quantization::GPTQ>(config);
    if (name == "gptq_qy") return std::make_shared<quantization::GPTQ_QY>(config);
    if (name == "w8a8") return std::make_shared<quantization::CompressedTensors>(config);
    return std::make_shared<quantization::NoneQuantization>(nullptr);
}

}  // namespace

extern "C" {

const char *rope_tables(const Rope *rope, const Array *sin, const Array *cos) {
    return attempt([&] {
        nn::RoPE layer = made(*rope);
        if (!layer.state_dict().empty()) throw std::runtime_error("the tables are in state_dict()");
        give(*sin, layer.sin_cache());
        give(*cos, layer.cos_cache());
    });
}

// x is rotated in place and out of place; both must agree.
const char *rope_one(const Rope *rope, const Array *x, const Array *positions, const Array *out) {
    return attempt([&] {
        nn::RoPE layer = made(*rope);
        Tensor wide = given(*x), part = wide;
        if (wide->size(wide->ndim() - 1) > rope->head_dim)  // as of a fused tensor
            part = wide->narrow({{wide->ndim() - 1, 0, rope->head_dim}});
        Tensor turned = layer.forward(part, given(*positions));
        give(*out, turned);
        if (layer.forward(part, given(*positions), true).impl() != part.impl())
            throw std::runtime_error("in place it returns another tensor");
        Tensor again = part->contiguous()->to(Device::cpu()), before = turned->to(Device::cpu());
        if (std::memcmp(again->data(), before->data(), again->nbytes()))
            throw std::runtime_error("in place it gives another result");
    });
}

const char *rope_two(const Rope *rope, const Array *q, const Array *k, const Array *positions,
                     const Array *q_out, const Array *k_out) {
    return attempt([&] {
        nn::RoPE layer = made(*rope);
        Tensor queries = given(*q), keys = given(*k);
        auto [turned, turned_keys] = layer.forward(queries, keys, given(*positions));
        give(*q_out, turned);
        give(*k_out, turned_keys);
        layer.forward(queries, keys, queries, keys, given(*positions));
        Tensor again = queries->to(Device::cpu()), before = turned->to(Device::cpu());
        if (std::memcmp(again->data(), before->data(), again->nbytes()))
            throw std::runtime_error("into the inputs it gives another result");
    });
}

// Each rank's slice of the checkpoint's tensors, and its part of the product.
const char *linear(const char *scheme, int is_row, size_t in, size_t out, int group_size,
                   int desc_act, float alpha, size_t rank, size_t ranks, int dtype, int count,
                   const Array *parameters, const Array *input, const Array *output) {
    return attempt([&] {
        Device device = context::getDevice();
        auto quantization = quantization_of(scheme, group_size, desc_act);
        bool bias = false;
        std::unordered_map<std::string, Tensor> state;
        for (int i = 0; i < count; ++i) {
            state[parameters[i].name] = host(parameters[i]);
            bias |= std::string(parameters[i].name) == "bias";
        }
        auto compute = [&](auto &layer) {
            layer.set_alpha(alpha);
            layer.load_parameters_no_sync(state);
            layer.process_weights_after_loading();
            if (layer.state_dict().size() != state.size())
                throw std::runtime_error("the layer has other parameters");
            Tensor x = given(*input);
            give(*output, layer.forward(x));
        };
        if (is_row) {
            nn::RowParallelLinear layer(in, out, quantization, bias, DataType(dtype), device, rank,
                                        ranks);
            compute(layer);
        } else if (ranks > 1) {
            nn::ColumnParallelLinear layer(in, out, quantization, bias, DataType(dtype), device,
                                           rank, ranks);
            compute(layer);
        } else {
            nn::Linear layer(in, out, quantization, bias, DataType(dtype), device);
            compute(layer);
        }
    });
}

const char *norm(const char *kind, double eps, const Array *x, const Array *residual,
                 const Array *weight, const Array *bias) {
    return attempt([&] {
        size_t size = weight->shape[0];
        Device device = context::getDevice();
        Tensor input = given(*x);
        if (std::string(kind) == "layer") {
            nn::LayerNorm layer(size, eps, DataType(weight->dtype), device);
            layer.load_state_dict({{"weight", host(*weight)}, {"bias", host(*bias)}});
            return give(*x, layer.forward(input));
        }
        nn::RMSNorm layer(size, eps, DataType(weight->dtype), device);
        layer.load_parameter("weight", host(*weight));
        if (std::string(kind) == "rms") return give(*x, layer.forward(input));
        Tensor sum = given(*residual);
        layer.forward_inplace(input, sum);
        give(*x, input);
        give(*residual, sum);
    });
}

}  // extern "C"
