// Linear layers with quantised weights.
#include "infinicore/ops/dequantize_awq.hpp"
#include "infinicore/ops/dynamic_scaled_int8_quant.hpp"
#include "infinicore/ops/gptq_marlin_gemm.hpp"
#include "infinicore/ops/linear.hpp"
#include "infinicore/ops/linear_w4a16_awq.hpp"
#include "infinicore/ops/linear_w8a8i8.hpp"
#include "infinicore/ops/matmul.hpp"
#include "infinicore/ops/mxfp4_dequantize.hpp"
#include "infinicore/ops/per_channel_quant_i8.hpp"
#include "infinicore/ops/scaled_mm_w8a8.hpp"
#include "steps.h"

namespace infinicore::op {

using namespace detail;

namespace {

bool is_half(DataType dtype) { return dtype == DataType::F16 || dtype == DataType::BF16; }

// (a * rows) @ (b * columns) + bias of int8 a [M, K], b [K, N], with a scale for each row of a and
// each column of b. Sums are exact; only the result is rounded.
Tensor int8_product(const Tensor &a, const Tensor &b, const Tensor &row_scales,
                    const Tensor &column_scales, const std::optional<Tensor> &bias,
                    DataType dtype) {
    const Size rows = a->shape()[0], columns = b->shape()[1];
    const auto scales_for = [](const Tensor &scales, Size count) {
        const Tensor flat = reshape(cast_to(scales, DataType::F32), {scales->numel()});
        return expand(flat, {count});
    };
    const Tensor of_rows = scales_for(row_scales, rows);
    const Tensor of_columns = scales_for(column_scales, columns);
    const bool has_bias = bias && *bias;
    if (is_half(dtype)) {
        Tensor out = empty_like(a, {rows, columns}, dtype);
        const Tensor shift = has_bias ? cast_to(reshape(*bias, {columns}), dtype) : Tensor();
        emit("int8_gemm", {out, shift, a, of_rows, b, of_columns});
        return out;
    }
    const Tensor sums = matmul(cast_to(a, DataType::F32), cast_to(b, DataType::F32), 1.0f);
    Tensor made = make("mul", {sums, of_rows->contiguous()->view({rows, 1})});
    made = make("mul", {made, of_columns});
    if (has_bias) made = make("add", {made, cast_to(*bias, DataType::F32)});
    return cast_to(made, dtype);
}

struct Quantised {
    Tensor codes, scales;
};

// Rows quantised to int8, each with the scale max |x| / 127.
Quantised quantised(const Tensor &rows) {
    Tensor codes = empty_like(rows, rows->shape(), DataType::I8);
    Tensor scales = empty_like(rows, {rows->shape()[0], 1}, DataType::F32);
    per_channel_quant_i8_(rows, codes, scales);
    return {codes, scales};
}

Tensor rows_of(const char *function, const Tensor &input, Size width) {
    if (input->ndim() == 0 || input->shape().back() != width)
        refuse_shape(function, "input", input, "rows of " + std::to_string(width));
    return reshape(input, {width ? input->numel() / width : 0, width});
}

Shape shape_of_rows(const Tensor &input, Size count) {
    Shape shape = input->shape();
    if (!shape.empty()) shape.back() = count;
    return shape;
}

}  // namespace

// weight_packed is int8 [N, K], weight_scale F32 [N]; rows of the input are quantised.
void linear_w8a8i8_(Tensor out, Tensor input, Tensor weight_packed, Tensor weight_scale,
                    std::optional<Tensor> bias) {
    INFINI_NEED_TENSORS(out, input, weight_packed, weight_scale);
    need_rank("linear_w8a8i8_", "weight_packed", weight_packed, 2);
    const Quantised rows = quantised(rows_of("linear_w8a8i8_", input, weight_packed->shape()[1]));
    const Tensor made = int8_product(rows.codes, weight_packed->permute({1, 0}), rows.scales,
                                     weight_scale, bias, out->dtype());
    store("linear_w8a8i8_", "out", out,
          made->view(shape_of_rows(input, weight_packed->shape()[0])));
}

Tensor linear_w8a8i8(Tensor input, Tensor weight_packed, Tensor weight_scale,
                     std::optional<Tensor> bias) {
    INFINI_NEED_TENSORS(input, weight_packed, weight_scale);
    need_rank("linear_w8a8i8", "weight_packed", weight_packed, 2);
    Tensor out = empty_like(input, shape_of_rows(input, weight_packed->shape()[0]));
    linear_w8a8i8_(out, input, weight_packed, weight_scale, std::move(bias));
    return out;
}

// weight_packed is [K, N / 8] of I32, in AWQ's order.
void linear_w4a16_awq_(Tensor out, Tensor input, Tensor weight_packed, Tensor weight_scale,
                       Tensor weight_zeros, std::optional<Tensor> bias) {
    INFINI_NEED_TENSORS(out, input, weight_packed, weight_scale, weight_zeros);
    need_rank("linear_w4a16_awq_", "weight_packed", weight_packed, 2);
    const Shape shape{weight_packed->shape()[0], weight_packed->shape()[1] * 8};
    const Tensor weight = empty_like(input, shape, DataType::F16);
    dequantize_awq_(weight, weight_packed, cast_to(weight_scale, DataType::F16), weight_zeros);
    linear_packed_(out, input, cast_to(weight, input->dtype()), std::move(bias), 1.0f);
}

Tensor linear_w4a16_awq(Tensor input, Tensor weight_packed, Tensor weight_scale,
                        Tensor weight_zeros, std::optional<Tensor> bias) {
    INFINI_NEED_TENSORS(input, weight_packed, weight_scale, weight_zeros);
    need_rank("linear_w4a16_awq", "weight_packed", weight_packed, 2);
    Tensor out = empty_like(input, shape_of_rows(input, weight_packed->shape()[1] * 8));
    linear_w4a16_awq_(out, input, weight_packed, weight_scale, weight_zeros, std::move(bias));
    return out;
}

Tensor mxfp4_dequantize(const Tensor &packed, const Tensor &scales, const DataType &output_dtype) {
    INFINI_NEED_TENSORS(packed, scales);
    Shape shape = packed->shape();
    if (shape.empty()) refuse_shape("mxfp4_dequantize", "packed", packed, "one dimension at least");
    shape.back() *= 2;
    Tensor output = empty_like(packed, std::move(shape), output_dtype);
    mxfp4_dequantize_(output, packed, scales);
    return output;
}

// The operator allocates its own workspace. The size is not 0 because callers allocate a tensor of
// this many bytes.
size_t gptq_marlin_gemm_workspace_size(Tensor, const Tensor &, const Tensor &, Tensor &, Tensor &,
                                       Tensor &, Tensor &, Tensor &) {
    return 16;
}

void gptq_marlin_gemm_with_workspace_(Tensor, Tensor out, const Tensor &a, const Tensor &b,
                                      Tensor &b_scales, Tensor &global_scales, Tensor &b_zeros,
                                      Tensor &g_idx, Tensor &perm, int64_t b_q_type_id,
                                      bool is_k_full, bool use_atomic_add, bool use_fp32_reduce,
                                      bool is_zp_float) {
    gptq_marlin_gemm_(out, a, b, b_scales, global_scales, b_zeros, g_idx, perm, b_q_type_id,
                      is_k_full, use_atomic_add, use_fp32_reduce, is_zp_float);
}

void gptq_marlin_gemm_with_workspace_direct_(Tensor workspace, Tensor out, const Tensor &a,
                                             const Tensor &b, Tensor &b_scales,
                                             Tensor &global_scales, Tensor &b_zeros, Tensor &g_idx,
                                             Tensor &perm, int64_t b_q_type_id, bool is_k_full,
                                             bool use_atomic_add, bool use_fp32_reduce,
                                             bool is_zp_float) {
    gptq_marlin_gemm_with_workspace_(workspace, out, a, b, b_scales, global_scales, b_zeros, g_idx,
                                     perm, b_q_type_id, is_k_full, use_atomic_add, use_fp32_reduce,
                                     is_zp_float);
}

void dynamic_scaled_int8_quant_(Tensor output, const Tensor &input, Tensor input_scales) {
    INFINI_NEED_TENSORS(output, input, input_scales);
    if (input->ndim() == 0)
        refuse_shape("dynamic_scaled_int8_quant_", "input", input, "one dimension at least");
    const Quantised made =
        quantised(rows_of("dynamic_scaled_int8_quant_", input, input->shape().back()));
    store("dynamic_scaled_int8_quant_", "output", output, made.codes->view(input->shape()));
    // One scale per row.
    const Size rows = made.scales->numel();
    if (input_scales->numel() != rows)
        refuse_shape("dynamic_scaled_int8_quant_", "input_scales", input_scales,
                     std::to_string(rows) + " elements, one for each row");
    store("dynamic_scaled_int8_quant_", "input_scales", input_scales,
          made.scales->view(input_scales->shape()));
}

Tensor dynamic_scaled_int8_quant(const Tensor &input, Tensor input_scales) {
    INFINI_NEED_TENSORS(input, input_scales);
    Tensor output = empty_like(input, input->shape(), DataType::I8);
    dynamic_scaled_int8_quant_(output, input, std::move(input_scales));
    return output;
}

// b is int8 [N, K], or [K, N] without trans_weight.
void scaled_mm_w8a8_(Tensor out, const Tensor &a, const Tensor &b, const Tensor &a_scales,
                     const Tensor &b_scales, std::optional<Tensor> bias, bool trans_weight) {
    INFINI_NEED_TENSORS(out, a, b, a_scales, b_scales);
    need_rank("scaled_mm_w8a8_", "a", a, 2);
    need_rank("scaled_mm_w8a8_", "b", b, 2);
    store("scaled_mm_w8a8_", "out", out,
          int8_product(a, trans_weight ? b->permute({1, 0}) : b, a_scales, b_scales, bias,
                       out->dtype()));
}

Tensor scaled_mm_w8a8(const Tensor &a, const Tensor &b, const Tensor &a_scales,
                      const Tensor &b_scales, std::optional<Tensor> bias, bool trans_weight) {
    INFINI_NEED_TENSORS(a, b, a_scales, b_scales);
    need_rank("scaled_mm_w8a8", "a", a, 2);
    need_rank("scaled_mm_w8a8", "b", b, 2);
    return int8_product(a, trans_weight ? b->permute({1, 0}) : b, a_scales, b_scales, bias,
                        DataType::F16);
}

}  // namespace infinicore::op
