// A tensor as the operators see it, whichever library it belongs to. Nothing is copied.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace infini::python {

namespace nb = nanobind;

class View {
public:
    View() = default;
    View(const View &) = delete;
    ~View() {
        if (has_buffer_) PyBuffer_Release(&buffer_);
    }

    // Inspects any object with DLPack, the buffer protocol or __array_interface__.
    void inspect(nb::handle source, const char *name);
    bool try_inspect(nb::handle source);  // no error if it is not one
    // Describes memory at an address; strides are in elements, null for row-major without gaps.
    void describe(uintptr_t address, const std::vector<int64_t> &shape, int dtype,
                  const std::vector<int64_t> *strides, bool readonly, nb::object owner);
    // The same memory, broadcast along dimensions of size 1 and missing leading ones.
    void expand(const View &from, const std::vector<int64_t> &shape, nb::object owner);

    size_t ndim() const { return dims_.size() / 2; }
    const int64_t *shape() const { return dims_.data(); }
    const int64_t *strides() const { return dims_.data() + ndim(); }
    bool same_shape(const View &other) const {
        return ndim() == other.ndim() && std::equal(shape(), shape() + ndim(), other.shape());
    }

    void *data = nullptr;
    int dtype = 0;  // infiniDtype_t
    bool readonly = false;
    bool foreign = true;  // memory of the host that the runtime did not allocate
    // Of a device: its number, and the stream in which the lender works.
    int device = -1;
    void *stream = nullptr;
    nb::object owner;  // what keeps the memory alive; none for bare addresses

private:
    template <class Tensor>
    void take(const Tensor &tensor, const char *name);
    bool from_exchange(nb::handle source, const char *name);
    bool from_buffer(nb::handle source, const char *name);
    bool from_array_interface(nb::handle source, const char *name);
    bool from_capsule(nb::handle source, const char *name);
    void set(size_t ndim, const int64_t *shape, const int64_t *strides);
    void set_bytes(size_t ndim, const Py_ssize_t *shape, const Py_ssize_t *strides, Py_ssize_t item,
                   const char *name);

    std::vector<int64_t> dims_;  // sizes, then strides in elements
    Py_buffer buffer_;
    bool has_buffer_ = false;
};

void bind_view(nb::module_ &m);

}  // namespace infini::python
