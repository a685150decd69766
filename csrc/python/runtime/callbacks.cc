#include "callbacks.h"

#include <mutex>
#include <unordered_map>

#include "deferred_release.h"
#include "raise_error.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

// ---- Host functions: called by a thread of the back end, without the interpreter's lock ---------

void call(PyObject *function) {
    PyObject *result = PyObject_CallNoArgs(function);
    if (!result) PyErr_WriteUnraisable(function);
    Py_XDECREF(result);
}

void run(void *function) {
    if (Attached attached; attached) call(static_cast<PyObject *>(function));
}

void run_once(void *function) {
    if (Attached attached; attached) {
        call(static_cast<PyObject *>(function));
        Py_DECREF(static_cast<PyObject *>(function));
    }
}

void run_callback(infinirtStream_t stream, infinirtError_t status, void *data) {
    Attached attached;
    if (!attached) return;
    auto *function = static_cast<PyObject *>(data);
    try {
        nb::borrow(function)(give(stream), give(status));
    } catch (nb::python_error &error) {
        error.discard_as_unraisable(function);
    }
    Py_DECREF(function);
}

void drop(void *object) { drop_later(static_cast<PyObject *>(object)); }

// ---- User objects -------------------------------------------------------------------------------

struct Kept {
    PyObject *object;
    PyObject *destroy;  // may be null
};

void drop_kept(void *data) {
    auto *kept = static_cast<Kept *>(data);
    drop_later(kept->object, kept->destroy);
    delete kept;
}

// A user object with one reference, which holds `object`.
infinirtError_t make_user_object(nb::handle object, nb::handle destroy, unsigned references,
                                 unsigned flags, infinirtUserObject_t *result) {
    auto *kept = new Kept{object.ptr(), destroy.is_valid() ? destroy.ptr() : nullptr};
    infinirtError_t error = infinirtUserObjectCreate(result, kept, drop_kept, references, flags);
    if (error != infinirtSuccess) {
        delete kept;
        return error;
    }
    Py_INCREF(kept->object);
    Py_XINCREF(kept->destroy);
    return infinirtSuccess;
}

// Lets a graph hold an object. `*user_object` is for releasing it again.
infinirtError_t keep(infinirtGraph_t graph, nb::handle object,
                     infinirtUserObject_t *user_object = nullptr) {
    infinirtUserObject_t made = nullptr;
    infinirtError_t error =
        make_user_object(object, {}, 1, infinirtUserObjectNoDestructorSync, &made);
    if (error != infinirtSuccess) return error;
    error = infinirtGraphRetainUserObject(graph, made, 1, infinirtGraphUserObjectMove);
    if (error != infinirtSuccess) infinirtUserObjectRelease(made, 1);
    if (user_object) *user_object = made;
    return error;
}

// The graph that a stream is being captured into, or null.
infinirtGraph_t captured_graph(infinirtStream_t stream) {
    auto status = infinirtStreamCaptureStatusNone;
    infinirtGraph_t graph = nullptr;
    check(infinirtStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr));
    return status == infinirtStreamCaptureStatusActive ? graph : nullptr;
}

// ---- Callables of instantiated graphs -----------------------------------------------------------

struct Keeper {
    infinirtGraphExec_t exec = nullptr;
    std::vector<PyObject *> objects;
};

std::mutex keeper_mutex;  // never held while Python runs
auto &keepers = *new std::unordered_map<infinirtGraphExec_t, Keeper *>;
auto &host_nodes = *new std::unordered_map<infinirtGraphNode_t, infinirtGraph_t>;

void drop_keeper(void *data) {
    auto *keeper = static_cast<Keeper *>(data);
    {
        std::lock_guard lock(keeper_mutex);
        auto place = keepers.find(keeper->exec);
        if (place != keepers.end() && place->second == keeper) keepers.erase(place);
    }
    for (PyObject *object : keeper->objects) drop_later(object);
    delete keeper;
}

// ---- Functions of the API that take callables ---------------------------------------------------

bool is_address(nb::handle function) { return PyLong_Check(function.ptr()); }

infinirtHostFn_t address_of(nb::handle function) {
    return reinterpret_cast<infinirtHostFn_t>(nb::cast<uintptr_t>(function));
}

void require_callable(nb::handle function, const char *name) {
    if (PyCallable_Check(function.ptr())) return;
    raise_error(PyExc_TypeError, "%s: expected a callable or the address of a C function, got %R",
                name, function.ptr());
}

}  // namespace

