// Instantiated graphs: order, concurrent branches, launches in flight, updates.
#include <algorithm>
#include <cstring>
#include <thread>

#include "graph_tools.h"

namespace {

// Two host functions that wait for each other can only end if they run at the same time.
struct Meeting {
    explicit Meeting(int guests) : missing(guests) {}
    std::atomic<int> missing;
    static void meet(void *self) {
        auto *meeting = static_cast<Meeting *>(self);
        meeting->missing.fetch_sub(1);
        meeting->missing.notify_all();
        for (int seen; (seen = meeting->missing.load()) > 0;) meeting->missing.wait(seen);
    }
};

// Records the order in which host functions ran.
struct Trace {
    struct Entry {
        Trace *trace;
        int number;
    };
    std::atomic<int> length{0};
    int numbers[64] = {};
    Entry entries[64];
    static void note(void *data) {
        auto *entry = static_cast<Entry *>(data);
        entry->trace->numbers[entry->trace->length.fetch_add(1)] = entry->number;
    }
    void *entry(int number) {
        entries[number] = {this, number};
        return &entries[number];
    }
    int place(int number) const { return std::find(numbers, numbers + 64, number) - numbers; }
};

void replay_a_capture() {
    infinirtStream_t stream = make_stream();
    char *memory = device_memory(4096);
    std::vector<char> from(4096, 5), to(4096);
    std::atomic<int> count{0};
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
    OK(infinirtMemcpyAsync(memory, from.data(), 4096, infinirtMemcpyHostToDevice, stream));
    OK(infinirtMemsetAsync(memory + 100, 9, 50, stream));
    OK(infinirtLaunchHostFunc(stream, add_one, &count));
    OK(infinirtMemcpyAsync(to.data(), memory, 4096, infinirtMemcpyDeviceToHost, stream));
    infinirtGraph_t graph;
    OK(infinirtStreamEndCapture(stream, &graph));
    CHECK_EQ(first_byte(memory), 0);
    infinirtGraphExec_t exec = instantiate(graph);
    OK(infinirtGraphDestroy(graph));  // the instance does not change
    for (int i = 0; i < 1000; ++i) OK(infinirtGraphLaunch(exec, stream));
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(count.load(), 1000);
    CHECK(to[99] == 5 && to[100] == 9 && to[149] == 9 && to[150] == 5);
    // Into the null stream, which other work waits for.
    OK(infinirtGraphLaunch(exec, nullptr));
    OK(infinirtStreamSynchronize(nullptr));
    CHECK_EQ(count.load(), 1001);
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtStreamDestroy(stream));
    OK(infinirtFree(memory));
}

void branches_run_side_by_side() {
    infinirtStream_t stream = make_stream();
    for (int branches : {2, 5}) {
        // Fork, join, and an empty node as the fork of a second part.
        infinirtGraph_t graph = make_graph();
        Meeting first(branches), second(branches);
        std::atomic<int> count{0};
        infinirtGraphNode_t root = add_host(graph, add_one, &count);
        Nodes middle, last;
        for (int i = 0; i < branches; ++i)
            middle.push_back(add_host(graph, Meeting::meet, &first, {root}));
        infinirtGraphNode_t join = add_empty(graph, middle);
        for (int i = 0; i < branches; ++i)
            last.push_back(add_host(graph, Meeting::meet, &second, {join}));
        add_host(graph, add_one, &count, last);
        infinirtGraphExec_t exec = instantiate(graph);
        for (int launch = 0; launch < 20; ++launch) {
            first.missing = second.missing = branches;
            OK(infinirtGraphLaunch(exec, launch % 2 ? stream : nullptr));
            OK(infinirtDeviceSynchronize());
            CHECK_EQ(count.load(), 2);
            count = 0;
        }
        OK(infinirtGraphExecDestroy(exec));
        OK(infinirtGraphDestroy(graph));
    }
    // Branches that were captured in two streams, the roots included.
    infinirtStream_t other = make_stream();
    infinirtEvent_t fork, join;
    OK(infinirtEventCreateWithFlags(&fork, infinirtEventDisableTiming));
    OK(infinirtEventCreateWithFlags(&join, infinirtEventDisableTiming));
    Meeting meeting(2);
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
    OK(infinirtEventRecord(fork, stream));
    OK(infinirtStreamWaitEvent(other, fork, 0));
    OK(infinirtLaunchHostFunc(other, Meeting::meet, &meeting));
    OK(infinirtLaunchHostFunc(stream, Meeting::meet, &meeting));
    OK(infinirtEventRecord(join, other));
    OK(infinirtStreamWaitEvent(stream, join, 0));
    infinirtGraph_t graph;
    OK(infinirtStreamEndCapture(stream, &graph));
    infinirtGraphExec_t exec = instantiate(graph);
    OK(infinirtGraphLaunch(exec, stream));
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(meeting.missing.load(), 0);
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtGraphDestroy(graph));
    OK(infinirtEventDestroy(fork));
    OK(infinirtEventDestroy(join));
    OK(infinirtStreamDestroy(other));
    OK(infinirtStreamDestroy(stream));
}

