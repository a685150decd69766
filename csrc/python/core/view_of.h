// Makes views, and reports why a requested one is invalid.
#pragma once

#include "../runtime/raise_error.h"
#include "layout.h"
#include "object_pool.h"
#include "recorder.h"
#include "tensor_object.h"

namespace infini::python {

using infinicore::Stride;

template <class... Values>
[[noreturn]] void raise(PyObject *type, const char *format, Values... values) {
    raise_error(type, format, values...);
}

// A recording remembers the tensor that a client made a view of, rather than the view.
inline void note_given(const Tensor &tensor) {
    if (infinicore::detail::Recorder *recorder = infinicore::detail::recorded_graph()) [[unlikely]]
        recorder->note_given(tensor);
}

// The caller has checked that the layout stays inside the memory.
inline nb::object view(const Tensor &tensor, Shape shape, Strides strides,
                       std::ptrdiff_t elements = 0) {
    using infinicore::detail::kMostDimensions;
    if (shape.size() > kMostDimensions) [[unlikely]]
        raise(PyExc_ValueError, "a view has %zu dimensions: expected %zu at most", shape.size(),
              kMostDimensions);
    note_given(tensor);
    const auto bytes = elements * std::ptrdiff_t(tensor->element_size());
    return wrap(Tensor(infinicore::detail::make_pooled<TensorImpl>(
        std::move(shape), std::move(strides), tensor->dtype(),
        infinicore::TensorData{size_t(std::ptrdiff_t(tensor->offset()) + bytes),
                               tensor->memory()})));
}

}  // namespace infini::python
