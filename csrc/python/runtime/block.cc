// A block of memory: an Owner with a size, the buffer protocol and DLPack. The base of
// infinicore.rt.Memory.
#include <atomic>

#include "deferred_release.h"
#include "dlpack.h"
#include "owner.h"
#include "raise_error.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

class Block : public Owner {
public:
    Block(const std::string &what, Int<uintptr_t> address, Int<size_t> bytes, bool host,
          bool readonly, nb::object after)
        : Owner(what == "View" ? "" : what, address, after),
          bytes(bytes),
          host(host),
          readonly(readonly),
          whole_(what == "View" ? &nb::cast<Block &>(after) : nullptr) {
        if (whole_) ++whole_->users;
    }
    ~Block() { leave_whole(); }

    void close() {
        if (Py_ssize_t count = users.load())
            raise_error(PyExc_BufferError,
                        "cannot close memory that is in use: %zd views, parts or loans", count);
        leave_whole();
        Owner::close();
    }

    const size_t bytes;
    const bool host;  // the host may read and write it
    const bool readonly;
    // Exported buffers and sub-blocks, and open loans. Loans may end in any thread.
    std::atomic<Py_ssize_t> users{0};

private:
    Block *whole_;  // the parent block; the Owner's `after` keeps it alive

    void leave_whole() {
        if (whole_) --whole_->users;
        whole_ = nullptr;
    }
};

// ---- The buffer protocol ------------------------------------------------------------------------

int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    Block &block = *nb::inst_ptr<Block>(self);
    view->obj = nullptr;
    if (block.closed()) {
        PyErr_SetString(PyExc_BufferError, "the memory is closed");
        return -1;
    }
    if (!block.host) {
        PyErr_SetString(PyExc_BufferError,
                        "the host cannot read this device's memory directly: copy_to() copies it");
        return -1;
    }
    // The protocol does not allow null addresses, even for empty buffers.
    static char nothing;
    void *address = block.raw() ? reinterpret_cast<void *>(block.raw()) : &nothing;
    int failed = PyBuffer_FillInfo(view, self, address, static_cast<Py_ssize_t>(block.bytes),
                                   block.readonly, flags);
    if (failed == 0) ++block.users;
    return failed;
}

void release_buffer(PyObject *self, Py_buffer *) { --nb::inst_ptr<Block>(self)->users; }

PyType_Slot slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void *>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void *>(release_buffer)},
    {0, nullptr},
};

// ---- DLPack, lending ----------------------------------------------------------------------------

constexpr const char *kName = "dltensor", *kVersionedName = "dltensor_versioned";

// What a borrower holds: one dimension of bytes, and a reference that any thread may release.
template <class M>
struct Loan {
    M managed{};
    int64_t shape;
    Block *block;
    PyObject *owner;  // of the block
};

template <class M>
void end_loan(M *managed) {
    auto *loan = static_cast<Loan<M> *>(managed->context);
    --loan->block->users;
    drop_later(loan->owner);
    delete loan;
}

// The capsule was not consumed, so the loan ends with it.
template <class M>
void drop_capsule(PyObject *capsule, const char *name) {
    if (!PyCapsule_IsValid(capsule, name)) return;
    auto *managed = static_cast<M *>(PyCapsule_GetPointer(capsule, name));
    managed->deleter(managed);
}

template <class M>
Loan<M> *lend(nb::handle self, int device_type, int device_index) {
    Block &block = nb::cast<Block &>(self);
    void *address = reinterpret_cast<void *>(block.handle(self));
    auto *loan = new Loan<M>;
    loan->shape = static_cast<int64_t>(block.bytes);
    loan->block = &block;
    ++block.users;
    loan->owner = self.inc_ref().ptr();
    loan->managed.context = loan;
    loan->managed.deleter = end_loan<M>;
    loan->managed.tensor = {
        address, {device_type, device_index}, 1, {1, 8, 1}, &loan->shape, nullptr, 0};
    return loan;
}

