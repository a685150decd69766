#include "backends/ascend/objects.h"

namespace infini::vendor_runtime::ascend {

int type_of(int dtype) {
    switch (dtype) {
        case INFINI_DTYPE_F32:
            return 0;
        case INFINI_DTYPE_F16:
            return 1;
        case INFINI_DTYPE_I8:
            return 2;
        case INFINI_DTYPE_I32:
            return 3;
        case INFINI_DTYPE_U8:
        case INFINI_DTYPE_BYTE:
            return 4;
        case INFINI_DTYPE_I16:
            return 6;
        case INFINI_DTYPE_I64:
            return 9;
        case INFINI_DTYPE_F64:
            return 11;
        case INFINI_DTYPE_BOOL:
            return 12;
        case INFINI_DTYPE_BF16:
            return 27;
        default:
            return -1;
    }
}

void *need_symbol(const char *symbol) {
    if (void *found = find(Part::kOperators, symbol)) return found;
    if (void *found = find(Part::kRuntime, symbol)) return found;
    throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                  std::string(symbol) + " is not in " + path(Part::kOperators)};
}

TensorObject::TensorObject(const Shape &shape, void *data) {
    using Create = aclTensor *(*)(const int64_t *, uint64_t, int, const int64_t *, int64_t, int,
                                  const int64_t *, uint64_t, void *);
    static const auto create = need<Create>("aclCreateTensor");
    int64_t extent = 1;
    for (int i = 0; i < shape.ndim; ++i) extent += (shape.size[i] - 1) * shape.stride[i];
    tensor_ = create(shape.size, uint64_t(shape.ndim), type_of(shape.dtype), shape.stride, 0,
                     kFormatNd, &extent, 1, data);
}

TensorObject::~TensorObject() {
    static const auto destroy = need<int (*)(const aclTensor *)>("aclDestroyTensor");
    if (tensor_) destroy(tensor_);
}

TensorListObject::TensorListObject(const Shape &shape, void *data) {
    using Create = aclTensorList *(*)(const aclTensor *const *, uint64_t);
    static const auto create = need<Create>("aclCreateTensorList");
    TensorObject made(shape, data);
    const aclTensor *tensor = made;
    list_ = create(&tensor, 1);
    if (list_) made.release();
}

TensorListObject::~TensorListObject() {
    static const auto destroy = need<int (*)(const aclTensorList *)>("aclDestroyTensorList");
    if (list_) destroy(list_);
}

// The library copies the value.
static aclScalar *make_scalar(void *value, int dtype) {
    static const auto create = need<aclScalar *(*)(void *, int)>("aclCreateScalar");
    return create(value, type_of(dtype));
}

ScalarObject::ScalarObject(float value) : scalar_(make_scalar(&value, INFINI_DTYPE_F32)) {}
ScalarObject::ScalarObject(int64_t value) : scalar_(make_scalar(&value, INFINI_DTYPE_I64)) {}

ScalarObject::~ScalarObject() {
    static const auto destroy = need<int (*)(const aclScalar *)>("aclDestroyScalar");
    if (scalar_) destroy(scalar_);
}

ListObject::ListObject(const std::vector<int64_t> &values) {
    static const auto create =
        need<aclIntArray *(*)(const int64_t *, uint64_t)>("aclCreateIntArray");
    list_ = create(values.data(), values.size());
}

ListObject::~ListObject() {
    static const auto destroy = need<int (*)(const aclIntArray *)>("aclDestroyIntArray");
    if (list_) destroy(list_);
}

}  // namespace infini::vendor_runtime::ascend