// A step of a branch must not wait for later steps of the branch that it depends on.
void early_steps_release_others() {
    infinirtStream_t stream = make_stream();
    infinirtGraph_t graph = make_graph();
    Meeting meeting(2);
    std::atomic<int> count{0};
    infinirtGraphNode_t a1 = add_host(graph, add_one, &count);
    infinirtGraphNode_t a2 = add_host(graph, Meeting::meet, &meeting, {a1});
    infinirtGraphNode_t a3 = add_host(graph, add_one, &count, {a2});
    infinirtGraphNode_t b = add_host(graph, Meeting::meet, &meeting, {a1});
    add_host(graph, add_one, &count, {a3, b});
    infinirtGraphExec_t exec = instantiate(graph);
    OK(infinirtGraphLaunch(exec, stream));
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(count.load(), 3);
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtGraphDestroy(graph));
    OK(infinirtStreamDestroy(stream));
}

void order_of_random_graphs() {
    infinirtStream_t stream = make_stream();
    unsigned random = 1;
    auto next = [&](unsigned below) {
        return (random = random * 1664525 + 1013904223) / 65536 % below;
    };
    for (int round = 0; round < 50; ++round) {
        infinirtGraph_t graph = make_graph();
        Trace trace;
        Nodes nodes;
        std::vector<std::pair<int, int>> edges;
        for (int i = 0; i < 24; ++i) {
            Nodes after;
            for (int j = 0; j < i; ++j)
                if (next(6) == 0) {
                    after.push_back(nodes[j]);
                    edges.emplace_back(j, i);
                }
            if (i % 5 != 4) {
                nodes.push_back(add_host(graph, Trace::note, trace.entry(i), after));
                continue;
            }
            infinirtGraph_t inside = make_graph();  // every fifth is a child graph of one node
            infinirtGraphNode_t node;
            add_host(inside, Trace::note, trace.entry(i));
            OK(infinirtGraphAddChildGraphNode(&node, graph, after.data(), after.size(), inside));
            OK(infinirtGraphDestroy(inside));
            nodes.push_back(node);
        }
        infinirtGraphExec_t exec = instantiate(graph);
        for (int launch = 0; launch < 3; ++launch) {
            trace.length = 0;
            OK(infinirtGraphLaunch(exec, stream));
            OK(infinirtStreamSynchronize(stream));
            CHECK_EQ(trace.length.load(), 24);
            for (auto [from, to] : edges) CHECK(trace.place(from) < trace.place(to));
        }
        OK(infinirtGraphExecDestroy(exec));
        OK(infinirtGraphDestroy(graph));
    }
    OK(infinirtStreamDestroy(stream));
}

// Launches of one graph follow each other, also from different streams; none overtakes.
void launches_in_flight() {
    infinirtStream_t a = make_stream(), b = make_stream();
    infinirtGraph_t graph = make_graph();
    Latch latch;
    std::atomic<int> count{0};
    add_host(graph, Latch::hold, &latch, {add_host(graph, add_one, &count)});
    infinirtGraphExec_t exec = instantiate(graph);
    OK(infinirtGraphLaunch(exec, a));
    OK(infinirtGraphLaunch(exec, b));
    OK(infinirtGraphLaunch(exec, a));
    latch.wait_reached();
    CHECK_EQ(count.load(), 1);
    FAILS(infinirtStreamQuery(b), infinirtErrorNotReady);
    latch.open();
    OK(infinirtStreamSynchronize(a));
    OK(infinirtStreamSynchronize(b));
    CHECK_EQ(count.load(), 3);

    // From many threads at once: a plain counter is safe, since launches do not overlap.
    static int plain;
    plain = 0;
    infinirtGraph_t adds = make_graph();
    add_host(adds, [](void *) { ++plain; }, nullptr);
    infinirtGraphExec_t shared = instantiate(adds);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            infinirtStream_t own = make_stream();
            for (int j = 0; j < 50; ++j) OK(infinirtGraphLaunch(shared, own));
            OK(infinirtStreamSynchronize(own));
            OK(infinirtStreamDestroy(own));
        });
    for (std::thread &thread : threads) thread.join();
    CHECK_EQ(plain, 400);
    OK(infinirtGraphExecDestroy(shared));
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtGraphDestroy(adds));
    OK(infinirtGraphDestroy(graph));
    OK(infinirtStreamDestroy(a));
    OK(infinirtStreamDestroy(b));
}

