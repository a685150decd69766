// Nodes that allocate and free memory, event nodes, and graphs across devices.
#include "graph_tools.h"

namespace {

infinirtMemAllocNodeParams allocation(size_t bytes, int device = 0) {
    infinirtMemAllocNodeParams parameters{};
    parameters.poolProps.allocType = infinirtMemAllocationTypePinned;
    parameters.poolProps.location = {infinirtMemLocationTypeDevice, device};
    parameters.bytesize = bytes;
    return parameters;
}

infinirtGraphNode_t add_allocation(infinirtGraph_t graph, size_t bytes, char **memory) {
    infinirtMemAllocNodeParams parameters = allocation(bytes);
    infinirtGraphNode_t node;
    OK(infinirtGraphAddMemAllocNode(&node, graph, nullptr, 0, &parameters));
    *memory = static_cast<char *>(parameters.dptr);
    return node;
}

unsigned long long amount(infinirtGraphMemAttributeType attribute) {
    unsigned long long bytes;
    OK(infinirtDeviceGetGraphMemAttribute(0, attribute, &bytes));
    return bytes;
}

void life_of_an_allocation() {
    infinirtStream_t stream = make_stream();
    infinirtGraph_t graph = make_graph(), clone;
    char *memory;
    infinirtGraphNode_t node = add_allocation(graph, 1000, &memory), other;
    add_fill(graph, memory, 3, 1000, {node});
    infinirtMemAllocNodeParams seen{};
    OK(infinirtGraphMemAllocNodeGetParams(node, &seen));
    CHECK(seen.dptr == memory && seen.bytesize == 1000);
    CHECK(amount(infinirtGraphMemAttrReservedMemCurrent) >= 1000);
    CHECK_EQ(amount(infinirtGraphMemAttrUsedMemCurrent), 0);

    FAILS(infinirtFree(memory), infinirtErrorInvalidValue);  // not allocated yet
    FAILS(infinirtFreeAsync(memory, stream), infinirtErrorInvalidValue);
    FAILS(infinirtGraphClone(&clone, graph), infinirtErrorNotSupported);
    infinirtGraph_t outer = make_graph();
    FAILS(infinirtGraphAddChildGraphNode(&other, outer, nullptr, 0, graph),
          infinirtErrorNotSupported);
    FAILS(infinirtGraphDestroyNode(node), infinirtErrorNotSupported);

    infinirtGraphExec_t exec = instantiate(graph), second;
    FAILS(infinirtGraphInstantiate(&second, graph, 0), infinirtErrorNotSupported);
    OK(infinirtGraphLaunch(exec, stream));
    CHECK_EQ(amount(infinirtGraphMemAttrUsedMemCurrent), 1000);
    FAILS(infinirtGraphLaunch(exec, stream), infinirtErrorInvalidValue);  // not freed
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(first_byte(memory + 999), 3);
    OK(infinirtFreeAsync(memory, stream));
    FAILS(infinirtFreeAsync(memory, stream), infinirtErrorInvalidValue);
    OK(infinirtGraphLaunch(exec, stream));
    OK(infinirtFree(memory));
    CHECK_EQ(amount(infinirtGraphMemAttrUsedMemCurrent), 0);
    CHECK_EQ(amount(infinirtGraphMemAttrUsedMemHigh), 1000);

    // Live memory outlives its graphs.
    OK(infinirtGraphLaunch(exec, stream));
    OK(infinirtGraphExecDestroy(exec));
    exec = instantiate(graph);
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtGraphDestroy(graph));
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(first_byte(memory), 3);
    OK(infinirtFreeAsync(memory, stream));
    OK(infinirtDeviceSynchronize());  // for memory released after the last launch
    OK(infinirtDeviceGraphMemTrim(0));
    CHECK_EQ(amount(infinirtGraphMemAttrReservedMemCurrent), 0);
    FAILS(infinirtFree(memory), infinirtErrorInvalidValue);

