// A kernel written in Python as an operator's implementation.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>

#include "step.h"

namespace infini::python {

namespace nb = nanobind;

// A step that calls Python with tensors over its pointers, in the stream that it is launched in. On a
// device with graphs it is called once for a graph, and captured.
class PythonStep final : public infinicore::detail::Step {
public:
    // `call` takes a list of tensors, None where one is absent.
    explicit PythonStep(nb::object call) : call_(std::move(call)) { is_python = true; }
    ~PythonStep() override;

    void launch(void *const *pointers, void *workspace, infinirtStream_t stream) const override;
    // Called once on zeros of the same layouts, so that everything is compiled before the capture.
    void prepare() const override;

private:
    void call_python(void *const *pointers) const;

    nb::object call_;
    mutable std::atomic<bool> was_launched_{false};
};

}  // namespace infini::python
