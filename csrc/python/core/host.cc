// Values between tensors and the host: numbers, lists, bytes, and tensors whose sizes depend on
// values.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "../../core/numbers.h"
#include "../runtime/raise_error.h"
#include "exchange.h"
#include "gil.h"
#include "infinicore/ops/argwhere.hpp"
#include "infinicore/ops/masked_select.hpp"
#include "numbers.h"
#include "view.h"

using namespace nanobind::literals;

namespace infini::python {

namespace core = infinicore::detail;

void refuse_while_recording(const char *function) {
    const auto *recorder = core::thread_state().recorder;
    if (!recorder) return;
    raise_error(
        PyExc_RuntimeError,
        recorder->traced
            ? "%s: values can't be read here: in a function that is traced only layouts are known"
            : "%s: values can't be read while a graph is being recorded: nothing has run yet, and "
              "a replay would not read them again",
        function);
}

Tensor on_host(const Tensor &tensor, const char *function) {
    refuse_while_recording(function);
    const auto *result = dynamic_cast<const core::OpenMemory *>(tensor->memory().get());
    if (result && result->has_run && !result->has_run->load(std::memory_order_relaxed))
        raise_error(PyExc_RuntimeError,
                    "%s: the tensor is a result of a graph that has not run: expected run() before",
                    function);
    if (tensor->device().getType() == Device::Type::CPU) {
        wait_for(tensor);
        return tensor;
    }
    wait_before(core::runtime_of(tensor->device()));
    Unlocked released;
    return tensor->to(Device::cpu());
}

namespace {

// ---- Reading ------------------------------------------------------------------------------------

nb::object number_at(DataType dtype, const std::byte *from) {
    switch (core::kind_of(dtype)) {
        case core::NumberKind::Boolean:
            return nb::bool_(*from != std::byte{0});
        case core::NumberKind::Signed:
            return nb::int_(core::signed_value(dtype, from));
        case core::NumberKind::Unsigned:
            return nb::int_(core::unsigned_value(dtype, from));
        case core::NumberKind::Real:
            return nb::float_(core::real_value(dtype, from));
        case core::NumberKind::Complex:
            break;
    }
    const size_t half = infinicore::dsize(dtype) / 2;
    return nb::steal(
        PyComplex_FromDoubles(core::real_value(dtype, from), core::real_value(dtype, from + half)));
}

nb::object item(const Tensor &tensor) {
    if (tensor->numel() != 1) {
        PyErr_Format(PyExc_RuntimeError,
                     "item: the tensor has %zu elements: expected one; tolist() reads several",
                     tensor->numel());
        throw nb::python_error();
    }
    Tensor host = on_host(tensor, "item");
    return number_at(host->dtype(), host->data());
}

nb::object list_at(const TensorImpl &tensor, size_t dim, const std::byte *from) {
    if (dim == tensor.ndim()) return number_at(tensor.dtype(), from);
    const auto count = Py_ssize_t(tensor.shape()[dim]);
    const auto step = tensor.strides()[dim] * std::ptrdiff_t(tensor.element_size());
    nb::object made = nb::steal(PyList_New(count));
    if (!made.is_valid()) throw nb::python_error();
    for (Py_ssize_t i = 0; i < count; ++i)
        PyList_SetItem(made.ptr(), i, list_at(tensor, dim + 1, from + i * step).release().ptr());
    return made;
}

nb::object to_list(const Tensor &tensor) {
    Tensor host = on_host(tensor, "tolist");
    return list_at(*host, 0, host->numel() ? host->data() : nullptr);
}

nb::bytes to_bytes(const Tensor &tensor) {
    Tensor host = on_host(tensor, "tobytes");
    {
        Unlocked released;  // as in steps.cc
        host = host->contiguous();
    }
    wait_for(host);
    return nb::bytes(host->numel() ? reinterpret_cast<const char *>(host->data()) : "",
                     host->nbytes());
}

// ---- Writing ------------------------------------------------------------------------------------

// A new tensor with these elements; while this thread records, it is a constant.
Tensor copy_to(const Tensor &source, const Device &device) {
    core::DeviceRuntime &runtime = core::runtime_of(device);
    if (runtime.is_cpu()) wait_before(runtime);  // the copy itself waits
    Tensor made;
    {
        Unlocked released;
        PausedRecording paused;
        made = Tensor::empty(source->shape(), source->dtype(), device);
        made->copy_from(source);
    }
    wait_for_stream(runtime, "copy");
    if (runtime.is_cpu()) made->memory()->set_filled_by_host(true);
    return made;
}

// The device of host memory that is copied to `device`: that device if it is a CPU, so that no
// other CPU is waited for.
Device host_beside(const Device &device) {
    return device.getType() == Device::Type::CPU ? device : Device::cpu();
}

nb::object from_host(nb::handle source, nb::handle device, const std::string &function) {
    const Device target = device_from(device);
    View view;
    view.inspect(source, function.c_str());
    if (view.device >= 0)  // a device's memory
        return wrap(copy_to(borrowed(source, function.c_str()), target));
    Tensor there =
        Tensor::strided_from_blob(view.data, Shape(view.shape(), view.shape() + view.ndim()),
                                  Strides(view.strides(), view.strides() + view.ndim()),
                                  DataType(view.dtype), host_beside(target));
    return wrap(copy_to(there, target));
}

// Elements from bytes, which are contiguous.
nb::object from_bytes(nb::handle source, nb::handle size, nb::handle dtype, nb::handle device) {
    View view;
    view.inspect(source, "from_bytes");
    const DataType type = dtype_from(dtype);
    const Device target = device_from(device);
    Tensor there =
        Tensor::from_blob(view.data, shape_from(size, "from_bytes"), type, host_beside(target));
    if (view.ndim() != 1 || view.shape()[0] != int64_t(there->nbytes()))
        throw nb::value_error("from_bytes: the number of bytes is not that of the tensor");
    return wrap(copy_to(there, target));
}

size_t encode(PyObject *number, DataType dtype, std::byte *to) {
    if (core::kind_of(dtype) != core::NumberKind::Complex) {
        if (PyComplex_Check(number))
            raise_error(PyExc_TypeError, "%R does not fit into an element of type %s", number,
                        infinicore::toString(dtype).c_str());
        return encode_number(number, dtype, to);
    }
    double parts[2] = {PyComplex_RealAsDouble(number), 0};
    if (PyErr_Occurred()) throw nb::python_error();
    parts[1] = PyComplex_ImagAsDouble(number);
    for (double part : parts) to += encode_number(nb::float_(part).ptr(), core::part_of(dtype), to);
    return infinicore::dsize(dtype);
}

// A tensor from a flat list of numbers.
nb::object from_numbers(nb::list numbers, nb::handle size, nb::handle dtype, nb::handle device) {
    const DataType type = dtype_from(dtype);
    const Device target = device_from(device);
    std::vector<std::byte> elements(numbers.size() * infinicore::dsize(type) + 1);
    std::byte *at = elements.data();
    for (nb::handle number : numbers) at += encode(number.ptr(), type, at);
    Tensor there =
        Tensor::from_blob(elements.data(), shape_from(size, "tensor"), type, host_beside(target));
    if (there->numel() != numbers.size())
        throw nb::value_error("tensor: the shape has another number of elements");
    return wrap(copy_to(there, target));
}

// A zero-dimensional tensor with this value; also during a trace or a recording.
nb::object constant(nb::handle number, nb::handle dtype, nb::handle device) {
    const DataType type = dtype_from(dtype);
    if (core::kind_of(type) == core::NumberKind::Complex) {
        nb::list one;
        one.append(number);
        return from_numbers(one, nb::tuple(), dtype, device);
    }
    auto memory = own_number_memory(core::runtime_of(device_from(device)), number.ptr(), type);
    return wrap(Tensor(std::make_shared<TensorImpl>(Shape{}, Strides{}, type,
                                                    infinicore::TensorData{0, std::move(memory)})));
}

// ---- Creation and copies ------------------------------------------------------------------------

nb::object empty(nb::handle size, nb::handle dtype, nb::handle device, nb::handle stride,
                 bool pin_memory) {
    Shape shape = shape_from(size, "empty");
    if (stride.is_none())
        return wrap(Tensor::empty(shape, dtype_from(dtype), device_from(device), pin_memory));
    return wrap(Tensor::strided_empty(shape, strides_from(stride, "strided_empty"),
                                      dtype_from(dtype), device_from(device), pin_memory));
}

void copy_from(const Tensor &self, const Tensor &source) {
    if (self->device() != source->device() && !core::thread_state().recorder)
        wait_before(core::runtime_of(source->device()));
    Unlocked released;
    self->copy_from(source);
}

// An asynchronous copy into pinned memory. False: this copy must be waited for.
bool copy_later(const Tensor &self, const Tensor &source) {
    bool alike = self->dtype() == source->dtype() && self->shape() == source->shape() &&
                 self->is_contiguous() && source->is_contiguous();
    bool leaves_device = self->device().getType() == Device::Type::CPU &&
                         source->device().getType() != Device::Type::CPU;
    if (!alike || !leaves_device || !self->is_pinned() || core::thread_state().recorder)
        return false;
    if (self->numel() == 0) return true;
    core::DeviceRuntime &runtime = core::runtime_of(source->device(), "copy_");
    core::RuntimeScope scope(runtime);
    core::check(infinirtMemcpyAsync(self->data_to_write(), source->data(), self->nbytes(),
                                    INFINIRT_MEMCPY_D2H, core::stream_of(runtime)),
                "copy_");
    return true;
}

// False: they differ in shape, type or device, so a plain copy is not enough.
bool copy_alike(const Tensor &self, nb::handle source) {
    if (!is_tensor(source.ptr())) return false;
    const Tensor &from = tensor_of(source.ptr());
    if (from->dtype() != self->dtype() || from->shape() != self->shape() ||
        from->device() != self->device())
        return false;
    copy_from(self, from);
    return true;
}

// Whether the two may share an element. Without addresses only the memories are compared.
bool may_overlap(const Tensor &a, const Tensor &b) {
    if (a->memory() == b->memory()) return true;
    if (!a->memory()->is_placed() || !b->memory()->is_placed()) return false;
    const std::byte *first = a->memory()->data(), *second = b->memory()->data();
    return first < second + b->memory()->size() && second < first + a->memory()->size();
}

// The coordinates of the nonzero elements, as rows.
nb::object argwhere(const Tensor &tensor) {
    Tensor made;
    {
        Unlocked unlocked;
        made = infinicore::op::argwhere(tensor);
    }
    return wrap(std::move(made));
}

nb::object masked_select(const Tensor &tensor, const Tensor &mask) {
    Tensor made;
    {
        Unlocked unlocked;
        made = infinicore::op::masked_select(tensor, mask);
    }
    return wrap(std::move(made));
}

// Copies row i of a matrix from element i on, row after row, to a line. Both are dense and on the
// host.
void pack_triangle(const Tensor &line, const Tensor &matrix) {
    refuse_while_recording("pack_triangle");
    const size_t rows = matrix->shape()[0], width = matrix->shape()[1];
    if (!line->is_contiguous() || !matrix->is_contiguous() || line->dtype() != matrix->dtype() ||
        rows > width || line->numel() != rows * width - rows * (rows - 1) / 2)
        throw nb::value_error("pack_triangle: a tensor does not fit");
    wait_for(matrix);
    Unlocked released;
    const size_t bytes = matrix->element_size();
    const std::byte *from = matrix->data();
    std::byte *to = line->data_to_write();
    for (size_t i = 0; i < rows; ++i, from += width * bytes) {
        const size_t size = (width - i) * bytes;
        std::memcpy(to, from + i * bytes, size);
        to += size;
    }
}

}  // namespace

void bind_host(nb::module_ &m) {
    m.def("from_host", from_host, "source"_a.none(), "device"_a, "function"_a);
    m.def("from_bytes", from_bytes, "source"_a, "size"_a, "dtype"_a, "device"_a);
    m.def("from_numbers", from_numbers, "numbers"_a, "size"_a, "dtype"_a, "device"_a);
    m.def("to_bytes", to_bytes, "tensor"_a);
    m.def("empty", empty, "size"_a, "dtype"_a, "device"_a, "stride"_a.none() = nb::none(),
          "pin_memory"_a = false);
    m.def(
        "zeros",
        [](nb::handle size, nb::handle dtype, nb::handle device, bool pin_memory) {
            return wrap(Tensor::zeros(shape_from(size, "zeros"), dtype_from(dtype),
                                      device_from(device), pin_memory));
        },
        "size"_a, "dtype"_a, "device"_a, "pin_memory"_a = false);
    m.def(
        "ones",
        [](nb::handle size, nb::handle dtype, nb::handle device, bool pin_memory) {
            return wrap(Tensor::ones(shape_from(size, "ones"), dtype_from(dtype),
                                     device_from(device), pin_memory));
        },
        "size"_a, "dtype"_a, "device"_a, "pin_memory"_a = false);
    m.def("constant", constant, "number"_a, "dtype"_a, "device"_a);
    m.def("refuse_while_recording", refuse_while_recording, "function"_a);
    m.def("copy_from", copy_from, "tensor"_a, "source"_a);
    m.def("copy_later", copy_later, "tensor"_a, "source"_a);
    m.def("copy_alike", copy_alike, "tensor"_a, "source"_a.none());
    m.def("may_overlap", may_overlap, "a"_a, "b"_a);
    m.def("wait_for", wait_for, "tensor"_a);
    m.def("is_recording", [] { return core::thread_state().recorder != nullptr; });
    m.def("pack_triangle", pack_triangle, "line"_a, "matrix"_a);
    m.def("argwhere", argwhere, "tensor"_a);
    m.def("masked_select", masked_select, "tensor"_a, "mask"_a);
    m.def(
        "to_device",
        [](const Tensor &t, nb::handle device) {
            Device to = device_from(device);
            if (to != t->device() && !core::thread_state().recorder)
                wait_before(core::runtime_of(t->device()));
            Unlocked released;
            return t->to(to);
        },
        "tensor"_a, "device"_a);
    m.def(
        "contiguous",
        [](Tensor t) {
            Unlocked released;  // as in steps.cc
            return t->contiguous();
        },
        "tensor"_a);
    m.def(
        "write_bytes",
        [](const Tensor &t, const std::string &filename) {
            refuse_while_recording("debug");
            t->debug(filename);
        },
        "tensor"_a, "filename"_a);
    nb::handle type(reinterpret_cast<PyObject *>(tensor_type));
    nb::cpp_function_def(item, nb::scope(type), nb::name("item"), nb::is_method());
    nb::cpp_function_def(to_list, nb::scope(type), nb::name("tolist"), nb::is_method());
}

}  // namespace infini::python
