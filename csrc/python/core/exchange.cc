// Tensors over foreign memory: an address, another library's tensor, or any object with a buffer.
#include "exchange.h"

#include <nanobind/stl/string.h>

#include "../runtime/interruptible.h"
#include "../runtime/raise_error.h"
#include "collective_error.h"
#include "dlpack_device.h"
#include "dtypes.h"
#include "runtime_services.h"
#include "stream_order.h"
#include "view.h"

using namespace nanobind::literals;

namespace infini::python {

using infinicore::Memory;
using infinicore::detail::DeviceRuntime;
using infinicore::detail::runtime_of;
using infinicore::detail::stream_of;

// ---- Foreign memory -----------------------------------------------------------------------------

Tensor over(void *data, Shape shape, Strides strides, DataType dtype, const Device &device,
            Memory::Deleter let_go) {
    Tensor bare = Tensor::strided_from_blob(data, shape, strides, dtype, device);
    if (!let_go) return bare;
    const auto &inner = bare->memory();
    auto memory = std::make_shared<Memory>(inner->data(), inner->size(), device, std::move(let_go));
    return Tensor(
        std::make_shared<TensorImpl>(std::move(shape), std::move(strides), dtype,
                                     infinicore::TensorData{bare->offset(), std::move(memory)}));
}

namespace {

// Work in the stream may still use the memory, and may call Python, so the GIL is released.
void wait_without_lock(DeviceRuntime &runtime) {
    Unlocked released;
    infinicore::detail::DeviceScope scope(runtime);
    infini::QuietWaits quiet;
    infinirtStreamSynchronize(stream_of(runtime));
}

}  // namespace

Tensor over(void *data, Shape shape, Strides strides, DataType dtype, const Device &device,
            nb::object owner) {
    Memory::Deleter let_go;
    const bool is_owned = owner.is_valid() && !owner.is_none();
    if (is_owned)
        let_go = [object = owner.ptr(), runtime = &runtime_of(device)](std::byte *) {
            if (!Py_IsInitialized()) return;
            Locked held;
            wait_without_lock(*runtime);
            Py_DECREF(object);
        };
    Tensor made =
        over(data, std::move(shape), std::move(strides), dtype, device, std::move(let_go));
    if (is_owned) owner.release();  // now owned by the memory
    return made;
}

namespace {

// After a failed query: the error of the usual wait, or else that of the query.
[[noreturn]] void raise_of_stream(DeviceRuntime &runtime, const char *function) {
    {
        Unlocked released;
        infinirtStreamSynchronize(stream_of(runtime));
    }
    if (infiniFailedWaitCheck()) raise_collective_error(function);
    infinicore::detail::throw_last_error(function);
}

}  // namespace

void wait_before(DeviceRuntime &runtime) {
    infinicore::detail::DeviceScope scope(runtime);
    if (!wait_unless_interrupted(stream_of(runtime))) raise_of_stream(runtime, "wait");
}

void wait_for_stream(DeviceRuntime &runtime, const char *function) {
    infinicore::detail::DeviceScope scope(runtime);
    infinirtStream_t stream = stream_of(runtime);
    const StreamState state = query_stream(stream);
    if (state == StreamState::Done) [[likely]]
        return;
    if (state == StreamState::Failed && infiniFailedWaitCheck()) raise_collective_error(function);
    if (state == StreamState::Busy && wait_unless_interrupted(stream)) {
        Unlocked released;
        if (infinirtStreamSynchronize(stream) == INFINI_STATUS_SUCCESS) return;
    }
    raise_of_stream(runtime, function);
}

void wait_for(const Tensor &tensor) { wait_for_stream(runtime_of(tensor->device()), "read"); }

namespace {

[[noreturn]] void refuse(PyObject *kind, const char *function, const char *sentence) {
    raise_error(kind, "%s: %s", function, sentence);
}

// ---- DLPack -------------------------------------------------------------------------------------

Device device_from_dlpack(const dlpack::Device &device, const char *function) {
    if (auto found = device_of(device)) return *found;
    raise_error(PyExc_BufferError,
                "%s: the tensor is on a device that is not here: DLPack's type %d, number %d",
                function, int(device.type), int(device.index));
}

// How the lender's work is ordered with ours.
struct Order {
    enum Kind {
        Unknown,  // the device is waited for
        Ours,     // the lender has ordered its work before our stream's
        Streams   // the streams wait for each other; the host does not wait
    } kind = Unknown;
    infinirtStream_t lender = nullptr;
};

void begin_loan(DeviceRuntime &runtime, Order &order, const char *function) {
    if (runtime.is_cpu() || order.kind == Order::Ours) return;
    if (order.kind == Order::Streams && put_behind(runtime, stream_of(runtime), order.lender))
        return;
    order.kind = Order::Unknown;
    Unlocked released;
    infinicore::detail::RuntimeScope scope(runtime);
    infinicore::detail::check(infinirtDeviceSynchronize(), function);
}

// The lender may use the memory again at any time, so that use is ordered after our work.
void end_loan(DeviceRuntime &runtime, const Order &order) {
    if (order.kind != Order::Streams || runtime.is_cpu() ||
        !put_behind(runtime, order.lender, stream_of(runtime)))
        wait_without_lock(runtime);
}

template <class Managed>
Tensor take(Managed *managed, bool readonly, const char *function, Order order = {}) {
    const dlpack::Tensor &lent = managed->tensor;
    try {
        if (readonly)
            refuse(PyExc_BufferError, function,
                   "the memory is read-only, and tensors can be written: copy it, e.g. with "
                   "infinicore.tensor()");
        const int dtype = dtype_from_dlpack(lent.type);
        if (!dtype) refuse(PyExc_TypeError, function, "no tensors have elements of this type");
        const Device device = device_from_dlpack(lent.device, function);
        const auto rank = size_t(lent.dimensions);
        Shape shape(lent.shape, lent.shape + rank);
        Strides strides = lent.strides ? Strides(lent.strides, lent.strides + rank)
                                       : infinicore::contiguous_strides(shape);
        DeviceRuntime &runtime = runtime_of(device);
        begin_loan(runtime, order, function);
        return over(static_cast<char *>(lent.data) + lent.byte_offset, std::move(shape),
                    std::move(strides), DataType(dtype), device,
                    [managed, order, &runtime](std::byte *) {
                        if (!Py_IsInitialized()) return;
                        Locked held;
                        end_loan(runtime, order);
                        if (managed->deleter) managed->deleter(managed);
                    });
    } catch (...) {
        if (managed->deleter) managed->deleter(managed);
        throw;
    }
}

// The types seen so far, with their tables; only a few libraries have one.
const dlpack::Exchange *exchange_of(PyTypeObject *type) {
    constexpr size_t kMost = 8;
    static struct {
        PyTypeObject *type;
        const dlpack::Exchange *table;
    } seen[kMost];
    static size_t count = 0;
    for (size_t i = 0; i < std::min(count, kMost); ++i)
        if (seen[i].type == type) return seen[i].table;
    nb::object capsule = nb::getattr(nb::handle(reinterpret_cast<PyObject *>(type)),
                                     "__dlpack_c_exchange_api__", nb::none());
    const dlpack::Exchange *table = nullptr;
    if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api"))
        table = static_cast<const dlpack::Exchange *>(
            PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    while (table && table->major > 1) table = table->previous;
    if (table && !table->managed_from_object) table = nullptr;
    auto &place = seen[count++ % kMost];
    Py_INCREF(reinterpret_cast<PyObject *>(type));
    Py_XDECREF(reinterpret_cast<PyObject *>(place.type));
    place = {type, table};
    return table;
}

Tensor from_capsule(nb::handle capsule, const char *function, Order order = {}) {
    constexpr const char *kName = "dltensor", *kVersioned = "dltensor_versioned";
    if (PyCapsule_IsValid(capsule.ptr(), kVersioned)) {
        auto *managed = static_cast<dlpack::ManagedVersioned *>(
            PyCapsule_GetPointer(capsule.ptr(), kVersioned));
        if (managed->major > 1) refuse(PyExc_BufferError, function, "expected DLPack of version 1");
        PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
        return take(managed, managed->flags & dlpack::kReadOnly, function, order);
    }
    auto *managed = static_cast<dlpack::Managed *>(PyCapsule_IsValid(capsule.ptr(), kName)
                                                       ? PyCapsule_GetPointer(capsule.ptr(), kName)
                                                       : nullptr);
    if (!managed) refuse(PyExc_BufferError, function, "expected a capsule that was not used yet");
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    return take(managed, false, function, order);
}

// False: the object does not support DLPack.
bool borrow(nb::handle source, const char *function, Tensor &made) {
    if (const dlpack::Exchange *table = exchange_of(Py_TYPE(source.ptr()))) {
        dlpack::ManagedVersioned *managed = nullptr;
        if (table->managed_from_object(source.ptr(), &managed) != 0) throw nb::python_error();
        const dlpack::Device &device = managed->tensor.device;
        void *stream = nullptr;
        Order order;
        if (device.type != dlpack::kCpu && table->current_stream) {
            if (table->current_stream(device.type, device.index, &stream) == 0)
                order = {Order::Streams, static_cast<infinirtStream_t>(stream)};
            else
                PyErr_Clear();
        }
        made = take(managed, managed->flags & dlpack::kReadOnly, function, order);
        return true;
    }
    if (PyCapsule_CheckExact(source.ptr())) {
        made = from_capsule(source, function);
        return true;
    }
    if (!nb::hasattr(source, "__dlpack__")) return false;
    Order order;
    nb::object stream = nb::none(), capsule;
    if (nb::hasattr(source, "__dlpack_device__")) {
        nb::object place = source.attr("__dlpack_device__")();
        const dlpack::Device lent{nb::cast<int32_t>(nb::object(place[0])),
                                  nb::cast<int32_t>(nb::object(place[1]))};
        const Device device = device_from_dlpack(lent, function);
        if (device.getType() != Device::Type::CPU) {
            // Its work is ordered before ours; 1 is CUDA's default stream.
            auto handle = reinterpret_cast<uintptr_t>(stream_of(runtime_of(device)));
            stream = nb::int_(handle ? handle : 1);
            order.kind = Order::Ours;
        }
    }
    try {
        capsule =
            source.attr("__dlpack__")("stream"_a = stream, "max_version"_a = nb::make_tuple(1, 0));
    } catch (nb::python_error &error) {
        if (!error.matches(PyExc_TypeError)) throw;
        // A producer that predates DLPack's versions.
        capsule = stream.is_none() ? source.attr("__dlpack__")()
                                   : source.attr("__dlpack__")("stream"_a = stream);
    }
    made = from_capsule(capsule, function, order);
    return true;
}

}  // namespace

Tensor borrowed(nb::handle source, const char *function) {
    Tensor made;
    if (borrow(source, function, made)) return made;
    raise_error(PyExc_TypeError, "%s: expected an object with __dlpack__, got %S", function,
                nb::handle(source.type()).ptr());
}

namespace {

nb::object from_dlpack(nb::handle source) {
    if (is_tensor(source.ptr())) return wrap(tensor_of(source.ptr()));
    return wrap(borrowed(source, "from_dlpack"));
}

// ---- Anything with memory -----------------------------------------------------------------------

// The buffer protocol and __array_interface__ first: NumPy exports element types there that DLPack
// lacks.
nb::object from_object(nb::handle source, const std::string &function) {
    const char *name = function.c_str();
    if (is_tensor(source.ptr())) return wrap(tensor_of(source.ptr()));
    Tensor made;
    const bool has_buffer = PyObject_CheckBuffer(source.ptr());
    if (!has_buffer && borrow(source, name, made)) return wrap(std::move(made));
    auto *view = new View;
    nb::object keeper = nb::capsule(view, [](void *p) noexcept { delete static_cast<View *>(p); });
    view->inspect(source, name);
    if (view->readonly)
        refuse(PyExc_BufferError, name,
               "the memory is read-only, and tensors can be written: copy it, e.g. with "
               "infinicore.tensor()");
    Shape shape(view->shape(), view->shape() + view->ndim());
    Strides strides(view->strides(), view->strides() + view->ndim());
    // Both are kept: the view (an exported buffer) and the object itself.
    return wrap(over(view->data, std::move(shape), std::move(strides), DataType(view->dtype),
                     view->foreign ? Device::cpu() : infinicore::context::getDevice(),
                     nb::object(nb::make_tuple(keeper, nb::borrow(source)))));
}

nb::object from_address(uintptr_t address, nb::handle size, nb::handle stride, nb::handle dtype,
                        nb::handle device, nb::object owner) {
    Shape shape = shape_from(size, "from_blob");
    Strides strides = stride.is_none() ? infinicore::contiguous_strides(shape)
                                       : strides_from(stride, "from_blob");
    return wrap(over(reinterpret_cast<void *>(address), std::move(shape), std::move(strides),
                     dtype_from(dtype), device_from(device), std::move(owner)));
}

}  // namespace

void bind_exchange(nb::module_ &m) {
    m.def("from_dlpack", from_dlpack, "source"_a.none());
    m.def("from_object", from_object, "source"_a.none(), "function"_a);
    m.def("from_address", from_address, "address"_a, "size"_a, "stride"_a.none(), "dtype"_a,
          "device"_a, "owner"_a.none());
}

}  // namespace infini::python
