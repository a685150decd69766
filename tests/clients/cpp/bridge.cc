// A module made with pybind11 whose functions take and return tensors, devices and dtypes.
// TENSORS_FIRST: infinicore's headers come before pybind11's.
#ifdef TENSORS_FIRST
#include <infinicore.hpp>
#endif
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#ifndef TENSORS_FIRST
#include <infinicore.hpp>
#endif

#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace py = pybind11;
using namespace infinicore;

namespace {

struct Output {
    Tensor ids, logits;  // logits may be unset
    std::optional<std::vector<Tensor>> images;
};

std::vector<Tensor> kept;

uintptr_t address(const Tensor &tensor) { return reinterpret_cast<uintptr_t>(tensor->data()); }

Tensor made(float first, size_t count) {
    Tensor tensor = Tensor::empty({count}, DataType::F32, Device::cpu());
    auto *numbers = reinterpret_cast<float *>(tensor->data());
    for (size_t i = 0; i < count; ++i) numbers[i] = first + float(i);
    return tensor;
}

// A thread without the interpreter lock releases memory that a Python object may own.
void drop_in_thread(std::vector<Tensor> tensors) {
    py::gil_scoped_release unlocked;
    std::thread([tensors = std::move(tensors)]() mutable { tensors.clear(); }).join();
}

}  // namespace

PYBIND11_MODULE(bridge, m) {
    m.def("address", address);
    m.def("made", made, py::arg("first"), py::arg("count") = 4);
    m.def("same", [](Tensor tensor) { return tensor; });
    m.def("same_reference", [](const Tensor &tensor) -> const Tensor & { return tensor; });
    m.def("same_pointer", [](Tensor *tensor) { return tensor; });
    m.def("moved", [](Tensor &&tensor) { return Tensor(std::move(tensor)); });
    m.def("unset", [] { return Tensor(); });
    m.def("is_set", [](const Tensor &tensor) { return bool(tensor); });
    m.def("shape", [](const Tensor &tensor) { return tensor->shape(); });

    m.def(
        "numel", [](std::optional<Tensor> tensor) { return tensor ? (*tensor)->numel() : 0; },
        py::arg("tensor") = std::nullopt);
    m.def("list", [](const std::vector<Tensor> &tensors) { return tensors; });
    m.def("lists", [](std::optional<std::vector<std::vector<Tensor>>> tensors) { return tensors; });
    m.def("map", [](const std::unordered_map<std::string, Tensor> &tensors) { return tensors; });
    m.def("pair", [](const Tensor &a, const Tensor &b) { return std::make_pair(b, a); });
    m.def("dict_of", [](const Tensor &tensor) {
        py::dict result;
        result[py::cast(std::string("weight"))] = tensor;
        return result;
    });
    m.def("call", [](py::object function, const Tensor &tensor) { return function("x", tensor); });
    m.def("from_object", [](py::object object) { return address(object.cast<Tensor>()); });

    m.def("parameter", [](const nn::Parameter &parameter) {
        return std::unordered_map<std::string, nn::Parameter>{{"weight", parameter}};
    });
    m.def("keep", [](Tensor tensor) { kept.push_back(std::move(tensor)); });
    m.def("kept", [] { return kept; });
    m.def("drop", [] { kept.clear(); });
    m.def("drop_in_thread", drop_in_thread);

    m.def("device", [](Device device) { return device; }, py::arg("device") = Device());
    m.def("device_text", [](const Device &device) { return device.toString(); });
    m.def(
        "device_type", [](Device::Type type) { return type; }, py::arg("type") = Device::Type::CPU);
    m.def("dtype", [](DataType dtype) { return dtype; }, py::arg("dtype") = DataType::F32);
    m.def("optional_dtype", [](std::optional<DataType> dtype) { return dtype; });
    m.def("overloaded", [](const Tensor &) { return "tensor"; });
    m.def("overloaded", [](DataType) { return "dtype"; });
    m.def("overloaded", [](Device) { return "device"; });
    m.def("overloaded", [](int) { return "int"; });

    py::class_<Output>(m, "Output")
        .def(py::init<>())
        .def_readwrite("ids", &Output::ids)
        .def_readwrite("logits", &Output::logits)
        .def_readwrite("images", &Output::images);
}
