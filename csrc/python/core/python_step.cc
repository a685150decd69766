#include "python_step.h"

#include <nanobind/stl/string.h>

#include "call_from.h"
#include "exchange.h"
#include "tensor_object.h"

using namespace nanobind::literals;

namespace infini::python {

namespace core = infinicore::detail;

PythonStep::~PythonStep() {
    if (!Py_IsInitialized()) {
        call_.release();
        return;
    }
    Locked held;
    call_.reset();
}

void PythonStep::call_python(void *const *pointers) const {
    nb::list given;
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (!present[i]) {
            given.append(nb::none());
            continue;
        }
        const core::Layout &layout = tensors[i];
        given.append(wrap(Tensor::strided_from_blob(
            pointers[i], Shape(layout.shape.begin(), layout.shape.end()),
            Strides(layout.strides.begin(), layout.strides.end()), layout.dtype, runtime->device)));
    }
    call_(given);
}

void PythonStep::launch(void *const *pointers, void *, infinirtStream_t stream) const {
    // Python works on the host's memory immediately, so the CPU's queue has to be empty.
    if (runtime->is_cpu()) {
        core::RuntimeScope scope(*runtime);
        core::check(infinirtStreamSynchronize(stream), name.c_str());
    }
    Locked held;
    core::DeviceScope scope(*runtime);
    PausedRecording paused;
    core::thread_state().stream = stream;  // the scope puts the one before back
    call_python(pointers);
    was_launched_.store(true, std::memory_order_relaxed);
}

void PythonStep::prepare() const {
    if (was_launched_.load(std::memory_order_relaxed)) return;
    PausedRecording paused;
    std::vector<Tensor> kept;
    std::vector<void *> pointers;
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (!present[i]) {
            pointers.push_back(nullptr);
            continue;
        }
        const core::Layout &layout = tensors[i];
        Shape shape(layout.shape.begin(), layout.shape.end());
        Tensor zeros =
            Tensor::strided_empty(shape, Strides(layout.strides.begin(), layout.strides.end()),
                                  layout.dtype, runtime->device);
        auto &memory = *zeros->memory();
        if (memory.size()) {
            core::RuntimeScope scope(*runtime);
            core::check(
                infinirtMemsetAsync(memory.data(), 0, memory.size(), core::stream_of(*runtime)),
                name.c_str());
        }
        pointers.push_back(zeros->data());
        kept.push_back(std::move(zeros));
    }
    launch(pointers.data(), nullptr, core::stream_of(*runtime));
}

namespace {

// tensors: None where one is absent; roles: "in", "out" or "inout" by tensor. The rest as for
// step: the operator that the kernel implements.
void python_step(const std::string &name, nb::list tensors, nb::list roles, nb::object kernel,
                 int index, int run, nb::handle attributes, nb::handle scalars) {
    auto made = std::make_shared<PythonStep>(std::move(kernel));
    made->name = name;
    made->call = std::make_shared<core::Call>(call_from(index, run, attributes, scalars));
    std::vector<const TensorImpl *> arguments;
    for (nb::handle each : tensors) {
        const TensorImpl *tensor = each.is_none() ? nullptr : &*nb::cast<const Tensor &>(each);
        const auto role = nb::cast<std::string>(nb::object(roles[arguments.size()]));
        made->arguments.push_back({int(arguments.size()), role != "in", role != "out"});
        arguments.push_back(tensor);
        made->present.push_back(tensor != nullptr);
        made->counts.push_back(1);
        made->tensors.push_back(tensor ? core::layout_of(*tensor)
                                       : core::Layout{DataType::BYTE, {}, {}});
        if (tensor && !made->runtime) made->runtime = &core::runtime_of(tensor->device());
        if (tensor && tensor->device() != made->runtime->device)
            throw std::runtime_error(name + ": tensors lie on " + made->runtime->device.toString() +
                                     " and " + tensor->device().toString() +
                                     ": expected one device for all");
    }
    if (!made->runtime) throw std::runtime_error(name + ": no tensor is given");
    Unlocked released;
    core::perform(made, arguments);
}

// Gives the object another tensor's memory and layout, as torch's set_ does.
void rebind(nb::handle tensor, nb::handle other) {
    if (!is_tensor(tensor.ptr()) || !is_tensor(other.ptr()))
        throw nb::type_error("set_: expected tensors");
    *nb::inst_ptr<Tensor>(tensor) = tensor_of(other.ptr());
}

}  // namespace

void bind_python_steps(nb::module_ &m) {
    m.def("python_step", python_step, "name"_a, "tensors"_a, "roles"_a, "kernel"_a, "index"_a,
          "run"_a, "attributes"_a, "scalars"_a);
    m.def("rebind", rebind, "tensor"_a, "other"_a);
}

}  // namespace infini::python
