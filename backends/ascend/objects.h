// Objects of the CANN operator library, for one call each.
#pragma once

#include <utility>
#include <vector>

#include "backends/vendor_runtime/library.h"

namespace infini::vendor_runtime::ascend {

struct aclTensor;
struct aclScalar;
struct aclIntArray;
struct aclTensorList;
struct aclOpExecutor;

constexpr int kFormatNd = 2;

// aclDataType, or -1.
int type_of(int dtype);

// A function of the library or of the runtime; throws a Refusal that names it if neither has it.
void *need_symbol(const char *symbol);
template <class F>
F need(const char *symbol) {
    return reinterpret_cast<F>(need_symbol(symbol));
}

using Run = int (*)(void *, uint64_t, aclOpExecutor *, void *);

class TensorObject {
public:
    TensorObject(const Shape &shape, void *data);
    ~TensorObject();
    TensorObject(TensorObject &&other) noexcept : tensor_(std::exchange(other.tensor_, nullptr)) {}
    operator aclTensor *() const { return tensor_; }
    aclTensor *release() { return std::exchange(tensor_, nullptr); }

private:
    aclTensor *tensor_ = nullptr;
};

// A list of one tensor, owned by the list.
class TensorListObject {
public:
    TensorListObject(const Shape &shape, void *data);
    ~TensorListObject();
    TensorListObject(TensorListObject &&other) noexcept
        : list_(std::exchange(other.list_, nullptr)) {}
    operator aclTensorList *() const { return list_; }

private:
    aclTensorList *list_ = nullptr;
};

class ScalarObject {
public:
    explicit ScalarObject(float value);
    explicit ScalarObject(int64_t value);
    ~ScalarObject();
    ScalarObject(ScalarObject &&other) noexcept : scalar_(std::exchange(other.scalar_, nullptr)) {}
    operator aclScalar *() const { return scalar_; }

private:
    aclScalar *scalar_ = nullptr;
};

class ListObject {
public:
    explicit ListObject(const std::vector<int64_t> &values);
    ~ListObject();
    ListObject(ListObject &&other) noexcept : list_(std::exchange(other.list_, nullptr)) {}
    operator aclIntArray *() const { return list_; }

private:
    aclIntArray *list_ = nullptr;
};

}  // namespace infini::vendor_runtime::ascend
