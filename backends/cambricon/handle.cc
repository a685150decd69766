#include "backends/cambricon/handle.h"

#include <climits>
#include <vector>

namespace infini::vendor_runtime::cambricon {
namespace {

constexpr int kLayoutArray = 4;

using Make = int (*)(Handle *);

int narrow(int64_t value) {
    if (value < INT_MIN || value > INT_MAX)
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                      "cnnlSetTensorDescriptorEx takes sizes and strides of 32 bits, and one is " +
                          std::to_string(value)};
    return int(value);
}

void destroy(Handle descriptor) {
    static const auto function = need<int (*)(Handle)>("cnnlDestroyTensorDescriptor");
    function(descriptor);
}

}  // namespace

// No public header of CNNL has the numbers: these are those of MLU-OPS, which mirrors it.
int type_of(int dtype) {
    switch (dtype) {
        case INFINI_DTYPE_F16:
            return 1;
        case INFINI_DTYPE_F32:
            return 2;
        case INFINI_DTYPE_I8:
            return 3;
        case INFINI_DTYPE_I16:
            return 4;
        case INFINI_DTYPE_I32:
            return 6;
        case INFINI_DTYPE_U8:
        case INFINI_DTYPE_BYTE:
            return 7;
        case INFINI_DTYPE_BOOL:
            return 8;
        case INFINI_DTYPE_I64:
            return 9;
        case INFINI_DTYPE_BF16:
            return 17;
        default:
            return -1;
    }
}

void *need_symbol(const char *symbol, const char *older) {
    if (void *found = find(Part::kOperators, symbol)) return found;
    if (void *found = older ? find(Part::kOperators, older) : nullptr) return found;
    throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                  std::string(symbol) + " is not in " + path(Part::kOperators)};
}

void good(int code, const char *symbol) {
    if (code)
        throw Refusal{INFINI_STATUS_INTERNAL_ERROR,
                      std::string(symbol) + " returned " + std::to_string(code)};
}

Shared &Shared::of(int device) {
    constexpr int kMost = 64;
    static auto *all = new Shared[kMost];
    Shared &shared = all[device % kMost];
    std::lock_guard guard(shared.lock);
    if (!shared.handle) good(need<Make>("cnnlCreate")(&shared.handle), "cnnlCreate");
    return shared;
}

int Shared::use(void *queue) {
    static const auto set = need<int (*)(Handle, void *)>("cnnlSetQueue");
    return set(handle, queue);
}

Descriptor::Descriptor(const Shape &shape) {
    using Set = int (*)(Handle, int, int, int, const int *, const int *);
    static const auto make = need<Make>("cnnlCreateTensorDescriptor");
    static const auto set = need<Set>("cnnlSetTensorDescriptorEx");
    std::vector<int> size, stride;
    for (int i = 0; i < shape.ndim; ++i) {
        size.push_back(narrow(shape.size[i]));
        stride.push_back(shape.size[i] > 1 ? narrow(shape.stride[i]) : 1);
    }
    if (size.empty()) size = {1}, stride = {1};  // a number is a tensor of one element
    good(make(&handle_), "cnnlCreateTensorDescriptor");
    const int code = set(handle_, kLayoutArray, type_of(shape.dtype), int(size.size()), size.data(),
                         stride.data());
    if (code) destroy(handle_);
    good(code, "cnnlSetTensorDescriptorEx");
}

Descriptor::~Descriptor() {
    if (handle_) destroy(handle_);
}

}  // namespace infini::vendor_runtime::cambricon
