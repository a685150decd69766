/* An operation and its arguments: C++ views of the structs of backend.h. Header only. */
#ifndef INFINI_OPERATION_H
#define INFINI_OPERATION_H

#include <infini/backend.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "infinicore.h"

namespace infini {

struct Tensor {
    int dtype = 0;  // infiniDtype_t; 0: absent
    int ndim = 0;
    const int64_t *shape = nullptr;
    const int64_t *strides = nullptr;  // in elements

    explicit operator bool() const { return dtype != 0; }
    // Size and stride of a dimension; negative ones count from the end.
    int64_t size(int dim) const { return shape[dim < 0 ? dim + ndim : dim]; }
    int64_t stride(int dim) const { return strides[dim < 0 ? dim + ndim : dim]; }
    int64_t numel() const {
        int64_t count = 1;
        for (int i = 0; i < ndim; ++i) count *= shape[i];
        return count;
    }
    bool contiguous() const {
        int64_t expected = 1;
        for (int i = ndim - 1; i >= 0; --i) {
            if (shape[i] != 1 && strides[i] != expected) return false;
            expected *= shape[i];
        }
        return true;
    }
};

// An operation as planners see it. Valid only while the planner runs: a plan copies what it needs
// (Shape below copies a tensor's sizes).
class Operation {
public:
    explicit Operation(const InfiniOperation &operation) : c(operation) {}

    const char *name() const { return c.name; }
    bool is(const char *name) const { return std::strcmp(c.name, name) == 0; }
    const InfiniProgram *program() const { return c.program; }
    int tensor_count() const { return int(c.tensor_count); }
    // Whether the bits of a row must not depend on the other rows.
    bool batch_invariant() const { return c.modes & INFINI_MODE_BATCH_INVARIANT; }
    // Whether products of F32 tensors may round their factors to TF32.
    bool allows_tf32() const { return c.modes & INFINI_MODE_TF32; }
    Tensor tensor(int index) const {
        const InfiniTensor &t = c.tensors[index];
        return {t.dtype, t.ndim, t.shape, t.strides};
    }
    int64_t integer(int attribute) const { return c.attributes[attribute].value.i; }
    double number(int attribute) const { return c.attributes[attribute].number; }
    // A list of integers, whatever its type in C; null if the caller passed null.
    const int64_t *list(int attribute) const {
        return static_cast<const int64_t *>(c.attributes[attribute].list);
    }
    size_t count(int attribute) const { return c.attributes[attribute].count; }
    const char *text(int attribute) const {
        return static_cast<const char *>(c.attributes[attribute].list);
    }

    const InfiniOperation &c;
};

// A copy of a tensor's dtype, sizes and strides.
struct Shape {
    static constexpr int kMost = 8;
    int dtype = 0, ndim = 0;
    int64_t size[kMost], stride[kMost];

    Shape() = default;
    Shape(const Tensor &tensor) : dtype(tensor.dtype), ndim(tensor.ndim) {
        for (int i = 0; i < ndim; ++i) size[i] = tensor.shape[i], stride[i] = tensor.strides[i];
    }
    explicit operator bool() const { return dtype != 0; }
};

struct Arguments {
    const InfiniArguments &c;

    template <class T>
    T *pointer(int index) const {
        return static_cast<T *>(c.pointers[index]);
    }
    int64_t integer(int scalar) const { return c.scalars[scalar].i; }
    double number(int scalar) const { return c.scalars[scalar].f; }
    char *workspace() const { return static_cast<char *>(c.workspace); }
};

// Thrown by a planner that does not support the operation; the sentence is shown to the user.
struct Refusal {
    infiniStatus_t status;
    std::string sentence;
};

}  // namespace infini
#endif
