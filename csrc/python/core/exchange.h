// Exchange of tensors with the host and with other libraries.
#pragma once

#include "recorder.h"
#include "tensor_object.h"

namespace infini::python {

// Raises unless values can be read now: while a graph is recorded, or a function traced, there are
// none.
void refuse_while_recording(const char *function);

// The tensor in host memory, after the work that writes it.
Tensor on_host(const Tensor &tensor, const char *function);
// Waits for this thread's stream on the tensor's device, with the interpreter's lock released.
// Ctrl-C interrupts it.
void wait_for(const Tensor &tensor);
void wait_for_stream(infinicore::detail::DeviceRuntime &runtime, const char *function);
// Waits only so that Ctrl-C can interrupt it: a wait that reports errors follows.
void wait_before(infinicore::detail::DeviceRuntime &runtime);

// A tensor over foreign memory; `let_go` is called once, when the memory is no longer used.
Tensor over(void *data, Shape shape, Strides strides, DataType dtype, const Device &device,
            infinicore::Memory::Deleter let_go);
// The same, over memory that lives as long as a Python object.
Tensor over(void *data, Shape shape, Strides strides, DataType dtype, const Device &device,
            nb::object owner);

// The tensor of an object that supports DLPack; raises for others.
Tensor borrowed(nb::handle source, const char *function);

using infinicore::detail::PausedRecording;

}  // namespace infini::python
