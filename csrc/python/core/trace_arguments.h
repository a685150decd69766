// The arguments of a body while it is traced.
#pragma once

#include "alias_map.h"
#include "runtime.h"

namespace infini::python {

using infinicore::detail::thread_state;

// For a scope, this thread's operations are recorded.
class TraceScope {
public:
    explicit TraceScope(Recorder &recorder) : before_(thread_state().recorder) {
        thread_state().recorder = &recorder;
    }
    ~TraceScope() { thread_state().recorder = before_; }
    TraceScope(const TraceScope &) = delete;

private:
    Recorder *before_;
};

// Tensors without data in place of a call's tensors and numbers.
class TracedArguments {
public:
    TracedArguments(const Device &device, const AliasMap &aliases)
        : device_(device), aliases_(aliases) {}

    nb::object in_for(PyObject *value, bool is_operand) {
        if (is_tensor(value)) {
            const TensorImpl &tensor = *tensor_of(value);
            auto memory =
                std::make_shared<OpenMemory>(tensor.memory()->size(), tensor.device(),
                                             OpenMemory::Role::Argument, int(metas.size()), true);
            aliases_.tell(*memory);
            metas.emplace_back(std::make_shared<TensorImpl>(
                tensor.shape(), tensor.strides(), tensor.dtype(),
                infinicore::TensorData{tensor.offset(), std::move(memory)}));
            return wrap(metas.back());
        }
        if (is_operand && (PyFloat_Check(value) || PyLong_Check(value))) {
            const DataType dtype = PyBool_Check(value)    ? DataType::BOOL
                                   : PyFloat_Check(value) ? DataType::F64
                                                          : DataType::I64;
            return number(numbers_++, dtype, device_);
        }
        if (PyTuple_Check(value) || PyList_Check(value)) {
            nb::list items;
            for (nb::handle item : nb::handle(value)) items.append(in_for(item.ptr(), false));
            return PyTuple_Check(value) ? nb::object(nb::tuple(items)) : nb::object(items);
        }
        return nb::borrow(value);
    }
    static nb::object number(int index, DataType dtype, const Device &device) {
        auto memory = std::make_shared<OpenMemory>(infinicore::dsize(dtype), device,
                                                   OpenMemory::Role::Number, index, true);
        memory->dtype = dtype;
        return wrap(Tensor(std::make_shared<TensorImpl>(
            Shape{}, Strides{}, dtype, infinicore::TensorData{0, std::move(memory)})));
    }

    std::vector<Tensor> metas;

private:
    Device device_;
    const AliasMap &aliases_;
    int numbers_ = 0;
};

}  // namespace infini::python
