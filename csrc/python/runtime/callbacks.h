// Python callables that streams and graphs call, and Python objects that they keep alive.
//
// Ownership: a callable passed to a stream belongs to the stream and is released after its only
// call. A callable of a graph's node belongs to a user object that the graph holds; clones and
// instantiations of the graph hold it too, so it is destroyed with the last of them. What is set on
// an instantiated graph belongs to a user object of that one.
#pragma once

#include <nanobind/nanobind.h>

#include "call.h"

namespace infini::python {

// Instantiates or updates: `call` makes *exec from `graph`. Gives *exec a user object of its own,
// to which callables can be added later.
infinirtError_t with_keeper_begin(infinirtGraph_t graph, infinirtUserObject_t *object,
                                  void **keeper);
void with_keeper_end(infinirtGraph_t graph, infinirtUserObject_t object, void *keeper,
                     infinirtGraphExec_t exec, bool done);

template <class F>
infinirtError_t with_keeper(infinirtGraph_t graph, const infinirtGraphExec_t *exec, F &&call) {
    infinirtUserObject_t object = nullptr;
    void *keeper = nullptr;
    // A graph that cannot hold one is invalid, which the call itself reports.
    if (with_keeper_begin(graph, &object, &keeper) != infinirtSuccess) return call();
    infinirtError_t error = call();
    with_keeper_end(graph, object, keeper, *exec, error == infinirtSuccess);
    return error;
}

void forget_graph(infinirtGraph_t graph);
void forget_node(infinirtGraphNode_t node);

// The functions of the API that take callables. Where C takes the address of a function, these take
// it too, as an int; the generated bindings add names and documentation.
namespace by_hand {

void LaunchHostFunc(Handle<infinirtStream_t> stream, nb::object fn, const Address<true> &user_data);
void StreamAddCallback(Handle<infinirtStream_t> stream, nb::object callback,
                       Int<unsigned int> flags);
nb::object UserObjectCreate(nb::object ptr, nb::object destroy, Int<unsigned int> references,
                            Int<unsigned int> flags);
nb::object GraphAddHostNode(Handle<infinirtGraph_t> graph,
                            const List<infinirtGraphNode_t> &dependencies, nb::object params);
void GraphHostNodeSetParams(Handle<infinirtGraphNode_t> node, nb::object params);
void GraphExecHostNodeSetParams(Handle<infinirtGraphExec_t> exec, Handle<infinirtGraphNode_t> node,
                                nb::object params);

}  // namespace by_hand

void bind_callbacks(nb::module_ &m);

}  // namespace infini::python
