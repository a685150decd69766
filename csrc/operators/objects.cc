// Handles and tensor descriptors: the objects that every operator's calls begin with.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <new>

#include "core.h"
#include "infiniop/handle.h"
#include "infiniop/operator_descriptor.h"
#include "infiniop/tensor_descriptor.h"
#include "last_error.h"
#include "make_handle.h"

namespace infini::op {

using rt::HandleTable;

void fail(infiniStatus_t status, const char *format, ...) {
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    throw Failure{status, sentence};
}

infiniStatus_t caught(const char *function) noexcept {
    try {
        throw;
    } catch (const Failure &failure) {
        bool explained = failure.sentence.empty();
        return infiniRecordFailure(function, failure.status,
                                   explained ? nullptr : failure.sentence.c_str());
    } catch (const std::bad_alloc &) {
        infiniRecordFailure(function, INFINI_STATUS_INTERNAL_ERROR, "host memory ran out");
        infiniRestoreLastError(infinirtErrorMemoryAllocation);
        return INFINI_STATUS_INTERNAL_ERROR;
    } catch (const std::exception &error) {
        return infiniRecordFailure(function, INFINI_STATUS_INTERNAL_ERROR, error.what());
    } catch (...) {
        return infiniRecordFailure(function, INFINI_STATUS_INTERNAL_ERROR, "it failed");
    }
}

InfiniopHandle *find_handle(const void *handle) {
    return HandleTable<InfiniopHandle>::get().find(handle);
}
InfiniopTensorDescriptor *find_tensor(const void *descriptor) {
    return HandleTable<InfiniopTensorDescriptor>::get().find(descriptor);
}
InfiniopDescriptor *find_descriptor(const void *descriptor) {
    return HandleTable<InfiniopDescriptor>::get().find(descriptor);
}

namespace {

constexpr size_t kMostDescribed = 64;
constexpr int64_t kMostBytes = int64_t(1) << 60;  // leaves room for sums and products

void require(const void *pointer, size_t bytes, bool write, const char *name) {
    if (!pointer) fail(INFINI_STATUS_NULL_POINTER, "%s is null: expected a valid pointer", name);
    if (!infiniIsHostMemory(pointer, bytes, write))
        fail(INFINI_STATUS_BAD_PARAM, "%s points to no memory that can be %s", name,
             write ? "written" : "read");
}

bool multiply_add(int64_t *sum, int64_t a, int64_t b) {
    int64_t product;
    return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*sum, product, sum);
}

}  // namespace

void check_extent(InfiniopTensorDescriptor &tensor) {
    auto bytes = int64_t(infiniSizeOf(infiniDtype_t(tensor.dtype)));
    int64_t count = 1, extent = 0;
    bool empty = false;
    for (size_t i = tensor.shape.size(); i-- > 0;) {
        int64_t size = tensor.shape[i], &stride = tensor.strides[i];
        empty |= size == 0;
        if (size == 1 || empty) stride = count;
        if (size < 0 || __builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count) ||
            count > kMostBytes / bytes)
            fail(INFINI_STATUS_BAD_TENSOR_SHAPE,
                 "the sizes in shape multiply to more bytes than memory can have");
        if (stride == INT64_MIN ||
            !multiply_add(&extent, std::max<int64_t>(size, 1) - 1, stride < 0 ? -stride : stride) ||
            extent > kMostBytes / bytes)
            fail(INFINI_STATUS_BAD_TENSOR_STRIDES,
                 "the sizes and strides reach over more bytes than memory can have");
    }
    if (!empty) return;
    count = 1;
    for (size_t i = tensor.shape.size(); i-- > 0; count *= std::max<int64_t>(tensor.shape[i], 1))
        tensor.strides[i] = count;
}

namespace {

void make_tensor(infiniopTensorDescriptor_t *result, size_t ndim, const size_t *shape,
                 const ptrdiff_t *strides, infiniDtype_t dtype) {
    require(result, sizeof *result, true, "desc_ptr");
    if (ndim > kMostDescribed)
        fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "ndim is %zu: expected at most %zu", ndim,
             kMostDescribed);
    if (ndim > 0) require(shape, ndim * sizeof *shape, false, "shape");
    if (ndim > 0 && strides) require(strides, ndim * sizeof *strides, false, "strides");
    if (infiniSizeOf(dtype) == 0)
        fail(INFINI_STATUS_BAD_TENSOR_DTYPE, "dtype is %d: expected one of infiniDtype_t",
             int(dtype));
    InfiniopTensorDescriptor made{int(dtype), {}, {}};
    made.shape.assign(shape, shape + ndim);
    if (strides) {
        made.strides.assign(strides, strides + ndim);
    } else {
        made.strides.resize(ndim);
        uint64_t expected = 1;
        for (size_t i = ndim; i-- > 0; expected *= uint64_t(made.shape[i]))
            made.strides[i] = int64_t(expected & (uint64_t(INT64_MAX) >> 1));
    }
    check_extent(made);
    *result = make_handle<InfiniopTensorDescriptor>("tensor descriptors", std::move(made));
}

}  // namespace

