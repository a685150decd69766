// Objects that own a runtime resource and release it: the base of the Python classes.
//
// Ownership: an Owner frees its handle once, in close() or when Python drops it, whichever comes
// first. It frees on the device kind it was made on. Where freeing is not permitted (in a host
// function, during a capture), or would wait for a stream without a call of close(), it is deferred
// until possible.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "call.h"
#include "callbacks.h"

namespace infini::python {

enum class Resource {
    Nothing,
    Stream,
    Event,
    Graph,
    GraphExec,
    MemPool,
    Memory,
    HostMemory,
    PoolMemory,
    IpcMemory
};

class Owner {
public:
    // `what` names a Resource ("Stream"); `after` is an object that must live at least as long, and
    // for PoolMemory the stream in whose order it is freed.
    Owner(const std::string &what, Int<uintptr_t> handle, nb::object after);
    Owner(const Owner &) = delete;
    ~Owner();

    // The Owner of a Python object; null if it has none. `block`: only if it is a block of memory.
    static const Owner *behind(PyObject *source, bool block) {
        PyTypeObject *type = block ? block_type : owner_type;
        if (!PyObject_TypeCheck(source, type) || !nb::inst_ready(source)) return nullptr;
        return nb::inst_ptr<Owner>(source);
    }
    static PyTypeObject *owner_type, *block_type;

    bool closed() const { return closed_; }
    void close();  // raises the library's error
    // Releases ownership of the handle: nothing is freed any more.
    uintptr_t detach();
    // Raises if it is closed, with the name of the Python class.
    uintptr_t handle(nb::handle self) const {
        if (closed_) [[unlikely]]
            throw_closed(self);
        return held_.handle;
    }
    uintptr_t raw() const { return held_.handle; }
    const char *kind() const { return held_.kind; }

    struct Held {
        Resource what;
        uintptr_t handle;
        const char *kind;  // of device; lives as long as the library
        PyObject *after;   // owned; may be null
    };

private:
    [[noreturn]] static void throw_closed(nb::handle self);

    Held held_;
    bool closed_ = false;
};

void bind_owner(nb::module_ &m);
void bind_block(nb::module_ &m);
void bind_kinds(nb::module_ &m);

}  // namespace infini::python