namespace by_hand {

void LaunchHostFunc(Handle<infinirtStream_t> stream, nb::object fn,
                    const Address<true> &user_data) {
    if (is_address(fn)) return check(infinirtLaunchHostFunc(stream, address_of(fn), user_data));
    require_callable(fn, "fn");
    if (infinirtGraph_t graph = captured_graph(stream)) {
        // A recorded callable may be called any number of times, so the graph holds it.
        infinirtUserObject_t kept = nullptr;
        check(keep(graph, fn, &kept));
        infinirtError_t error = infinirtLaunchHostFunc(stream, run, fn.ptr());
        if (error != infinirtSuccess) infinirtGraphReleaseUserObject(graph, kept, 1);
        return check(error);
    }
    infinirtError_t error = infinirtLaunchHostFunc(stream, run_once, fn.inc_ref().ptr());
    if (error != infinirtSuccess) fn.dec_ref();
    check(error);
}

void StreamAddCallback(Handle<infinirtStream_t> stream, nb::object callback,
                       Int<unsigned int> flags) {
    require_callable(callback, "callback");
    infinirtError_t error =
        infinirtStreamAddCallback(stream, run_callback, callback.inc_ref().ptr(), flags);
    if (error != infinirtSuccess) callback.dec_ref();
    check(error);
}

nb::object UserObjectCreate(nb::object ptr, nb::object destroy, Int<unsigned int> references,
                            Int<unsigned int> flags) {
    infinirtUserObject_t object = nullptr;
    if (is_address(destroy)) {
        void *pointer = reinterpret_cast<void *>(nb::cast<uintptr_t>(ptr));
        check(infinirtUserObjectCreate(&object, pointer, address_of(destroy), references, flags));
        return give(object);
    }
    if (!destroy.is_none()) require_callable(destroy, "destroy");
    check(make_user_object(ptr, destroy.is_none() ? nb::handle() : destroy, references, flags,
                           &object));
    return give(object);
}

nb::object GraphAddHostNode(Handle<infinirtGraph_t> graph,
                            const List<infinirtGraphNode_t> &dependencies, nb::object params) {
    infinirtGraphNode_t node = nullptr;
    auto add = [&](const infinirtHostNodeParams *what) {
        return infinirtGraphAddHostNode(&node, graph, dependencies.items.data(),
                                        dependencies.items.size(), what);
    };
    infinirtHostNodeParams *given = nullptr;
    if (nb::try_cast(params, given) && given) {
        check(add(given));
        return give(node);
    }
    require_callable(params, "pNodeParams");
    infinirtHostNodeParams mine{run, params.ptr()};
    infinirtUserObject_t kept = nullptr;
    check(keep(graph, params, &kept));
    infinirtError_t error = add(&mine);
    if (error != infinirtSuccess) infinirtGraphReleaseUserObject(graph, kept, 1);
    check(error);
    host_nodes[node] = graph;
    return give(node);
}

void GraphHostNodeSetParams(Handle<infinirtGraphNode_t> node, nb::object params) {
    infinirtHostNodeParams *given = nullptr;
    if (nb::try_cast(params, given) && given)
        return check(infinirtGraphHostNodeSetParams(node, given));
    require_callable(params, "pNodeParams");
    infinirtHostNodeParams mine{run, params.ptr()};
    check(infinirtGraphHostNodeSetParams(node, &mine));
    auto place = host_nodes.find(node);
    // The graph of a node that was not made here is unknown: its callable is never freed.
    if (place == host_nodes.end() || keep(place->second, params) != infinirtSuccess)
        params.inc_ref();
}

void GraphExecHostNodeSetParams(Handle<infinirtGraphExec_t> exec, Handle<infinirtGraphNode_t> node,
                                nb::object params) {
    infinirtHostNodeParams *given = nullptr;
    if (nb::try_cast(params, given) && given)
        return check(infinirtGraphExecHostNodeSetParams(exec, node, given));
    require_callable(params, "pNodeParams");
    infinirtHostNodeParams mine{run, params.ptr()};
    check(infinirtGraphExecHostNodeSetParams(exec, node, &mine));
    params.inc_ref();
    std::lock_guard lock(keeper_mutex);
    auto place = keepers.find(exec);
    if (place != keepers.end())
        place->second->objects.push_back(params.ptr());  // else it is never freed
}

}  // namespace by_hand

namespace {

void hold(Handle<infinirtStream_t> stream, nb::object object) {
    if (infinirtGraph_t graph = captured_graph(stream)) return check(keep(graph, object));
    infinirtError_t error = infinirtLaunchHostFunc(stream, drop, object.inc_ref().ptr());
    if (error != infinirtSuccess) object.dec_ref();
    check(error);
}

void hold_captured(Handle<infinirtStream_t> stream, nb::args objects) {
    if (infinirtGraph_t graph = captured_graph(stream))
        for (nb::handle object : objects) check(keep(graph, object));
}

}  // namespace

infinirtError_t with_keeper_begin(infinirtGraph_t graph, infinirtUserObject_t *object,
                                  void **keeper) {
    auto *made = new Keeper;
    infinirtError_t error =
        infinirtUserObjectCreate(object, made, drop_keeper, 1, infinirtUserObjectNoDestructorSync);
    if (error != infinirtSuccess) {
        delete made;
        return error;
    }
    *keeper = made;
    error = infinirtGraphRetainUserObject(graph, *object, 1, infinirtGraphUserObjectMove);
    if (error != infinirtSuccess) infinirtUserObjectRelease(*object, 1);
    return error;
}

void with_keeper_end(infinirtGraph_t graph, infinirtUserObject_t object, void *keeper,
                     infinirtGraphExec_t exec, bool done) {
    if (done) {
        std::lock_guard lock(keeper_mutex);
        auto *mine = static_cast<Keeper *>(keeper);
        mine->exec = exec;
        keepers[exec] = mine;
    }
    infinirtGraphReleaseUserObject(graph, object, 1);  // the instantiated graph holds its own
}

void forget_graph(infinirtGraph_t graph) {
    std::erase_if(host_nodes, [&](const auto &entry) { return entry.second == graph; });
}

void forget_node(infinirtGraphNode_t node) { host_nodes.erase(node); }

void bind_callbacks(nb::module_ &m) {
    m.def("_hold", hold, "stream"_a.none(), "object"_a,
          "Keep an object until a stream has come this far; if it is being captured, with the "
          "graph.");
    m.def("_hold_captured", hold_captured, "stream"_a.none(), "objects"_a,
          "If a stream is being captured, keep objects as long as the graph.");
    m.def(
        "_keep",
        [](Handle<infinirtGraph_t> graph, nb::object object) { check(keep(graph, object)); },
        "graph"_a, "object"_a, "Keep an object as long as a graph, its clones and instantiations.");
}

}  // namespace infini::python