    unsigned long long value = 5;
    FAILS(infinirtDeviceSetGraphMemAttribute(0, infinirtGraphMemAttrUsedMemHigh, &value),
          infinirtErrorInvalidValue);
    value = 0;
    OK(infinirtDeviceSetGraphMemAttribute(0, infinirtGraphMemAttrUsedMemHigh, &value));
    CHECK_EQ(amount(infinirtGraphMemAttrUsedMemHigh), 0);
    FAILS(infinirtDeviceSetGraphMemAttribute(0, infinirtGraphMemAttrUsedMemCurrent, &value),
          infinirtErrorInvalidValue);
    FAILS(infinirtDeviceGraphMemTrim(77), infinirtErrorInvalidDevice);
    OK(infinirtGraphDestroy(outer));
    OK(infinirtStreamDestroy(stream));
}

void free_nodes() {
    infinirtStream_t stream = make_stream();
    infinirtGraph_t graph = make_graph(), other = make_graph();
    char *inside, *left, *plain = device_memory(16);
    infinirtGraphNode_t node = add_allocation(graph, 64, &inside), release, again;
    infinirtGraphNode_t fill = add_fill(graph, inside, 1, 64, {node});
    OK(infinirtGraphAddMemFreeNode(&release, graph, &fill, 1, inside));
    FAILS(infinirtGraphAddMemFreeNode(&again, graph, &fill, 1, inside), infinirtErrorInvalidValue);
    FAILS(infinirtGraphAddMemFreeNode(&again, graph, &fill, 1, plain), infinirtErrorInvalidValue);
    void *seen = nullptr;
    OK(infinirtGraphMemFreeNodeGetParams(release, &seen));
    CHECK(seen == inside);
    infinirtGraphExec_t exec = instantiate(graph);
    for (int i = 0; i < 10; ++i) OK(infinirtGraphLaunch(exec, stream));
    FAILS(infinirtFree(inside), infinirtErrorInvalidValue);
    OK(infinirtGraphExecDestroy(exec));  // in flight, maybe
    OK(infinirtGraphDestroy(graph));

    // One graph allocates, the other frees.
    graph = make_graph();
    add_allocation(graph, 128, &left);
    OK(infinirtGraphAddMemFreeNode(&release, other, nullptr, 0, left));
    exec = instantiate(graph, infinirtGraphInstantiateFlagAutoFreeOnLaunch);
    infinirtGraphExec_t frees = instantiate(other);
    FAILS(infinirtGraphLaunch(frees, stream), infinirtErrorInvalidValue);
    OK(infinirtGraphLaunch(exec, stream));
    OK(infinirtGraphLaunch(exec, stream));  // frees the memory of the previous launch
    OK(infinirtGraphLaunch(frees, stream));
    FAILS(infinirtGraphLaunch(frees, stream), infinirtErrorInvalidValue);
    FAILS(infinirtFree(left), infinirtErrorInvalidValue);
    OK(infinirtGraphExecUpdate(frees, other, nullptr));
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtGraphExecDestroy(frees));
    OK(infinirtGraphDestroy(graph));
    OK(infinirtGraphDestroy(other));
    OK(infinirtFree(plain));
    OK(infinirtStreamDestroy(stream));
    CHECK_EQ(amount(infinirtGraphMemAttrUsedMemCurrent), 0);
}

