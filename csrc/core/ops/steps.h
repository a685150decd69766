// Operators by name and tensors of given shapes, for functions that combine several operators.
#pragma once

#include <initializer_list>
#include <string_view>

#include "../call.h"
#include "../call_arguments.h"

namespace infinicore::detail {

// Runs or records an operator; see call().
void emit(const char *name, std::initializer_list<Given> tensors,
          std::initializer_list<GivenValue> attributes = {},
          std::initializer_list<GivenValue> scalars = {}, std::initializer_list<Given> bare = {});

// The same for an operator whose first tensor is its result, which is allocated.
Tensor make(const char *name, std::initializer_list<Given> inputs,
            std::initializer_list<GivenValue> attributes = {},
            std::initializer_list<GivenValue> scalars = {});

Tensor empty_like(const Tensor &tensor, Shape shape);
Tensor empty_like(const Tensor &tensor, Shape shape, DataType dtype);
Tensor full(const Tensor &like, DataType dtype, double value);  // one element, no dimensions
// start, start + step, ...
Tensor count_from(const Tensor &like, size_t count, DataType dtype, double start, double step);

Tensor cast_to(const Tensor &tensor, DataType dtype);  // itself when it is of the type
Tensor at_least_f32(const Tensor &tensor);             // floats of 16 bits become F32
Tensor expand(const Tensor &tensor, const Shape &shape);
Tensor reshape(const Tensor &tensor, const Shape &shape);  // a view where that is possible
bool is_viewable(const Tensor &tensor, const Shape &shape);
Tensor part(const Tensor &tensor, size_t dim, size_t start, size_t count);

// Writes elements into a tensor of another type. Throws unless the shapes are equal.
void store(const char *function, const char *argument, const Tensor &target, const Tensor &source);

// INFINI_NEED_TENSORS(out, x): throws if an argument of the calling function is an empty tensor.
#define INFINI_NEED_TENSORS(...) need_tensors(__func__, #__VA_ARGS__, __VA_ARGS__)

[[noreturn]] void refuse_first_empty(const char *function, std::string_view names,
                                     std::initializer_list<bool> given);
template <class... Tensors>
void need_tensors(const char *function, const char *names, const Tensors &...tensors) {
    if (!(bool(tensors) && ...)) refuse_first_empty(function, names, {bool(tensors)...});
}

// Throws unless the tensor has this many dimensions.
void need_rank(const char *function, const char *argument, const Tensor &tensor, size_t rank);
// Throws: "function: argument has shape [2, 3]: expected ...".
[[noreturn]] void refuse_shape(const char *function, const char *argument, const Tensor &tensor,
                               const std::string &expected);

bool is_recording();

}  // namespace infinicore::detail