nb::object to_dlpack(nb::handle self, bool versioned, int device_type, int device_index) {
    using namespace dlpack;
    if (!versioned) {
        auto *loan = lend<Managed>(self, device_type, device_index);
        return nb::steal(PyCapsule_New(&loan->managed, kName, [](PyObject *capsule) {
            drop_capsule<Managed>(capsule, kName);
        }));
    }
    auto *loan = lend<ManagedVersioned>(self, device_type, device_index);
    loan->managed.major = 1;
    loan->managed.flags = nb::cast<Block &>(self).readonly ? kReadOnly : 0;
    return nb::steal(PyCapsule_New(&loan->managed, kVersionedName, [](PyObject *capsule) {
        drop_capsule<ManagedVersioned>(capsule, kVersionedName);
    }));
}

// ---- DLPack, borrowing --------------------------------------------------------------------------

size_t bytes_of(const dlpack::Tensor &tensor) {
    int64_t items = 1;
    for (int32_t i = tensor.dimensions - 1; i >= 0; --i) {
        if (tensor.strides && tensor.shape[i] > 1 && tensor.strides[i] != items)
            throw nb::value_error("from_dlpack: expected a compact row-major tensor");
        items *= tensor.shape[i];
    }
    return static_cast<size_t>(items) * tensor.type.lanes * tensor.type.bits / 8;
}

// (address, bytes, device type, device index, read-only, owner); the capsule is used up.
template <class M>
nb::tuple borrow_from(nb::handle capsule, const char *name, const char *used_name) {
    auto *managed = static_cast<M *>(PyCapsule_GetPointer(capsule.ptr(), name));
    if (!managed) throw nb::python_error();
    size_t bytes = bytes_of(managed->tensor);
    bool readonly = false;
    if constexpr (std::is_same_v<M, dlpack::ManagedVersioned>) {
        if (managed->major != 1) throw nb::value_error("from_dlpack: expected DLPack version 1");
        readonly = managed->flags & dlpack::kReadOnly;
    }
    PyCapsule_SetName(capsule.ptr(), used_name);
    nb::object owner = nb::steal(PyCapsule_New(managed, nullptr, [](PyObject *self) {
        auto *lent = static_cast<M *>(PyCapsule_GetPointer(self, nullptr));
        if (lent->deleter) lent->deleter(lent);
    }));
    auto address = reinterpret_cast<uintptr_t>(managed->tensor.data) + managed->tensor.byte_offset;
    const dlpack::Device &device = managed->tensor.device;
    return nb::make_tuple(address, bytes, device.type, device.index, readonly, owner);
}

nb::tuple from_dlpack(nb::handle capsule) {
    if (PyCapsule_IsValid(capsule.ptr(), kVersionedName))
        return borrow_from<dlpack::ManagedVersioned>(capsule, kVersionedName,
                                                     "used_dltensor_versioned");
    return borrow_from<dlpack::Managed>(capsule, kName, "used_dltensor");
}

}  // namespace

void bind_block(nb::module_ &m) {
    nb::class_<Block, Owner> cls(m, "_Block", nb::type_slots(slots));
    Owner::block_type = reinterpret_cast<PyTypeObject *>(cls.ptr());
    cls.def(nb::init<const std::string &, Int<uintptr_t>, Int<size_t>, bool, bool, nb::object>(),
            "what"_a, "address"_a, "nbytes"_a, "host"_a, "readonly"_a = false,
            "after"_a.none() = nb::none())
        .def_prop_ro(
            "ptr", [](nb::handle self) { return nb::cast<Block &>(self).handle(self); },
            "The address of the first byte.")
        .def_ro("nbytes", &Block::bytes, "The size in bytes.")
        .def_ro("host_accessible", &Block::host, "Whether the host may read and write it directly.")
        .def_ro("readonly", &Block::readonly, "Whether it must not be written.")
        .def("close", &Block::close, "Free it now. A second time has no effect.")
        .def("_to_dlpack", to_dlpack, "versioned"_a, "device_type"_a, "device_index"_a);
    m.def("_from_dlpack", from_dlpack, "capsule"_a);
}

}  // namespace infini::python
