#include "steps.h"

#include "../layout.h"
#include "../recorder.h"
#include "../step.h"

namespace infinicore::detail {

void emit(const char *name, std::initializer_list<Given> tensors,
          std::initializer_list<GivenValue> attributes, std::initializer_list<GivenValue> scalars,
          std::initializer_list<Given> bare) {
    const Row *row = find_row(name);
    if (!row) fail(name, "no such operator");
    call(int(row - kRows), 0, tensors.begin(), attributes.begin(), scalars.begin(),
         bare.size() ? bare.begin() : nullptr);
}

Tensor make(const char *name, std::initializer_list<Given> inputs,
            std::initializer_list<GivenValue> attributes,
            std::initializer_list<GivenValue> scalars) {
    const Row *row = find_row(name);
    if (!row) fail(name, "no such operator");
    Tensor made;
    std::vector<Given> tensors{Given::result(made)};
    tensors.insert(tensors.end(), inputs);
    call(int(row - kRows), 0, tensors.data(), attributes.begin(), scalars.begin());
    return made;
}

Tensor empty_like(const Tensor &tensor, Shape shape) {
    return Tensor::empty(shape, tensor->dtype(), tensor->device());
}

Tensor empty_like(const Tensor &tensor, Shape shape, DataType dtype) {
    return Tensor::empty(shape, dtype, tensor->device());
}

Tensor full(const Tensor &like, DataType dtype, double value) {
    Tensor made = empty_like(like, {}, dtype);
    emit("fill", {made}, {number(value)});
    return made;
}

Tensor count_from(const Tensor &like, size_t count, DataType dtype, double start, double step) {
    Tensor made = empty_like(like, {count}, dtype);
    emit("arange", {made}, {number(start), number(step)});
    return made;
}

Tensor cast_to(const Tensor &tensor, DataType dtype) {
    if (tensor->dtype() == dtype) return tensor;
    Tensor made = empty_like(tensor, tensor->shape(), dtype);
    emit("cast", {made, tensor});
    return made;
}

Tensor at_least_f32(const Tensor &tensor) {
    return tensor->dtype() == DataType::F64 ? tensor : cast_to(tensor, DataType::F32);
}

Tensor expand(const Tensor &tensor, const Shape &shape) {
    if (tensor->ndim() > shape.size())
        refuse_shape("expand", "the tensor", tensor, "one that broadcasts to " + text_of(shape));
    const size_t ahead = shape.size() - tensor->ndim();
    Strides strides(shape.size(), 0);
    for (size_t i = 0; i < tensor->ndim(); ++i) {
        if (tensor->shape()[i] == shape[ahead + i])
            strides[ahead + i] = tensor->strides()[i];
        else if (tensor->shape()[i] != 1)
            refuse_shape("expand", "the tensor", tensor,
                         "one that broadcasts to " + text_of(shape));
    }
    return tensor->as_strided(shape, strides);
}

bool is_viewable(const Tensor &tensor, const Shape &shape) {
    if (tensor->is_contiguous()) return true;
    try {
        tensor->view(shape);
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

Tensor reshape(const Tensor &tensor, const Shape &shape) {
    return is_viewable(tensor, shape) ? tensor->view(shape) : tensor->contiguous()->view(shape);
}

Tensor part(const Tensor &tensor, size_t dim, size_t start, size_t count) {
    return tensor->narrow({{dim, start, count}});
}

void store(const char *function, const char *argument, const Tensor &target, const Tensor &source) {
    need_tensors(function, {{argument, target}});
    if (source->shape() != target->shape())
        refuse_shape(function, argument, target, text_of(source->shape()));
    emit(target->dtype() == source->dtype() ? "rearrange" : "cast", {target, source});
}

void refuse_first_empty(const char *function, std::string_view names,
                        std::initializer_list<bool> given) {
    for (bool there : given) {
        const std::string name(names.substr(0, names.find(',')));
        if (!there) refuse_empty(function, name.c_str());
        names.remove_prefix(std::min(names.size(), name.size() + 2));
    }
    __builtin_unreachable();
}

void need_rank(const char *function, const char *argument, const Tensor &tensor, size_t rank) {
    need_tensors(function, {{argument, tensor}});
    if (tensor->ndim() != rank)
        refuse_shape(function, argument, tensor, std::to_string(rank) + " dimensions");
}

void refuse_shape(const char *function, const char *argument, const Tensor &tensor,
                  const std::string &expected) {
    fail(function, std::string(argument) + " has shape " + text_of(tensor->shape()) +
                       ": expected " + expected);
}

bool is_recording() { return thread_state().recorder != nullptr; }

}  // namespace infinicore::detail
