#include "infinicore/nn/rope.hpp"

#include <numeric>

#include "infinicore/ops/mrope.hpp"
#include "infinicore/ops/rope.hpp"
#include "infinicore/ops/run.hpp"
#include "layout.h"
#include "runtime.h"
#include "text.h"

namespace infinicore::nn {

using detail::fail;

namespace {

Size product(const Shape &shape, size_t from, size_t to) {
    return std::accumulate(shape.begin() + Stride(from), shape.begin() + Stride(to), Size{1},
                           std::multiplies<>());
}

// A view [..., tokens, heads, head_dim] of x, whose heads may be concatenated in one dimension.
Tensor in_heads(const Tensor &x, size_t head_dim) {
    Shape shape = x->shape();
    if (shape.size() > 2 && shape.back() == head_dim) return x;
    if (shape.size() < 2 || shape.size() > 3 || shape.back() % head_dim)
        fail("RoPE::forward", "a tensor has shape " + text_of(shape) +
                                  ": expected [..., tokens, heads, " + std::to_string(head_dim) +
                                  "]");
    shape.back() /= head_dim;
    shape.push_back(head_dim);
    return x->view(shape);
}

// The operator takes positions of x's leading dimensions, or of its tokens.
Tensor positions_of(const Tensor &x, const Tensor &pos) {
    Shape leading(x->shape().begin(), x->shape().end() - 2);
    Size count = pos->numel(), tokens = leading.back();
    Shape shape = count == tokens ? Shape{tokens} : leading;
    if (count != product(shape, 0, shape.size()))
        fail("RoPE::forward", "the positions have shape " + text_of(pos->shape()) +
                                  ": expected one for each of the tokens " + text_of(leading));
    Tensor dense = pos->contiguous();
    return dense->shape() == shape ? dense : dense->view(shape);
}

bool has_rows(const Tensor &x) { return x->stride(x->ndim() - 1) == 1; }

Tensor like(const Tensor &x) { return Tensor::empty(x->shape(), x->dtype(), x->device()); }

// A view [tokens, heads * head_dim] of x [..., tokens, heads, head_dim]; empty if there is none.
Tensor flat_view(const Tensor &x) {
    const Shape &shape = x->shape();
    const Strides &strides = x->strides();
    size_t rank = shape.size();
    if (strides[rank - 1] != 1) return {};
    if (shape[rank - 2] != 1 && strides[rank - 2] != Stride(shape[rank - 1])) return {};
    for (size_t i = 0; i + 3 < rank; ++i)
        if (shape[i] != 1 && strides[i] != Stride(shape[i + 1]) * strides[i + 1]) return {};
    Size tokens = product(shape, 0, rank - 2), width = product(shape, rank - 2, rank);
    return x->as_strided({tokens, width}, {strides[rank - 3], 1});
}

bool are_three(const Tensor &positions, Size tokens) {
    return positions->ndim() == 2 && positions->size(0) == 3 && positions->size(1) == tokens;
}

}  // namespace

RoPE::RoPE(size_t head_dim, size_t rotary_dim, size_t max_seq_len, double theta, Algo algo,
           const DataType &dtype, const Device &device, std::shared_ptr<RopeScalingConfig> scaling,
           std::optional<std::vector<int>> mrope_section, bool mrope_interleaved)
    : head_dim_(head_dim),
      rotary_dim_(rotary_dim),
      max_seq_len_(max_seq_len),
      theta_(theta),
      algo_(algo),
      dtype_(dtype),
      mrope_section_(std::move(mrope_section)),
      mrope_interleaved_(mrope_interleaved) {
    if (rotary_dim == 0 || rotary_dim % 2 || rotary_dim > head_dim)
        fail("RoPE", "rotary_dim is " + std::to_string(rotary_dim) +
                         ": expected an even number up to head_dim, which is " +
                         std::to_string(head_dim));
    if (!(theta > 0))
        fail("RoPE", "theta is " + text_of(theta) + ": expected a number greater than 0");
    if (mrope_section_) {
        const std::vector<int> &section = *mrope_section_;
        bool is_valid = section.size() == 3;
        for (int each : section) is_valid &= each >= 0;
        if (!is_valid ||
            std::accumulate(section.begin(), section.end(), size_t{0}) * 2 != rotary_dim)
            fail("RoPE", "mrope_section is " + text_of(Shape(section.begin(), section.end())) +
                             ": expected three numbers whose sum is rotary_dim / 2, which is " +
                             std::to_string(rotary_dim / 2));
        if (algo != Algo::GPT_NEOX)
            fail("RoPE", "algo is GPT_J: expected GPT_NEOX, whose pairs mrope_section is about");
    }
    const auto *by_pair = dynamic_cast<const LongRopeScalingConfig *>(scaling.get());
    if (by_pair && by_pair->short_factor().size() != rotary_dim / 2)
        fail("RoPE", "scaling has " + std::to_string(by_pair->short_factor().size()) +
                         " numbers in short_factor and long_factor: expected " +
                         std::to_string(rotary_dim / 2) + ", one for each pair of rotary_dim");
    device_ = device;
    INFINICORE_NN_BUFFER_INIT(sin_cache, ({max_seq_len, rotary_dim / 2}, dtype, device));
    INFINICORE_NN_BUFFER_INIT(cos_cache, ({max_seq_len, rotary_dim / 2}, dtype, device));
    const RopeScalingConfig none;
    const RopeScalingConfig &used = scaling ? *scaling : none;
    fill_tables(used);
}

void RoPE::fill_tables(const RopeScalingConfig &scaling) {
    detail::PausedRecording paused;
    size_t half = rotary_dim_ / 2;
    std::vector<double> frequencies(half);
    for (size_t i = 0; i < half; ++i)
        frequencies[i] = std::pow(theta_, -2.0 * double(i) / double(rotary_dim_));
    std::vector<float> sines(max_seq_len_ * half), cosines(max_seq_len_ * half);
    for (size_t pos = 0, at = 0; pos < max_seq_len_; ++pos) {
        for (size_t i = 0; i < half; ++i, ++at) {
            float base = float(frequencies[i]);
            double angle =
                double(pos) * frequencies[i] * double(scaling.get_freq_scale(pos, i, base));
            double size = scaling.get_magnitude_scale(pos, i, base);
            sines[at] = float(size * std::sin(angle));
            cosines[at] = float(size * std::cos(angle));
        }
    }
    auto store = [&](Parameter &table, std::vector<float> &values) {
        Tensor exact =
            Tensor::from_blob(values.data(), table->shape(), DataType::F32, Device::cpu());
        if (dtype_ == DataType::F32) return table.load(exact);
        Tensor rounded = Tensor::empty(table->shape(), dtype_, Device::cpu());
        op::run("cast", {rounded, exact});
        table.load(rounded);
    };
    store(sin_cache_, sines);
    store(cos_cache_, cosines);
}

void RoPE::rotate(const Tensor &out, const Tensor &x, const Tensor &pos) const {
    // Callers that store the rotated part separately pass that part alone.
    const bool is_part = x->ndim() > 2 && x->shape().back() == rotary_dim_;
    Tensor to = is_part ? out : in_heads(out, head_dim_);
    Tensor from = is_part ? x : in_heads(x, head_dim_);
    if (rotary_dim_ < head_dim_ && !is_part) {
        to->copy_from(from);
        from = to = to->narrow({{to->ndim() - 1, 0, rotary_dim_}});
    }
    Tensor room = has_rows(to) ? to : like(to);
    op::rope_(room, has_rows(from) ? from : from->contiguous(), positions_of(from, pos), sin_cache_,
              cos_cache_, algo_);
    if (room.impl() != to.impl()) to->copy_from(room);
}

void RoPE::rotate_by_three(const Tensor &q_out, const Tensor &k_out, const Tensor &q,
                           const Tensor &k, const Tensor &positions) const {
    auto rows = [](const Tensor &x) {
        Tensor flat = flat_view(x);
        return flat ? flat : flat_view(x->contiguous());
    };
    auto room = [](const Tensor &out) {
        Tensor flat = flat_view(out);
        return flat ? flat : flat_view(like(out));
    };
    Tensor q_room = room(q_out), k_room = room(k_out);
    Size tokens = q_room->size(0);
    bool is_flat = positions->numel() == tokens;
    if (!is_flat && !are_three(positions, tokens))
        fail("RoPE::forward", "the positions have shape " + text_of(positions->shape()) +
                                  ": expected " + text_of(Shape{3, tokens}) +
                                  " or one for each of " + std::to_string(tokens) + " tokens");
    const std::vector<int> &section = *mrope_section_;
    op::mrope_(q_room, k_room, rows(q), rows(k), cos_cache_, sin_cache_,
               is_flat ? positions->contiguous()->view({tokens}) : positions, int(head_dim_),
               int(rotary_dim_), section[0], section[1], section[2], mrope_interleaved_);
    if (!flat_view(q_out)) q_out->copy_from(q_room->view(q_out->shape()));
    if (!flat_view(k_out)) k_out->copy_from(k_room->view(k_out->shape()));
}

Tensor RoPE::forward(const Tensor &x, const Tensor &pos, bool in_place) const {
    Tensor out = in_place ? x : like(x);
    if (mrope_section_) {
        Tensor heads = in_heads(x, head_dim_);
        Size tokens = product(heads->shape(), 0, heads->ndim() - 2);
        if (are_three(pos, tokens) && pos->numel() != tokens) {
            Tensor nothing = Tensor::empty({tokens, 0, head_dim_}, x->dtype(), x->device());
            rotate_by_three(in_heads(out, head_dim_), nothing, heads, nothing, pos);
            return out;
        }
    }
    rotate(out, x, pos);
    return out;
}

std::pair<Tensor, Tensor> RoPE::forward(const Tensor &q, const Tensor &k,
                                        const Tensor &positions) const {
    return forward(like(q), like(k), q, k, positions);
}

std::pair<Tensor, Tensor> RoPE::forward(const Tensor &q_out, const Tensor &k_out, const Tensor &q,
                                        const Tensor &k, const Tensor &positions) const {
    if (mrope_section_) {
        rotate_by_three(in_heads(q_out, head_dim_), in_heads(k_out, head_dim_),
                        in_heads(q, head_dim_), in_heads(k, head_dim_), positions);
    } else {
        rotate(q_out, q, positions);
        rotate(k_out, k, positions);
    }
    return {q_out, k_out};
}

std::string RoPE::extra_repr() const {
    return "RoPE(head_dim=" + std::to_string(head_dim_) +
           ", rotary_dim=" + std::to_string(rotary_dim_) +
           ", max_seq_len=" + std::to_string(max_seq_len_) + ", theta=" + text_of(theta_) +
           ", algo=" + (algo_ == Algo::GPT_J ? "GPT_J" : "GPT_NEOX") +
           ", dtype=" + toString(dtype_) + ")";
}

}  // namespace infinicore::nn