// Launches in flight keep their values and what they use, whatever happens to the graph meanwhile.
void change_and_destroy_in_flight() {
    infinirtStream_t stream = make_stream();
    infinirtGraph_t graph = make_graph();
    Latch latch;
    std::atomic<int> old_calls{0}, new_calls{0}, destroyed{0};
    infinirtGraphNode_t hold = add_host(graph, Latch::hold, &latch);
    infinirtGraphNode_t node = add_host(graph, add_one, &old_calls, {hold});
    infinirtUserObject_t object;
    OK(infinirtUserObjectCreate(&object, &destroyed, add_one, 1,
                                infinirtUserObjectNoDestructorSync));
    OK(infinirtGraphRetainUserObject(graph, object, 1, infinirtGraphUserObjectMove));
    infinirtGraphExec_t exec = instantiate(graph);
    OK(infinirtGraphLaunch(exec, stream));
    infinirtHostNodeParams next{add_one, &new_calls};
    for (int i = 0; i < 3000; ++i) OK(infinirtGraphExecHostNodeSetParams(exec, node, &next));
    OK(infinirtGraphLaunch(exec, stream));
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtGraphDestroy(graph));
    FAILS(infinirtGraphLaunch(exec, stream), infinirtErrorInvalidValue);
    CHECK_EQ(destroyed.load(), 0);
    latch.open();
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(old_calls.load(), 1);
    CHECK_EQ(new_calls.load(), 1);
    destroyed.wait(0);  // by the device, when the last launch has ended
    OK(infinirtStreamDestroy(stream));
}

infinirtGraph_t update_graph(char *memory, unsigned value, size_t bytes, std::atomic<int> *count,
                             bool extra_edge = false) {
    infinirtGraph_t graph = make_graph();
    infinirtGraphNode_t fill = add_fill(graph, memory, value, bytes);
    infinirtGraphNode_t copy = add_copy(graph, memory + 512, memory, 64, {fill});
    add_host(graph, add_one, count, extra_edge ? Nodes{copy, fill} : Nodes{copy});
    return graph;
}

void updates() {
    infinirtStream_t stream = make_stream();
    char *memory = device_memory(1024);
    std::atomic<int> first{0}, second{0};
    infinirtGraph_t graph = update_graph(memory, 1, 64, &first);
    infinirtGraphExec_t exec = instantiate(graph);
    infinirtGraphExecUpdateResultInfo info{};

    infinirtGraph_t next = update_graph(memory, 2, 128, &second);
    OK(infinirtGraphExecUpdate(exec, next, &info));
    CHECK_EQ(info.result, infinirtGraphExecUpdateSuccess);
    OK(infinirtGraphLaunch(exec, stream));
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(first_byte(memory + 512), 2);
    CHECK(first.load() == 0 && second.load() == 1);

    auto refused = [&](infinirtGraph_t changed, infinirtGraphExecUpdateResult result, int node) {
        FAILS(infinirtGraphExecUpdate(exec, changed, &info), infinirtErrorGraphExecUpdateFailure);
        CHECK_EQ(info.result, result);
        CHECK(info.errorNode == (node < 0 ? nullptr : nodes_of(changed)[node]));
        OK(infinirtGraphDestroy(changed));
    };
    infinirtGraph_t changed = update_graph(memory, 3, 64, &first);
    add_empty(changed);
    refused(changed, infinirtGraphExecUpdateErrorTopologyChanged, -1);
    refused(update_graph(memory, 3, 64, &first, true), infinirtGraphExecUpdateErrorTopologyChanged,
            2);
    changed = make_graph();
    infinirtGraphNode_t empty = add_empty(changed, {add_fill(changed, memory, 3, 64)});
    add_host(changed, add_one, &first, {empty});
    refused(changed, infinirtGraphExecUpdateErrorNodeTypeChanged, 1);
    changed = update_graph(memory, 3, 64, &first);
    infinirtMemsetParams rows{memory, 32, 3, 1, 8, 2};
    OK(infinirtGraphMemsetNodeSetParams(nodes_of(changed)[0], &rows));
    refused(changed, infinirtGraphExecUpdateErrorParametersChanged, 0);
    changed = update_graph(memory, 3, 64, &first);
    std::vector<char> host(64);
    OK(infinirtGraphMemcpyNodeSetParams1D(nodes_of(changed)[1], host.data(), memory, 64,
                                          infinirtMemcpyDeviceToHost));
    refused(changed, infinirtGraphExecUpdateErrorParametersChanged, 1);

    // A rejected update changes nothing.
    OK(infinirtMemset(memory, 0, 1024));
    OK(infinirtGraphLaunch(exec, stream));
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(first_byte(memory + 512), 2);
    CHECK(first.load() == 0 && second.load() == 2);
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtGraphDestroy(graph));
    OK(infinirtGraphDestroy(next));
    OK(infinirtStreamDestroy(stream));
    OK(infinirtFree(memory));
}