void prepare_for_forks() {
    static const bool done = (rt::install_fork_handlers(), true);
    (void)done;
}

}  // namespace infini::op

using namespace infini::op;

extern "C" {

infiniStatus_t infiniopCreateHandle(infiniopHandle_t *handle_ptr) try {
    prepare_for_forks();
    require(handle_ptr, sizeof *handle_ptr, true, "handle_ptr");
    InfiniTarget target;
    if (infiniStatus_t status = infiniTargetOfThread(__func__, &target)) return status;
    *handle_ptr = make_handle<InfiniopHandle>(
        "handles", InfiniopHandle{infiniDevice_t(target.device_type), target.index, target});
    return INFINI_STATUS_SUCCESS;
} catch (...) {
    return caught("infiniopCreateHandle");
}

infiniStatus_t infiniopDestroyHandle(infiniopHandle_t handle) try {
    InfiniopHandle *found = find_handle(handle);
    if (!handle) fail(INFINI_STATUS_NULL_POINTER, "handle is null: expected a handle");
    if (!found) fail(INFINI_STATUS_BAD_PARAM, "handle is no handle, or was destroyed");
    if (!HandleTable<InfiniopHandle>::get().destroy_once(found))
        fail(INFINI_STATUS_BAD_PARAM, "handle was destroyed by another thread");
    return INFINI_STATUS_SUCCESS;
} catch (...) {
    return caught("infiniopDestroyHandle");
}

infiniStatus_t infiniopCreateTensorDescriptor(infiniopTensorDescriptor_t *desc_ptr, size_t ndim,
                                              const size_t *shape, const ptrdiff_t *strides,
                                              infiniDtype_t dtype) try {
    make_tensor(desc_ptr, ndim, shape, strides, dtype);
    return INFINI_STATUS_SUCCESS;
} catch (...) {
    return caught("infiniopCreateTensorDescriptor");
}

infiniStatus_t infiniopDestroyTensorDescriptor(infiniopTensorDescriptor_t desc) try {
    if (!desc) fail(INFINI_STATUS_NULL_POINTER, "desc is null: expected a tensor descriptor");
    InfiniopTensorDescriptor *found = find_tensor(desc);
    if (!found) fail(INFINI_STATUS_BAD_PARAM, "desc is no tensor descriptor, or was destroyed");
    if (!HandleTable<InfiniopTensorDescriptor>::get().destroy_once(found))
        fail(INFINI_STATUS_BAD_PARAM, "desc was destroyed by another thread");
    return INFINI_STATUS_SUCCESS;
} catch (...) {
    return caught("infiniopDestroyTensorDescriptor");
}

infiniStatus_t infiniopGetDescriptorDeviceType(const struct InfiniopDescriptor *desc_ptr,
                                               infiniDevice_t *device_type) try {
    if (!desc_ptr) fail(INFINI_STATUS_NULL_POINTER, "desc_ptr is null: expected a descriptor");
    const InfiniopDescriptor *found = find_descriptor(desc_ptr);
    if (!found) fail(INFINI_STATUS_BAD_PARAM, "desc_ptr is no descriptor, or was destroyed");
    require(device_type, sizeof *device_type, true, "device_type");
    *device_type = found->device_type;
    return INFINI_STATUS_SUCCESS;
} catch (...) {
    return caught("infiniopGetDescriptorDeviceType");
}

infiniStatus_t infiniopGetDescriptorDeviceId(const struct InfiniopDescriptor *desc_ptr,
                                             int *device_id) try {
    if (!desc_ptr) fail(INFINI_STATUS_NULL_POINTER, "desc_ptr is null: expected a descriptor");
    const InfiniopDescriptor *found = find_descriptor(desc_ptr);
    if (!found) fail(INFINI_STATUS_BAD_PARAM, "desc_ptr is no descriptor, or was destroyed");
    require(device_id, sizeof *device_id, true, "device_id");
    *device_id = found->device_id;
    return INFINI_STATUS_SUCCESS;
} catch (...) {
    return caught("infiniopGetDescriptorDeviceId");
}

}  // extern "C"
