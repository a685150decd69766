// Tensors for others: DLPack and the buffer protocol. A borrower holds the tensor.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <vector>

#include "../runtime/raise_error.h"
#include "dlpack_device.h"
#include "dtypes.h"
#include "exchange.h"
#include "stream_order.h"

using namespace nanobind::literals;

namespace infini::python {

namespace core = infinicore::detail;

namespace {

// ---- DLPack -------------------------------------------------------------------------------------

dlpack::DataType dlpack_type(DataType dtype) {
    enum : uint8_t { kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };
    constexpr uint8_t kFloat8E4M3fn = 10;
    const auto bits = uint8_t(8 * infinicore::dsize(dtype));
    switch (dtype) {
        case DataType::BOOL:
            return {kBool, bits, 1};
        case DataType::I8:
        case DataType::I16:
        case DataType::I32:
        case DataType::I64:
            return {kInt, bits, 1};
        case DataType::F8:
            return {kFloat8E4M3fn, bits, 1};
        case DataType::F16:
        case DataType::F32:
        case DataType::F64:
            return {kFloat, bits, 1};
        case DataType::BF16:
            return {kBfloat, bits, 1};
        case DataType::C16:
        case DataType::C32:
        case DataType::C64:
        case DataType::C128:
            return {kComplex, bits, 1};
        default:
            return {kUint, bits, 1};
    }
}

// Points into the tensor: valid as long as it is.
void describe(const Tensor &tensor, dlpack::Tensor &lent) {
    static_assert(sizeof(size_t) == sizeof(int64_t) && sizeof(std::ptrdiff_t) == sizeof(int64_t));
    lent = {tensor->numel() ? tensor->data_to_write() : nullptr,
            dlpack_device(tensor->device()),
            int32_t(tensor->ndim()),
            dlpack_type(tensor->dtype()),
            reinterpret_cast<int64_t *>(const_cast<size_t *>(tensor->shape().data())),
            reinterpret_cast<int64_t *>(const_cast<std::ptrdiff_t *>(tensor->strides().data())),
            0};
}

// What a borrower holds. It may release it in any thread: freeing memory needs no interpreter.
template <class Managed>
struct Loan {
    Managed managed{};
    Tensor tensor;
};

template <class Managed>
Managed *lend(const Tensor &tensor) {
    auto *loan = new Loan<Managed>;
    loan->tensor = tensor;
    try {
        describe(tensor, loan->managed.tensor);
    } catch (...) {
        delete loan;
        throw;
    }
    loan->managed.context = loan;
    loan->managed.deleter = [](Managed *managed) {
        delete static_cast<Loan<Managed> *>(managed->context);
    };
    if constexpr (std::is_same_v<Managed, dlpack::ManagedVersioned>) loan->managed.major = 1;
    return &loan->managed;
}

template <class Managed>
nb::object capsule_of(Managed *managed, const char *name) {
    // The capsule was not consumed, so the loan ends with it.
    PyObject *capsule = PyCapsule_New(managed, name, [](PyObject *self) {
        const char *given = PyCapsule_GetName(self);
        if (given && std::strncmp(given, "used_", 5) == 0) return;
        auto *left = static_cast<Managed *>(PyCapsule_GetPointer(self, given));
        left->deleter(left);
    });
    if (!capsule) {
        managed->deleter(managed);
        throw nb::python_error();
    }
    return nb::steal(capsule);
}

// Work queued for the tensor is ordered before the borrower's work in its stream, and the memory is
// not reused before that has finished. CUDA's stream numbers: none or 1 for the default stream, -1
// for a borrower that does its own ordering.
void order_for(const Tensor &lent, nb::handle stream) {
    core::DeviceRuntime &runtime = core::runtime_of(lent->device());
    infinirtStream_t borrower = nullptr;
    if (!stream.is_none()) {
        if (nb::isinstance<nb::int_>(stream) && PyLong_AsLongLong(stream.ptr()) == -1) {
            if (!PyErr_Occurred()) return;
            PyErr_Clear();  // handles of streams may be greater numbers
        }
        borrower = reinterpret_cast<infinirtStream_t>(nb::cast<uintptr_t>(stream));
    }
    if (runtime.is_cpu() || !put_behind(runtime, borrower, core::stream_of(runtime)))
        return wait_for(lent);
    if (borrower != core::stream_of(runtime))
        core::Allocator::record_stream(*lent->memory(), borrower);
}

nb::object to_dlpack(const Tensor &tensor, nb::handle stream, nb::handle max_version,
                     nb::handle dl_device, nb::handle copy) {
    refuse_while_recording("__dlpack__");
    const dlpack::Device device = dlpack_device(tensor->device());
    Tensor lent = tensor;
    bool copied = false;
    if (!dl_device.is_none()) {
        const int type = int(integer_from(nb::object(dl_device[0]), "__dlpack__"));
        const int index = int(integer_from(nb::object(dl_device[1]), "__dlpack__"));
        if (type == dlpack::kCpu && device.type != dlpack::kCpu) {
            if (copy.is(Py_False))
                raise_error(
                    PyExc_BufferError,
                    "__dlpack__: a tensor of a device can't be lent to the host without a copy");
            Unlocked released;
            lent = tensor->to(Device::cpu());
            copied = true;
        } else if (type != device.type || index != device.index) {
            raise_error(PyExc_BufferError,
                        "__dlpack__: the tensor is on DLPack's device (%d, %d), not (%d, %d)",
                        int(device.type), int(device.index), type, index);
        }
    }
    if (!copied && copy.is(Py_True)) {
        lent = Tensor::empty(tensor->shape(), tensor->dtype(), tensor->device());
        lent->copy_from(tensor);
        copied = true;
    }
    order_for(lent, stream);
    const bool versioned =
        !max_version.is_none() && integer_from(nb::object(max_version[0]), "__dlpack__") >= 1;
    if (!versioned) return capsule_of(lend<dlpack::Managed>(lent), "dltensor");
    auto *managed = lend<dlpack::ManagedVersioned>(lent);
    if (copied) managed->flags |= dlpack::kCopied;
    return capsule_of(managed, "dltensor_versioned");
}

// ---- The table of C functions -------------------------------------------------------------------

// Runs `body` and translates its exceptions to Python's.
template <class Body>
int guarded(const Body &body) {
    try {
        body();
        return 0;
    } catch (nb::python_error &error) {
        error.restore();
    } catch (const std::exception &error) {
        PyErr_SetString(PyExc_BufferError, error.what());
    }
    return -1;
}

const Tensor &lendable(void *object) {
    if (!is_tensor(static_cast<PyObject *>(object)))
        throw nb::type_error("expected an infinicore.Tensor");
    const Tensor &tensor = tensor_of(static_cast<PyObject *>(object));
    refuse_while_recording("__dlpack__");
    // A device tensor is used in the stream that current_stream returns.
    if (tensor->device().getType() == Device::Type::CPU) wait_for(tensor);
    return tensor;
}

int managed_from_object(void *object, dlpack::ManagedVersioned **made) {
    return guarded([&] { *made = lend<dlpack::ManagedVersioned>(lendable(object)); });
}

int tensor_from_object(void *object, dlpack::Tensor *tensor) {
    return guarded([&] { describe(lendable(object), *tensor); });
}

int managed_to_object(dlpack::ManagedVersioned *managed, void **made) {
    return guarded([&] {
        nb::object capsule = capsule_of(managed, "dltensor_versioned");
        static const nb::handle take =
            nb::object(nb::module_::import_("infinicore._core").attr("from_dlpack")).release();
        *made = take(capsule).release().ptr();
    });
}

int allocate(dlpack::Tensor *prototype, dlpack::ManagedVersioned **made, void *context,
             void (*set_error)(void *, const char *, const char *)) {
    try {
        const int dtype = dtype_from_dlpack(prototype->type);
        const std::optional<Device> device = device_of(prototype->device);
        if (!dtype || !device)
            throw std::runtime_error("no tensors of this type or device are made here");
        *made = lend<dlpack::ManagedVersioned>(
            Tensor::empty(Shape(prototype->shape, prototype->shape + prototype->dimensions),
                          DataType(dtype), *device));
        return 0;
    } catch (const std::exception &error) {
        set_error(context, "RuntimeError", error.what());
        return -1;
    }
}

int current_stream(int32_t type, int32_t index, void **stream) {
    return guarded([&] {
        const std::optional<Device> device = device_of({type, index});
        if (!device) throw std::runtime_error("there is no such device here");
        *stream = core::stream_of(core::runtime_of(*device));
    });
}

dlpack::Exchange exchange{1,
                          3,
                          nullptr,
                          allocate,
                          managed_from_object,
                          managed_to_object,
                          tensor_from_object,
                          current_stream};

// ---- The buffer protocol ------------------------------------------------------------------------

const char *format_of(DataType dtype) {
    // NumPy's int64 is "l", where it can be.
    constexpr const char *kI64 = sizeof(long) == 8 ? "l" : "q";
    constexpr const char *kU64 = sizeof(long) == 8 ? "L" : "Q";
    static constexpr std::pair<DataType, const char *> kFormats[] = {
        {DataType::BOOL, "?"}, {DataType::I8, "b"},   {DataType::I16, "h"},  {DataType::I32, "i"},
        {DataType::I64, kI64}, {DataType::BYTE, "B"}, {DataType::U8, "B"},   {DataType::U16, "H"},
        {DataType::U32, "I"},  {DataType::U64, kU64}, {DataType::F16, "e"},  {DataType::F32, "f"},
        {DataType::F64, "d"},  {DataType::C64, "Zf"}, {DataType::C128, "Zd"}};
    for (const auto &[known, format] : kFormats)
        if (known == dtype) return format;
    return nullptr;
}

void fill_buffer(PyObject *self, Py_buffer *view, int flags) {
    if (!is_tensor(self)) throw nb::buffer_error("the tensor was not initialised");
    const Tensor &tensor = tensor_of(self);
    refuse_while_recording("memoryview");
    if (tensor->device().getType() != Device::Type::CPU)
        throw nb::buffer_error("the host can't read a device's memory directly: use cpu() first");
    const char *format = format_of(tensor->dtype());
    if (!format)
        raise_error(PyExc_BufferError, "buffers have no elements of type %s: use numpy()",
                    infinicore::toString(tensor->dtype()).c_str());
    const bool dense = tensor->is_contiguous();
    if (!dense && (flags & PyBUF_STRIDES) != PyBUF_STRIDES)
        throw nb::buffer_error("the tensor has gaps: use contiguous() first");
    if (!dense && ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
                   (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS ||
                   (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS))
        throw nb::buffer_error("the tensor has gaps: use contiguous() first");
    // A contiguous tensor of several dimensions is row-major.
    size_t wide = 0;
    for (size_t size : tensor->shape()) wide += size > 1;
    if (wide > 1 && (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS)
        throw nb::buffer_error("the first dimension is not the fastest, as Fortran has it");
    wait_for(tensor);
    const size_t rank = tensor->ndim(), bytes = tensor->element_size();
    auto *numbers = new std::vector<Py_ssize_t>(2 * rank + 1);
    for (size_t i = 0; i < rank; ++i) {
        (*numbers)[i] = Py_ssize_t(tensor->shape()[i]);
        (*numbers)[rank + i] = tensor->strides()[i] * Py_ssize_t(bytes);
    }
    // The protocol does not allow null addresses, even for empty buffers.
    static char nothing;
    view->buf = tensor->numel() ? static_cast<void *>(tensor->data_to_write()) : &nothing;
    view->len = Py_ssize_t(tensor->nbytes());
    view->itemsize = Py_ssize_t(bytes);
    view->readonly = 0;
    view->ndim = int(rank);
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char *>(format) : nullptr;
    view->shape = (flags & PyBUF_ND) == PyBUF_ND ? numbers->data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? numbers->data() + rank : nullptr;
    view->suboffsets = nullptr;
    view->internal = numbers;
    Py_INCREF(self);
    view->obj = self;
}

int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    view->obj = nullptr;
    try {
        fill_buffer(self, view, flags);
        return 0;
    } catch (nb::python_error &error) {
        error.restore();
    } catch (const std::exception &error) {
        PyErr_SetString(PyExc_BufferError, error.what());
    }
    return -1;
}

void release_buffer(PyObject *, Py_buffer *view) {
    delete static_cast<std::vector<Py_ssize_t> *>(view->internal);
}

PyType_Slot lent_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void *>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void *>(release_buffer)},
    {0, nullptr},
};

}  // namespace

PyType_Slot *tensor_slots() { return lent_slots; }

void bind_lending(nb::module_ &) {
    nb::object type = nb::borrow(reinterpret_cast<PyObject *>(tensor_type));
    nb::cpp_function_def(to_dlpack, nb::scope(type), nb::name("__dlpack__"), nb::is_method(),
                         nb::kw_only(), "stream"_a.none() = nb::none(),
                         "max_version"_a.none() = nb::none(), "dl_device"_a.none() = nb::none(),
                         "copy"_a.none() = nb::none());
    nb::cpp_function_def(
        [](const Tensor &tensor) {
            const dlpack::Device device = dlpack_device(tensor->device());
            return nb::make_tuple(device.type, device.index);
        },
        nb::scope(type), nb::name("__dlpack_device__"), nb::is_method());
    type.attr("__dlpack_c_exchange_api__") =
        nb::steal(PyCapsule_New(&exchange, "dlpack_exchange_api", nullptr));
}

}  // namespace infini::python