void single_nodes() {
    infinirtStream_t stream = make_stream();
    char *memory = device_memory(1024);
    std::atomic<int> count{0}, other{0};
    infinirtGraph_t graph = update_graph(memory, 1, 64, &count), child = make_graph();
    Nodes nodes = nodes_of(graph);
    infinirtGraphNode_t inner = add_fill(child, memory + 256, 4, 8), node;
    OK(infinirtGraphAddChildGraphNode(&node, graph, &nodes[2], 1, child));
    infinirtGraphExec_t exec = instantiate(graph, infinirtGraphInstantiateFlagUseNodePriority);
    unsigned long long flags = 0;
    OK(infinirtGraphExecGetFlags(exec, &flags));
    CHECK_EQ(flags, infinirtGraphInstantiateFlagUseNodePriority);
    auto run = [&] {
        OK(infinirtMemset(memory, 0, 1024));
        OK(infinirtGraphUpload(exec, stream));
        OK(infinirtGraphLaunch(exec, stream));
        OK(infinirtStreamSynchronize(stream));
    };

    infinirtMemsetParams fill{memory, 0, 6, 4, 8, 1};
    OK(infinirtGraphExecMemsetNodeSetParams(exec, nodes[0], &fill));
    OK(infinirtGraphExecMemcpyNodeSetParams1D(exec, nodes[1], memory + 700, memory, 8,
                                              infinirtMemcpyDefault));
    infinirtGraphNodeParams any{};
    any.type = infinirtGraphNodeTypeHost;
    any.host = {add_one, &other};
    OK(infinirtGraphExecNodeSetParams(exec, nodes[2], &any));
    infinirtMemsetParams replaced{memory + 256, 0, 5, 1, 8, 1};
    OK(infinirtGraphMemsetNodeSetParams(inner, &replaced));
    OK(infinirtGraphExecChildGraphNodeSetParams(exec, node, child));
    run();
    CHECK(first_byte(memory + 700) == 6 && first_byte(memory + 512) == 0);
    CHECK_EQ(first_byte(memory + 256), 5);
    CHECK(count.load() == 0 && other.load() == 1);

    unsigned enabled = 9;
    OK(infinirtGraphNodeSetEnabled(exec, nodes[1], 0));
    OK(infinirtGraphNodeGetEnabled(exec, nodes[1], &enabled));
    CHECK_EQ(enabled, 0);
    run();
    CHECK(first_byte(memory) == 6 && first_byte(memory + 700) == 0);
    CHECK_EQ(other.load(), 2);
    OK(infinirtGraphExecUpdate(exec, graph, nullptr));  // the node stays switched off
    run();
    CHECK_EQ(first_byte(memory + 512), 0);
    OK(infinirtGraphNodeSetEnabled(exec, nodes[1], 1));
    run();
    CHECK_EQ(first_byte(memory + 512), 1);
    FAILS(infinirtGraphNodeSetEnabled(exec, nodes[2], 0), infinirtErrorInvalidValue);

    infinirtGraph_t stranger = make_graph();
    infinirtGraphNode_t foreign = add_fill(stranger, memory, 1, 8);
    FAILS(infinirtGraphExecMemsetNodeSetParams(exec, foreign, &fill), infinirtErrorInvalidValue);
    FAILS(infinirtGraphExecMemsetNodeSetParams(exec, nodes[1], &fill), infinirtErrorInvalidValue);
    fill.height = 2;
    fill.pitch = 64;
    FAILS(infinirtGraphExecMemsetNodeSetParams(exec, nodes[0], &fill), infinirtErrorInvalidValue);
    FAILS(infinirtGraphExecChildGraphNodeSetParams(exec, node, graph),
          infinirtErrorGraphExecUpdateFailure);
    for (infinirtGraph_t each : {stranger, child, graph}) OK(infinirtGraphDestroy(each));
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtStreamDestroy(stream));
    OK(infinirtFree(memory));
}

}  // namespace

int main() {
    RUN(replay_a_capture);
    RUN(branches_run_side_by_side);
    RUN(early_steps_release_others);
    RUN(order_of_random_graphs);
    RUN(launches_in_flight);
    RUN(change_and_destroy_in_flight);
    RUN(updates);
    RUN(single_nodes);
    std::puts("ok");
}
