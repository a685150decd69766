// Instantiated graphs: order, branches side by side, launches in flight. The rest of their API is
// tested by tests/runtime.
#include <algorithm>
#include <thread>
#include <vector>

#include "check.h"

namespace {

infinirtStream_t make_stream(unsigned flags = infinirtStreamNonBlocking) {
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, flags));
    return stream;
}

infinirtGraph_t make_graph() {
    infinirtGraph_t graph;
    OK(infinirtGraphCreate(&graph, 0));
    return graph;
}

using Nodes = std::vector<infinirtGraphNode_t>;

infinirtGraphNode_t add_empty(infinirtGraph_t graph, const Nodes &after = {}) {
    infinirtGraphNode_t node;
    OK(infinirtGraphAddEmptyNode(&node, graph, after.data(), after.size()));
    return node;
}

infinirtGraphNode_t add_host(infinirtGraph_t graph, infinirtHostFn_t function, void *data,
                             const Nodes &after = {}) {
    infinirtGraphNode_t node;
    infinirtHostNodeParams parameters{function, data};
    OK(infinirtGraphAddHostNode(&node, graph, after.data(), after.size(), &parameters));
    return node;
}

infinirtGraphExec_t instantiate(infinirtGraph_t graph, unsigned long long flags = 0) {
    infinirtGraphExec_t exec;
    OK(infinirtGraphInstantiateWithFlags(&exec, graph, flags));
    return exec;
}

void add_one(void *counter) {
    auto *count = static_cast<std::atomic<int> *>(counter);
    count->fetch_add(1);
    count->notify_all();
}

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

// Notes in which order host functions ran.
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

}  // namespace

int main() {
    RUN(branches_run_side_by_side);
    RUN(early_steps_release_others);
    RUN(order_of_random_graphs);
    RUN(launches_in_flight);
    RUN(change_and_destroy_in_flight);
    std::puts("ok");
}