void wrong_allocations() {
    infinirtGraph_t graph = make_graph();
    infinirtGraphNode_t node;
    auto refused = [&](infinirtMemAllocNodeParams parameters, infinirtError_t code) {
        FAILS(infinirtGraphAddMemAllocNode(&node, graph, nullptr, 0, &parameters), code);
    };
    refused(allocation(0), infinirtErrorInvalidValue);
    refused(allocation(16, 99), infinirtErrorInvalidValue);
    refused(allocation(size_t{1} << 60), infinirtErrorMemoryAllocation);
    infinirtMemAllocNodeParams wrong = allocation(16);
    wrong.poolProps.allocType = infinirtMemAllocationTypeInvalid;
    refused(wrong, infinirtErrorInvalidValue);
    wrong = allocation(16);
    wrong.poolProps.location.type = infinirtMemLocationTypeHost;
    refused(wrong, infinirtErrorNotSupported);
    wrong = allocation(16);
    wrong.poolProps.handleTypes = infinirtMemHandleTypePosixFileDescriptor;
    refused(wrong, infinirtErrorNotSupported);
    wrong = allocation(16);
    wrong.accessDescCount = 1;
    refused(wrong, infinirtErrorInvalidValue);
    CHECK_EQ(nodes_of(graph).size(), 0);
    OK(infinirtGraphDestroy(graph));
}

void captured_allocations() {
    infinirtStream_t stream = make_stream();
    infinirtGraphExec_t exec = nullptr;
    char *outside = device_memory(64);
    // Captured anew each time, and taken over by an update that brings new addresses.
    for (int round = 1; round <= 5; ++round) {
        void *memory;
        infinirtGraph_t graph;
        OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeThreadLocal));
        OK(infinirtMallocAsync(&memory, 64, stream));
        OK(infinirtMemsetAsync(memory, round, 64, stream));
        OK(infinirtMemcpyAsync(outside, memory, 64, infinirtMemcpyDefault, stream));
        OK(infinirtFreeAsync(memory, stream));
        OK(infinirtStreamEndCapture(stream, &graph));
        CHECK_EQ(nodes_of(graph).size(), 4);
        if (exec)
            OK(infinirtGraphExecUpdate(exec, graph, nullptr));
        else
            exec = instantiate(graph);
        infinirtGraphExec_t second;
        FAILS(infinirtGraphInstantiate(&second, graph, 0), infinirtErrorNotSupported);
        OK(infinirtGraphDestroy(graph));
        OK(infinirtGraphLaunch(exec, stream));
        OK(infinirtStreamSynchronize(stream));
        CHECK_EQ(first_byte(outside), round);
    }
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtDeviceSynchronize());
    OK(infinirtDeviceGraphMemTrim(0));
    CHECK_EQ(amount(infinirtGraphMemAttrReservedMemCurrent), 0);
    OK(infinirtFree(outside));
    OK(infinirtStreamDestroy(stream));
}

void moved_children_may_allocate() {
    infinirtStream_t stream = make_stream();
    infinirtGraph_t graph = make_graph(), child = make_graph(), clone;
    char *memory;
    add_allocation(child, 32, &memory);
    infinirtGraphNodeParams move{};
    move.type = infinirtGraphNodeTypeGraph;
    move.graph = {child, infinirtGraphChildGraphOwnershipMove};
    infinirtGraphNode_t node;
    OK(infinirtGraphAddNode(&node, graph, nullptr, 0, &move));
    FAILS(infinirtGraphClone(&clone, graph), infinirtErrorNotSupported);
    infinirtGraphExec_t exec = instantiate(graph);
    OK(infinirtGraphLaunch(exec, stream));
    FAILS(infinirtGraphLaunch(exec, stream), infinirtErrorInvalidValue);
    OK(infinirtFreeAsync(memory, stream));
    OK(infinirtGraphDestroy(graph));
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtStreamDestroy(stream));
}

