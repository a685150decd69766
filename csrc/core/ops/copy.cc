// Tensors concatenated, repeated and filled.
#include "../call_arguments.h"
#include "../layout.h"
#include "infinicore/ops/broadcast_to.hpp"
#include "infinicore/ops/cat.hpp"
#include "infinicore/ops/concat_mla_q.hpp"
#include "infinicore/ops/ones.hpp"
#include "infinicore/ops/zeros.hpp"
#include "steps.h"

namespace infinicore::op {

using namespace detail;

namespace {

Shape joined_shape(const char *function, const std::vector<Tensor> &tensors, int dim, size_t *at) {
    if (tensors.empty()) fail(function, "tensors is empty: expected one at least");
    const Tensor &first = tensors[0];
    *at = size_t(from_front(dim, first));
    if (*at >= first->ndim())
        fail(function, "dim is " + std::to_string(dim) + ": expected one of the " +
                           std::to_string(first->ndim()) + " dimensions");
    Shape shape = first->shape();
    shape[*at] = 0;
    for (const Tensor &tensor : tensors) {
        Shape expected = first->shape();
        if (tensor->ndim() == expected.size()) expected[*at] = tensor->shape()[*at];
        if (tensor->shape() != expected)
            refuse_shape(function, "a tensor", tensor, text_of(expected));
        shape[*at] += tensor->shape()[*at];
    }
    return shape;
}

void join(const Tensor &out, const std::vector<Tensor> &tensors, size_t dim) {
    Size start = 0;
    for (const Tensor &tensor : tensors) {
        const Size count = tensor->shape()[dim];
        if (tensor->numel()) store("cat", "out", part(out, dim, start, count), tensor);
        start += count;
    }
}

}  // namespace

void cat_(Tensor out, std::vector<Tensor> tensors, int dim) {
    INFINI_NEED_TENSORS(out);
    size_t at = 0;
    if (joined_shape("cat_", tensors, dim, &at) != out->shape())
        refuse_shape("cat_", "out", out, "the tensors one behind the other");
    for (const Tensor &tensor : tensors)
        if (memories_meet(*tensor->memory(), *out->memory())) {
            const Tensor apart = empty_like(out, out->shape());
            join(apart, tensors, at);
            return out->copy_from(apart);
        }
    join(out, tensors, at);
}

Tensor cat(std::vector<Tensor> tensors, int dim) {
    size_t at = 0;
    Shape shape = joined_shape("cat", tensors, dim, &at);
    Tensor out = empty_like(tensors[0], std::move(shape));
    join(out, tensors, at);
    return out;
}

void concat_mla_q_(const Tensor &ql_nope, const Tensor &q_pe, Tensor q_out) {
    INFINI_NEED_TENSORS(ql_nope, q_pe, q_out);
    cat_(std::move(q_out), {ql_nope, q_pe}, -1);
}

Tensor concat_mla_q(const Tensor &ql_nope, const Tensor &q_pe) {
    INFINI_NEED_TENSORS(ql_nope, q_pe);
    return cat({ql_nope, q_pe}, -1);
}

// A size of -1 keeps the tensor's size.
Tensor broadcast_to(Tensor x, const std::vector<int64_t> &shape) {
    INFINI_NEED_TENSORS(x);
    Shape sizes(shape.begin(), shape.end());
    for (size_t i = 0; i < shape.size(); ++i)
        if (shape[i] == -1 && i + x->ndim() >= shape.size())
            sizes[i] = x->shape()[i + x->ndim() - shape.size()];
    Tensor y = empty_like(x, std::move(sizes));
    broadcast_to_(y, x);
    return y;
}

void ones_(Tensor output) {
    INFINI_NEED_TENSORS(output);
    emit("fill", {output}, {number(1)});
}

void zeros_(Tensor output) {
    INFINI_NEED_TENSORS(output);
    emit("fill", {output}, {number(0)});
}

}  // namespace infinicore::op
