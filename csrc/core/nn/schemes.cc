#include "schemes.h"

#include <algorithm>

#include "layout.h"
#include "schemes.h"

namespace infinicore::quantization {

BaseQuantization::~BaseQuantization() = default;

QuantScheme NoneQuantization::get_quant_scheme() const { return QuantScheme::NONE; }
QuantScheme AWQ::get_quant_scheme() const { return QuantScheme::AWQ_W4A16; }
QuantScheme GPTQ::get_quant_scheme() const { return QuantScheme::GPTQ_W4A16; }
QuantScheme GPTQ_QY::get_quant_scheme() const { return QuantScheme::GPTQ_W4A16_QY; }
QuantScheme CompressedTensors::get_quant_scheme() const {
    return QuantScheme::COMPRESSED_TENSOR_W8A8I8;
}

}  // namespace infinicore::quantization

namespace infinicore::nn {

using detail::fail;
using quantization::QuantScheme;

namespace {

constexpr size_t kCodesInWord = 8;  // of 4 bits in an I32

void need_multiple(const char *scheme, const char *argument, size_t value, size_t of) {
    if (of == 0 || value % of)
        fail("Linear", std::string(argument) + " is " + std::to_string(value) +
                           ": expected a multiple of " + std::to_string(of) + " for " + scheme);
}

// The number of input groups, each with its own scale.
size_t groups_of(const char *scheme, const quantization::BaseQuantization &quantization,
                 size_t in) {
    int bits = quantization.get_or<int>("bits", quantization.get_or<int>("w_bit", 4));
    if (bits != 4)
        fail("Linear",
             "the weights have " + std::to_string(bits) + " bits: expected 4 for " + scheme);
    int size = quantization.get_or<int>("group_size", 128);
    if (size == -1) return 1;
    need_multiple(scheme, "in_features", in, size_t(std::max(size, 0)));
    return in / size_t(size);
}

}  // namespace

std::vector<StoredTensor> stored_tensors(const quantization::BaseQuantization &quantization,
                                         size_t in, size_t out, DataType dtype) {
    switch (quantization.get_quant_scheme()) {
        case QuantScheme::NONE:
            return {{Role::WEIGHT, "weight", {out, in}, dtype, 0, 1}};
        case QuantScheme::COMPRESSED_TENSOR_W8A8I8:
            return {{Role::WEIGHT, "weight", {out, in}, DataType::I8, 0, 1},
                    {Role::SCALE, "weight_scale", {out, 1}, DataType::F32, 0, kNoDim}};
        case QuantScheme::AWQ_W4A16: {
            size_t groups = groups_of("AWQ", quantization, in), words = out / kCodesInWord;
            need_multiple("AWQ", "out_features", out, kCodesInWord);
            Size cut = groups > 1 ? 0 : kNoDim;
            return {{Role::WEIGHT, "qweight", {in, words}, DataType::I32, 1, 0},
                    {Role::SCALE, "scales", {groups, out}, dtype, 1, cut},
                    {Role::ZEROS, "qzeros", {groups, words}, DataType::I32, 1, cut}};
        }
        case QuantScheme::GPTQ_W4A16: {
            size_t groups = groups_of("GPTQ", quantization, in), words = out / kCodesInWord;
            need_multiple("GPTQ", "in_features", in, kCodesInWord);
            need_multiple("GPTQ", "out_features", out, kCodesInWord);
            // With activation order a rank's inputs may belong to any group, so it needs all
            // scales.
            bool is_ordered = quantization.get_or<bool>("desc_act", false);
            Size cut = groups > 1 && !is_ordered ? 0 : kNoDim;
            return {{Role::WEIGHT, "qweight", {in / kCodesInWord, out}, DataType::I32, 1, 0},
                    {Role::ZEROS, "qzeros", {groups, words}, DataType::I32, 1, cut},
                    {Role::SCALE, "scales", {groups, out}, dtype, 1, cut},
                    {Role::GROUPS, "g_idx", {in}, DataType::I32, kNoDim, 0}};
        }
        case QuantScheme::GPTQ_W4A16_QY: {
            size_t groups = groups_of("GPTQ_QY", quantization, in);
            need_multiple("GPTQ_QY", "in_features", in, 2);
            Size cut = groups > 1 ? 0 : kNoDim;
            return {{Role::WEIGHT, "qweight", {in / 2, out}, DataType::U8, 1, 0},
                    {Role::ZEROS, "qzeros", {groups, out}, dtype, 1, cut},
                    {Role::SCALE, "scales", {groups, out}, dtype, 1, cut},
                    {Role::GROUPS, "g_idx", {in}, DataType::I32, kNoDim, kNoDim}};
        }
    }
    fail("Linear", "get_quant_scheme() returns an unknown scheme");
}

Tensor multiply(const quantization::BaseQuantization &quantization, const Tensor &input,
                const StoredWeight &stored, const Tensor &bias, float alpha) {
    const auto &[weight, scale, zeros, groups] = stored;
    switch (quantization.get_quant_scheme()) {
        case QuantScheme::NONE:
            return linear(input, weight, bias, alpha);
        case QuantScheme::COMPRESSED_TENSOR_W8A8I8:
            return linear_w8a8i8(input, weight, scale, bias, alpha);
        case QuantScheme::AWQ_W4A16:
            return linear_awq(input, weight, scale, zeros, bias, alpha);
        case QuantScheme::GPTQ_W4A16:
            return linear_gptq(input, weight, scale, zeros, groups, bias, alpha);
        case QuantScheme::GPTQ_W4A16_QY:
            return linear_qyblas(input, weight, scale, zeros, bias, alpha);
    }
    fail("Linear", "get_quant_scheme() returns an unknown scheme");
}

}  // namespace infinicore::nn
