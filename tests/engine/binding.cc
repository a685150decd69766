// The engine as a Python module: tensors, devices and element types are converted both ways by the
// package's bridge.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "engine.hpp"

namespace py = pybind11;
using namespace engine;

// It waits for threads, which may need the interpreter lock to release tensors.
struct DeleteUnlocked {
    void operator()(Engine *held) const {
        py::gil_scoped_release released;
        delete held;
    }
};
using Held = std::unique_ptr<Engine, DeleteUnlocked>;

PYBIND11_MODULE(_miniature_engine, m) {
    py::enum_<Mode>(m, "Mode")
        .value("Static", Mode::Static)
        .value("Paged", Mode::Paged)
        .value("Graph", Mode::Graph);
    py::class_<Config>(m, "Config")
        .def(py::init<>())
        .def_readwrite("vocab", &Config::vocab)
        .def_readwrite("hidden", &Config::hidden)
        .def_readwrite("layers", &Config::layers)
        .def_readwrite("heads", &Config::heads)
        .def_readwrite("kv_heads", &Config::kv_heads)
        .def_readwrite("head_dim", &Config::head_dim)
        .def_readwrite("intermediate", &Config::intermediate)
        .def_readwrite("max_positions", &Config::max_positions)
        .def_readwrite("rope_theta", &Config::rope_theta)
        .def_readwrite("eps", &Config::eps)
        .def_readwrite("qkv_bias", &Config::qkv_bias)
        .def_readwrite("qk_norm", &Config::qk_norm)
        .def_readwrite("experts", &Config::experts)
        .def_readwrite("experts_per_token", &Config::experts_per_token);
    py::class_<Engine, Held>(m, "Engine")
        .def(py::init([](const Config &config, const infinicore::Device &device, size_t ranks,
                         Mode mode, size_t sequences, size_t length) {
                 return Held(new Engine(config, device.getType(), ranks, mode, sequences, length));
             }),
             py::arg("config"), py::arg("device"), py::arg("ranks"), py::arg("mode"),
             py::arg("sequences"), py::arg("length"), py::call_guard<py::gil_scoped_release>())
        .def_property_readonly("parameter_names", &Engine::parameter_names)
        .def_property_readonly("graph_count", &Engine::graph_count)
        .def("load", &Engine::load, py::arg("parameters"), py::call_guard<py::gil_scoped_release>())
        .def("record", &Engine::record, py::arg("largest"),
             py::call_guard<py::gil_scoped_release>())
        .def("generate", &Engine::generate, py::arg("prompts"), py::arg("counts"),
             py::call_guard<py::gil_scoped_release>());
}