void event_nodes() {
    infinirtStream_t a = make_stream(), b = make_stream();
    infinirtGraph_t records = make_graph(), waits = make_graph();
    infinirtEvent_t event, other;
    OK(infinirtEventCreate(&event));
    OK(infinirtEventCreate(&other));
    Latch latch;
    std::atomic<int> count{0};
    infinirtGraphNode_t record, wait, hold = add_host(records, Latch::hold, &latch);
    OK(infinirtGraphAddEventRecordNode(&record, records, &hold, 1, event));
    OK(infinirtGraphAddEventWaitNode(&wait, waits, nullptr, 0, event));
    add_host(waits, add_one, &count, {wait});
    infinirtGraphExec_t recorder = instantiate(records), waiter = instantiate(waits);
    OK(infinirtGraphLaunch(recorder, a));
    OK(infinirtGraphLaunch(waiter, b));
    latch.wait_reached();
    FAILS(infinirtEventQuery(event), infinirtErrorNotReady);
    FAILS(infinirtStreamQuery(b), infinirtErrorNotReady);
    CHECK_EQ(count.load(), 0);
    // The next launch waits for an event that is not pending.
    OK(infinirtGraphExecEventWaitNodeSetEvent(waiter, wait, other));
    latch.open();
    OK(infinirtGraphLaunch(waiter, b));
    OK(infinirtStreamSynchronize(b));
    OK(infinirtEventSynchronize(event));
    CHECK_EQ(count.load(), 2);
    OK(infinirtGraphExecEventRecordNodeSetEvent(recorder, record, other));
    OK(infinirtGraphLaunch(recorder, a));
    OK(infinirtEventSynchronize(other));
    FAILS(infinirtGraphExecEventRecordNodeSetEvent(recorder, wait, other),
          infinirtErrorInvalidValue);
    // A destroyed event is an error, not a crash.
    OK(infinirtEventDestroy(other));
    FAILS(infinirtGraphLaunch(recorder, a), infinirtErrorInvalidValue);
    OK(infinirtGraphExecEventRecordNodeSetEvent(recorder, record, event));
    OK(infinirtGraphLaunch(recorder, a));
    OK(infinirtStreamSynchronize(a));
    for (infinirtGraphExec_t each : {recorder, waiter}) OK(infinirtGraphExecDestroy(each));
    for (infinirtGraph_t each : {records, waits}) OK(infinirtGraphDestroy(each));
    OK(infinirtEventDestroy(event));
    OK(infinirtStreamDestroy(a));
    OK(infinirtStreamDestroy(b));
}

// Nodes run on the device for which they were made, whatever stream the graph is launched into.
void two_devices() {
    int devices = 0;
    OK(infinirtGetDeviceCount(&devices));
    CHECK_EQ(devices, 2);
    char *here = device_memory(64);
    infinirtStream_t stream = make_stream();
    OK(infinirtSetDevice(1));
    char *there = device_memory(64);
    infinirtStream_t far_stream = make_stream();
    OK(infinirtSetDevice(0));
    infinirtGraph_t graph = make_graph();
    std::atomic<int> count{0};
    infinirtGraphNode_t fill = add_fill(graph, here, 8, 64);
    OK(infinirtSetDevice(1));
    infinirtGraphNode_t copy = add_copy(graph, there, here, 64, {fill});
    OK(infinirtSetDevice(0));
    add_host(graph, add_one, &count, {copy});
    infinirtGraphExec_t exec = instantiate(graph);
    for (int launch = 1; launch <= 20; ++launch) {
        infinirtStream_t into = launch % 2 ? stream : far_stream;
        OK(infinirtGraphLaunch(exec, into));
        if (launch % 5) continue;
        OK(infinirtStreamSynchronize(into));
        CHECK_EQ(count.load(), launch);
        CHECK_EQ(first_byte(there), 8);
        OK(infinirtMemset(there, 0, 64));
        OK(infinirtDeviceSynchronize());
    }
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtGraphDestroy(graph));
    OK(infinirtFree(here));
    OK(infinirtFree(there));
    OK(infinirtStreamDestroy(stream));
    OK(infinirtStreamDestroy(far_stream));
}

}  // namespace

int main() {
    setenv("INFINI_CPU_DEVICES", "2", 1);
    RUN(life_of_an_allocation);
    RUN(free_nodes);
    RUN(wrong_allocations);
    RUN(captured_allocations);
    RUN(moved_children_may_allocate);
    RUN(event_nodes);
    RUN(two_devices);
    std::puts("ok");
}
