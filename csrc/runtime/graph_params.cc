// Node parameters: checking, reading and setting them.
#include <cstring>
#include <iterator>

#include "graph_memory.h"
#include "graph_nodes.h"
#include "impl.h"

namespace infini::rt {
namespace {

Error refuse_empty(Call &call, const char *what) {
    return call.invalid("the node would %s nothing: expected an extent of at least one byte", what);
}

// The pitch of a single row has no meaning; CUDA's getters return 0 for it.
infinirtPitchedPtr with_pitch(infinirtPitchedPtr pointer, size_t x, size_t width) {
    if (pointer.pitch == 0) pointer.pitch = x + width;
    return pointer;
}

}  // namespace

const char *type_name(infinirtGraphNodeType type) {
    static constexpr const char *kNames[] = {"kernel",
                                             "memcpy",
                                             "memset",
                                             "host",
                                             "child graph",
                                             "empty",
                                             "event wait",
                                             "event record",
                                             "external semaphore signal",
                                             "external semaphore wait",
                                             "memory allocation",
                                             "memory free",
                                             "unknown",
                                             "conditional"};
    static_assert(std::size(kNames) == infinirtGraphNodeTypeConditional + 1);
    return size_t(type) < std::size(kNames) ? kNames[type] : "unknown";
}

Error check_type(Call &call, const Node &node, infinirtGraphNodeType type) {
    if (node.type == type) return infinirtSuccess;
    return call.invalid("the node is of type %s: expected %s", type_name(node.type),
                        type_name(type));
}

Made make_memcpy(Call &call, const infinirtMemcpy3DParms &copy) {
    Made made;
    infinirtMemcpy3DParms full = copy;
    if (copy.extent.height == 1 && copy.extent.depth == 1) {
        full.dstPtr = with_pitch(copy.dstPtr, copy.dstPos.x, copy.extent.width);
        full.srcPtr = with_pitch(copy.srcPtr, copy.srcPos.x, copy.extent.width);
    }
    bool empty = false;
    if (Error error = make_copy(call, full, &made.work, &empty)) return error;
    if (empty) return refuse_empty(call, "copy");
    made.copy = full;
    return made;
}

Made make_memcpy(Call &call, void *dst, const void *src, size_t count, infinirtMemcpyKind kind) {
    Made made;
    bool empty = false;
    if (Error error = make_copy(call, dst, src, count, kind, &made.work, &empty)) return error;
    if (empty) return refuse_empty(call, "copy");
    made.copy = {};
    made.copy.dstPtr = {dst, count, count, 1};
    made.copy.srcPtr = {const_cast<void *>(src), count, count, 1};
    made.copy.extent = {count, 1, 1};
    made.copy.kind = kind;
    return made;
}

Made make_memset(Call &call, const infinirtMemsetParams &fill) {
    Made made;
    bool empty = false;
    if (Error error = make_fill(call, fill, &made.work, &empty)) return error;
    if (empty) return refuse_empty(call, "fill");
    made.fill = fill;
    return made;
}

Made make_host(Call &call, infinirtHostFn_t function, void *data) {
    Made made;
    if (!function)
        return call.invalid("the function of the host node is null: expected a function");
    made.host = std::make_shared<HostCall>(HostCall{function, data});
    made.work.kind = INFINI_WORK_HOST;
    made.work.as.host = {HostCall::run, made.host.get()};
    return made;
}

Error check_reserved(Call &call, const infinirtGraphNodeParams &parameters) {
    bool zero = parameters.reserved2 == 0;
    for (int each : parameters.reserved0) zero = zero && each == 0;
    if (zero) return infinirtSuccess;
    return call.invalid("a reserved member of nodeParams is not 0: expected a zeroed structure");
}

Made make_parameters(Call &call, const infinirtGraphNodeParams &parameters) {
    if (Error error = check_reserved(call, parameters)) return error;
    switch (parameters.type) {
        case infinirtGraphNodeTypeMemcpy:
            if (parameters.memcpy.flags != 0)
                return call.invalid("nodeParams.memcpy.flags is %d: expected 0",
                                    parameters.memcpy.flags);
            return make_memcpy(call, parameters.memcpy.copyParams);
        case infinirtGraphNodeTypeMemset: {
            const infinirtMemsetParamsV2 &fill = parameters.memset;
            return make_memset(call, {fill.dst, fill.pitch, fill.value, fill.elementSize,
                                      fill.width, fill.height});
        }
        case infinirtGraphNodeTypeHost:
            return make_host(call, parameters.host.fn, parameters.host.userData);
        case infinirtGraphNodeTypeWaitEvent:
        case infinirtGraphNodeTypeEventRecord: {
            bool record = parameters.type == infinirtGraphNodeTypeEventRecord;
            Event *event =
                call.event(record ? parameters.eventRecord.event : parameters.eventWait.event, 1,
                           record ? "nodeParams.eventRecord.event" : "nodeParams.eventWait.event");
            return event ? Made(*event) : Made(call.error());
        }
        case infinirtGraphNodeTypeMemAlloc:
        case infinirtGraphNodeTypeMemFree:
        case infinirtGraphNodeTypeGraph:
        case infinirtGraphNodeTypeEmpty:
            return call.fail(infinirtErrorNotSupported, "a %s node cannot be set this way",
                             type_name(parameters.type));
        case infinirtGraphNodeTypeKernel:
        case infinirtGraphNodeTypeExtSemaphoreSignal:
        case infinirtGraphNodeTypeExtSemaphoreWait:
        case infinirtGraphNodeTypeConditional:
            return call.fail(infinirtErrorNotSupported, "%s nodes are not supported",
                             type_name(parameters.type));
        default:
            return call.invalid("nodeParams.type is %d: expected one of infinirtGraphNodeType",
                                static_cast<int>(parameters.type));
    }
}

namespace impl {
namespace {

// Calls read() if the node is of the type.
template <class Read>
Error get(Call &call, const Node &node, infinirtGraphNodeType type, const Read &read) {
    GraphLock lock;
    if (Error error = check_type(call, node, type)) return error;
    read();
    return infinirtSuccess;
}

Error set(Call &call, Node &node, infinirtGraphNodeType type, const Made &made) {
    if (made.error != infinirtSuccess) return made.error;
    GraphLock lock;
    if (Error error = check_type(call, node, type)) return error;
    if (type == infinirtGraphNodeTypeEventRecord && &made.event->device != node.device)
        return call.invalid(
            "the event belongs to device %d, the node to device %d: expected the same device",
            made.event->device.index, node.device->index);
    static_cast<NodeParameters &>(node) = made;
    return infinirtSuccess;
}

}  // namespace

Error GraphNodeSetParams(Call &call, Node &node, infinirtGraphNodeParams *nodeParams) {
    if (Error error = check_type(call, node, nodeParams->type)) return error;
    return set(call, node, nodeParams->type, make_parameters(call, *nodeParams));
}

Error GraphMemcpyNodeGetParams(Call &call, Node &node, infinirtMemcpy3DParms *pNodeParams) {
    return get(call, node, infinirtGraphNodeTypeMemcpy, [&] { *pNodeParams = node.copy; });
}

Error GraphMemcpyNodeSetParams(Call &call, Node &node, const infinirtMemcpy3DParms *pNodeParams) {
    return set(call, node, infinirtGraphNodeTypeMemcpy, make_memcpy(call, *pNodeParams));
}

Error GraphMemcpyNodeSetParams1D(Call &call, Node &node, void *dst, const void *src, size_t count,
                                 infinirtMemcpyKind kind) {
    return set(call, node, infinirtGraphNodeTypeMemcpy, make_memcpy(call, dst, src, count, kind));
}

Error GraphMemsetNodeGetParams(Call &call, Node &node, infinirtMemsetParams *pNodeParams) {
    return get(call, node, infinirtGraphNodeTypeMemset, [&] { *pNodeParams = node.fill; });
}

Error GraphMemsetNodeSetParams(Call &call, Node &node, const infinirtMemsetParams *pNodeParams) {
    return set(call, node, infinirtGraphNodeTypeMemset, make_memset(call, *pNodeParams));
}

Error GraphHostNodeGetParams(Call &call, Node &node, infinirtHostNodeParams *pNodeParams) {
    return get(call, node, infinirtGraphNodeTypeHost,
               [&] { *pNodeParams = {node.host->function, node.host->data}; });
}

Error GraphHostNodeSetParams(Call &call, Node &node, const infinirtHostNodeParams *pNodeParams) {
    return set(call, node, infinirtGraphNodeTypeHost,
               make_host(call, pNodeParams->fn, pNodeParams->userData));
}

Error GraphEventRecordNodeGetEvent(Call &call, Node &node, infinirtEvent_t *event_out) {
    return get(call, node, infinirtGraphNodeTypeEventRecord,
               [&] { *event_out = handle_of(node.event); });
}

Error GraphEventRecordNodeSetEvent(Call &call, Node &node, Event &event) {
    return set(call, node, infinirtGraphNodeTypeEventRecord, Made(event));
}

Error GraphEventWaitNodeGetEvent(Call &call, Node &node, infinirtEvent_t *event_out) {
    return get(call, node, infinirtGraphNodeTypeWaitEvent,
               [&] { *event_out = handle_of(node.event); });
}

Error GraphEventWaitNodeSetEvent(Call &call, Node &node, Event &event) {
    return set(call, node, infinirtGraphNodeTypeWaitEvent, Made(event));
}

Error GraphMemAllocNodeGetParams(Call &call, Node &node, infinirtMemAllocNodeParams *params_out) {
    return get(call, node, infinirtGraphNodeTypeMemAlloc, [&] { *params_out = node.allocation; });
}

Error GraphMemFreeNodeGetParams(Call &call, Node &node, void *dptr_out) {
    GraphLock lock;
    if (Error error = check_type(call, node, infinirtGraphNodeTypeMemFree)) return error;
    memcpy(dptr_out, &node.memory->base, sizeof(void *));  // the client's pointer may be misaligned
    return infinirtSuccess;
}

Error GraphChildGraphNodeGetGraph(Call &call, Node &node, infinirtGraph_t *pGraph) {
    return get(call, node, infinirtGraphNodeTypeGraph, [&] { *pGraph = handle_of(node.child); });
}

}  // namespace impl
}  // namespace infini::rt
