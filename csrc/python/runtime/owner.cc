#include "owner.h"

#include <cstring>
#include <utility>

#include "deferred_release.h"
#include "raise_error.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

constexpr std::pair<const char *, Resource> kNames[] = {
    {"", Resource::Nothing},
    {"Stream", Resource::Stream},
    {"Event", Resource::Event},
    {"Graph", Resource::Graph},
    {"GraphExec", Resource::GraphExec},
    {"MemPool", Resource::MemPool},
    {"Memory", Resource::Memory},
    {"HostMemory", Resource::HostMemory},
    {"PoolMemory", Resource::PoolMemory},
    {"IpcMemory", Resource::IpcMemory},
};

Resource resource(const std::string &what) {
    for (const auto &[name, value] : kNames)
        if (what == name) return value;
    throw nb::value_error(("no kind of resource: " + what).c_str());
}

// Switches the thread to another device type for a scope.
class KindScope {
public:
    explicit KindScope(const char *kind) : before_(infinirtGetDeviceKind()) {
        if (std::strcmp(before_, kind) == 0)
            before_ = nullptr;
        else
            infinirtSetDeviceKind(kind);
    }
    ~KindScope() {
        if (before_) infinirtSetDeviceKind(before_);
    }

private:
    const char *before_;
};

template <class T>
T as(uintptr_t handle) {
    return reinterpret_cast<T>(handle);
}

infinirtError_t free_in_order(void *memory, PyObject *stream) {
    uintptr_t handle = 0;
    if (Owner *owner = nullptr; stream && nb::try_cast(nb::handle(stream), owner) && owner) {
        if (owner->closed()) return infinirtFree(memory);  // no order remains to be kept
        handle = owner->raw();
    }
    return infinirtFreeAsync(memory, as<infinirtStream_t>(handle));
}

infinirtError_t free_now(const Owner::Held &held) {
    KindScope scope(held.kind);
    switch (held.what) {
        case Resource::Nothing:
            return infinirtSuccess;
        case Resource::Stream:
            forget_stream(as<infinirtStream_t>(held.handle));
            return infinirtStreamDestroy(as<infinirtStream_t>(held.handle));
        case Resource::Event:
            return infinirtEventDestroy(as<infinirtEvent_t>(held.handle));
        case Resource::Graph:
            forget_graph(as<infinirtGraph_t>(held.handle));
            return infinirtGraphDestroy(as<infinirtGraph_t>(held.handle));
        case Resource::GraphExec:
            return waiting(
                [&] { return infinirtGraphExecDestroy(as<infinirtGraphExec_t>(held.handle)); });
        case Resource::MemPool:
            return waiting(
                [&] { return infinirtMemPoolDestroy(as<infinirtMemPool_t>(held.handle)); });
        case Resource::Memory:
            return waiting([&] { return infinirtFree(as<void *>(held.handle)); });
        case Resource::HostMemory:
            return waiting([&] { return infinirtFreeHost(as<void *>(held.handle)); });
        case Resource::PoolMemory:
            return free_in_order(as<void *>(held.handle), held.after);
        case Resource::IpcMemory:
            return waiting([&] { return infinirtIpcCloseMemHandle(as<void *>(held.handle)); });
    }
    return infinirtSuccess;
}

// Freeing these waits for the device.
bool waits(Resource what) {
    return what == Resource::Memory || what == Resource::HostMemory || what == Resource::IpcMemory;
}

// Freeing these during a capture would spoil it.
bool spoils_captures(Resource what) {
    return waits(what) || what == Resource::PoolMemory || what == Resource::MemPool;
}

bool put_off(Resource what) {
    if (!spoils_captures(what)) return inside_host_function();
    return must_not_free() || (waits(what) && freeing_waits());
}

bool must_wait(infinirtError_t error) {
    return error == infinirtErrorNotPermitted || error == infinirtErrorStreamCaptureUnsupported ||
           error == infinirtErrorStreamCaptureImplicit;
}

// False if it has to be tried again later.
bool free_quietly(const Owner::Held &held) {
    LastErrorKept kept;
    return !must_wait(free_now(held));
}

}  // namespace

PyTypeObject *Owner::owner_type = nullptr, *Owner::block_type = nullptr;

Owner::Owner(const std::string &what, Int<uintptr_t> handle, nb::object after)
    : held_{resource(what), handle, infinirtGetDeviceKind(),
            after.is_none() ? nullptr : after.release().ptr()} {
    if (held_.what == Resource::Stream) note_stream(as<infinirtStream_t>(held_.handle));
}

Owner::~Owner() {
    bool empty = closed_ || held_.what == Resource::Nothing || held_.handle == 0;
    if (!empty) {
        nb::error_scope keep_exception;
        if (put_off(held_.what) || !free_quietly(held_)) {
            auto again = [](void *data) {
                auto *held = static_cast<Held *>(data);
                if (!free_quietly(*held)) return false;
                Py_XDECREF(held->after);
                delete held;
                return true;
            };
            release_later(again, new Held(held_));
            held_.after = nullptr;  // destroyed with it
        }
        settle();
    }
    Py_XDECREF(held_.after);
}

void Owner::close() {
    if (closed_) return;
    closed_ = true;
    infinirtError_t error = held_.handle ? free_now(held_) : infinirtSuccess;
    Py_CLEAR(held_.after);
    check(error);
    settle();
}

uintptr_t Owner::detach() {
    closed_ = true;
    return held_.handle;
}

void Owner::throw_closed(nb::handle self) {
    raise_error(PyExc_ValueError, "this %U is closed",
                nb::str(nb::object(self.type().attr("__name__"))).ptr());
}

void bind_owner(nb::module_ &m) {
    nb::class_<Owner> cls(m, "_Owner", nb::is_weak_referenceable());
    Owner::owner_type = reinterpret_cast<PyTypeObject *>(cls.ptr());
    cls.def(nb::init<const std::string &, Int<uintptr_t>, nb::object>(), "what"_a, "handle"_a,
            "after"_a.none() = nb::none())
        .def_prop_ro(
            "handle", [](nb::handle self) { return nb::cast<Owner &>(self).handle(self); },
            "The number by which the functions of the C API know it.")
        .def_prop_ro("closed", &Owner::closed, "Whether it was given back.")
        .def("close", &Owner::close, "Give it back now. A second time has no effect.")
        .def("__enter__", [](nb::object self) { return self; })
        .def("__exit__", [](nb::handle self, nb::args) { self.attr("close")(); })
        .def("_detach", &Owner::detach, "Keep the handle and give back nothing.")
        .def_prop_ro("kind", &Owner::kind, "The device type it belongs to.");
}

}  // namespace infini::python
