// The CPU's collectives: ranks as threads of one process and as processes, over shared memory,
// over TCP, and as if on two hosts. Python tests check every type; these cover every path for the
// sanitizers.
#include <infini/collectives.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "cpu_process.h"
#include "infinicore.h"

// Only read by the thread sanitizer: ranks that are processes are forked.
extern "C" const char *__tsan_default_options() { return "die_after_fork=0"; }

namespace {

const InfiniCollectives *table;
constexpr double kTimeout = 60;
constexpr int kFloat = INFINI_DTYPE_F32, kHalf = INFINI_DTYPE_F16;

struct Id {
    unsigned char bytes[INFINI_COLLECTIVE_ID_BYTES];
};

Id make_id() {
    Id id;
    OK(table->make_id(id.bytes));
    return id;
}

InfiniCommunicator *join(const Id &id, int ranks, int rank, double timeout = kTimeout) {
    InfiniCommunicator *made = nullptr;
    OK(table->join(0, ranks, rank, id.bytes, timeout, &made));
    return made;
}

void in_threads(int ranks, const std::function<void(int)> &body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
    for (std::thread &thread : threads) thread.join();
}

// ---- All kinds ----------------------------------------------------------------------------------

float value(int rank, size_t i) { return float((size_t(rank) * 7 + i * 3) % 11); }

class Rank {
public:
    Rank(InfiniCommunicator *communicator, int rank, int ranks)
        : c_(communicator), rank_(rank), ranks_(ranks) {}

    void check(size_t count) {
        check_reductions(count);
        for (int root = 0; root < ranks_; ++root) check_roots(count, root);
        check_parts(count);
        check_sizes(count);
        check_messages(count);
    }

private:
    using Floats = std::vector<float>;

    InfiniCollective work(int kind, const Floats &send, Floats &recv, size_t count, int root = -1) {
        InfiniCollective made{};
        made.kind = kind;
        made.dtype = kFloat;
        made.root = root;
        made.send = send.data();
        made.recv = recv.data();
        made.count = count;
        return made;
    }
    void run(const InfiniCollective &work) { OK(table->run(c_, &work, 1)); }

    Floats mine(size_t count) const {
        Floats made(count);
        for (size_t i = 0; i < count; ++i) made[i] = value(rank_, i);
        return made;
    }
    float sum(size_t i) const {
        float all = 0;
        for (int rank = 0; rank < ranks_; ++rank) all += value(rank, i);
        return all;
    }

    void check_reductions(size_t count) {
        Floats data = mine(count);
        run(work(INFINI_ALL_REDUCE, data, data, count));  // in place
        for (size_t i = 0; i < count; ++i) CHECK_EQ(data[i], sum(i));
        Floats given = mine(count * size_t(ranks_)), part(count);
        run(work(INFINI_REDUCE_SCATTER, given, part, count));
        for (size_t i = 0; i < count; ++i) CHECK_EQ(part[i], sum(size_t(rank_) * count + i));
        // Half precision: 1.0 of each rank.
        std::vector<uint16_t> ones(count, 0x3c00);
        InfiniCollective half{};
        half.kind = INFINI_ALL_REDUCE;
        half.dtype = kHalf;
        half.op = 4;  // the average
        half.root = -1;
        half.send = half.recv = ones.data();
        half.count = count;
        run(half);
        for (uint16_t each : ones) CHECK_EQ(each, 0x3c00);
    }

    void check_roots(size_t count, int root) {
        const size_t n = size_t(ranks_);
        Floats given = mine(count * n), taken(count * n, -5);
        run(work(INFINI_REDUCE, given, taken, count, root));
        for (size_t i = 0; i < count; ++i) CHECK_EQ(taken[i], rank_ == root ? sum(i) : -5);
        run(work(INFINI_BROADCAST, given, taken, count, root));
        for (size_t i = 0; i < count; ++i) CHECK_EQ(taken[i], value(root, i));
        run(work(INFINI_GATHER, given, taken, count, root));
        for (size_t k = 0; rank_ == root && k < n; ++k)
            for (size_t i = 0; i < count; ++i) CHECK_EQ(taken[k * count + i], value(int(k), i));
        run(work(INFINI_SCATTER, given, taken, count, root));
        for (size_t i = 0; i < count; ++i)
            CHECK_EQ(taken[i], value(root, size_t(rank_) * count + i));
    }

    void check_parts(size_t count) {
        const size_t n = size_t(ranks_);
        Floats given = mine(count * n), taken(count * n);
        run(work(INFINI_ALL_GATHER, given, taken, count));
        for (size_t k = 0; k < n; ++k)
            for (size_t i = 0; i < count; ++i) CHECK_EQ(taken[k * count + i], value(int(k), i));
        run(work(INFINI_ALL_TO_ALL, given, taken, count));
        for (size_t k = 0; k < n; ++k)
            for (size_t i = 0; i < count; ++i)
                CHECK_EQ(taken[k * count + i], value(int(k), size_t(rank_) * count + i));
    }

    // From i to j go (i + j) % 3 times `count`.
    void check_sizes(size_t count) {
        std::vector<size_t> counts;
        size_t all = 0;
        for (int k = 0; k < ranks_; ++k) counts.push_back(count * size_t((rank_ + k) % 3));
        for (size_t each : counts) all += each;
        Floats given(all), taken(all);
        size_t at = 0;
        for (int k = 0; k < ranks_; ++k)
            for (size_t i = 0; i < counts[size_t(k)]; ++i) given[at++] = value(rank_ * 8 + k, i);
        InfiniCollective exchange = work(INFINI_ALL_TO_ALL, given, taken, 0);
        exchange.send_counts = exchange.recv_counts = counts.data();
        run(exchange);
        at = 0;
        for (int k = 0; k < ranks_; ++k)
            for (size_t i = 0; i < counts[size_t(k)]; ++i)
                CHECK_EQ(taken[at++], value(k * 8 + rank_, i));
    }

    // All to all, including this rank, twice.
    void check_messages(size_t count) {
        Floats given = mine(count), taken(count * size_t(ranks_) * 2);
        std::vector<InfiniCollective> messages;
        for (int k = 0; k < ranks_ * 2; ++k) {
            messages.push_back(work(INFINI_SEND, given, taken, count, k % ranks_));
            messages.push_back(work(INFINI_RECEIVE, given, taken, count, k % ranks_));
            messages.back().recv = taken.data() + size_t(k) * count;
        }
        OK(table->run(c_, messages.data(), messages.size()));
        for (int k = 0; k < ranks_ * 2; ++k)
            for (size_t i = 0; i < count; ++i)
                CHECK_EQ(taken[size_t(k) * count + i], value(k % ranks_, i));
    }

    InfiniCommunicator *const c_;
    const int rank_, ranks_;
};

// None, small, in one message, in several messages.
const size_t kCounts[] = {0, 1, 1023, 5000, 300001};

void check_all(InfiniCommunicator *communicator, int rank, int ranks) {
    for (size_t count : kCounts) Rank(communicator, rank, ranks).check(count);
    OK(table->leave(communicator));
}

void threads_over_memory() {
    constexpr int kRanks = 3;
    InfiniCommunicator *made[kRanks];
    const int devices[kRanks] = {};
    OK(table->join_all(kRanks, devices, kTimeout, made));
    in_threads(kRanks, [&](int rank) { check_all(made[rank], rank, kRanks); });
}

void threads_over_tcp() {
    setenv("INFINI_CCL_TRANSPORT", "tcp", 1);
    for (int ranks : {1, 2, 4}) {
        const Id id = make_id();
        in_threads(ranks, [&](int rank) { check_all(join(id, ranks, rank), rank, ranks); });
    }
    unsetenv("INFINI_CCL_TRANSPORT");
}

// An id for children that were forked before it is made: its thread allocates, and a concurrent
// fork may leave AddressSanitizer's allocator locked in the child.
class IdForChildren {
public:
    IdForChildren() { CHECK_EQ(pipe(ends_), 0); }
    ~IdForChildren() { close(ends_[0]), close(ends_[1]); }
    void make(int ranks) {
        const Id id = make_id();
        for (int i = 0; i < ranks; ++i)
            CHECK_EQ(write(ends_[1], &id, sizeof id), ssize_t(sizeof id));
    }
    Id read_one() const {
        Id id;
        CHECK_EQ(read(ends_[0], &id, sizeof id), ssize_t(sizeof id));
        return id;
    }

private:
    int ends_[2];
};

// Each rank on the host of its name.
void processes(const char *transport, const std::vector<std::string> &hosts) {
    IdForChildren ids;
    const int ranks = int(hosts.size());
    std::vector<pid_t> children;
    for (int rank = 0; rank < ranks; ++rank)
        children.push_back(in_child([&] {
            const Id id = ids.read_one();
            setenv("INFINI_CCL_TRANSPORT", transport, 1);
            setenv("INFINI_CCL_HOST", hosts[size_t(rank)].c_str(), 1);
            check_all(join(id, ranks, rank), rank, ranks);
        }));
    ids.make(ranks);
    for (pid_t child : children) CHECK_EQ(finish(child), 0);
}

void processes_over_memory() { processes("", {"", "", ""}); }
void processes_over_tcp() { processes("tcp", {"", "", ""}); }
void processes_on_two_hosts() { processes("", {"a", "a", "b", "b"}); }
void processes_on_mixed_hosts() { processes("", {"", "b", "", "b", "c"}); }

// ---- When something is wrong --------------------------------------------------------------------

int all_reduce(InfiniCommunicator *communicator, std::vector<float> &data) {
    InfiniCollective work{};
    work.kind = INFINI_ALL_REDUCE;
    work.dtype = kFloat;
    work.root = -1;
    work.send = work.recv = data.data();
    work.count = data.size();
    return table->run(communicator, &work, 1);
}

std::string reason(InfiniCommunicator *communicator) {
    char text[512] = "";
    CHECK(table->state(communicator, text, sizeof text) != INFINI_STATUS_SUCCESS);
    return text;
}

// Another thread aborts while a rank waits for one that does not come.
void abort_frees(const char *transport) {
    setenv("INFINI_CCL_TRANSPORT", transport, 1);
    const Id id = make_id();
    InfiniCommunicator *made[2];
    in_threads(2, [&](int rank) { made[rank] = join(id, 2, rank); });
    std::atomic<bool> begun{false};
    std::thread waits([&] {
        std::vector<float> data(100000, 1);
        begun = true;
        CHECK(all_reduce(made[0], data) != INFINI_STATUS_SUCCESS);
    });
    while (!begun) std::this_thread::yield();
    OK(table->abort(made[0], "enough"));
    waits.join();
    CHECK(reason(made[0]) == "enough");
    std::vector<float> data(8, 1);
    CHECK(all_reduce(made[1], data) != INFINI_STATUS_SUCCESS);  // it gets the error
    CHECK(reason(made[1]) == "enough");
    for (InfiniCommunicator *each : made) OK(table->leave(each));
    unsetenv("INFINI_CCL_TRANSPORT");
}
// Several times: the abort comes before, while or after the rank begins to wait.
void abort_frees_over_memory() {
    for (int round = 0; round < 8; ++round) abort_frees("shm");
}
void abort_frees_over_tcp() {
    for (int round = 0; round < 8; ++round) abort_frees("tcp");
}

void a_dead_rank_is_named() {
    for (const char *host : {"", "another"}) {  // that of the dead one
        IdForChildren ids;
        pid_t children[3];
        for (int rank = 0; rank < 3; ++rank)
            children[rank] = in_child([&] {
                const Id id = ids.read_one();
                if (rank == 2) setenv("INFINI_CCL_HOST", host, 1);
                InfiniCommunicator *made = join(id, 3, rank);
                std::vector<float> data(100000, 1);
                if (rank == 2) raise(SIGKILL);
                CHECK(all_reduce(made, data) != INFINI_STATUS_SUCCESS);
                CHECK(reason(made).find("rank 2 (process") != std::string::npos);
                CHECK(reason(made).find("has died") != std::string::npos);
                OK(table->leave(made));
            });
        ids.make(3);
        CHECK_EQ(finish(children[0]), 0);
        CHECK_EQ(finish(children[1]), 0);
        CHECK_EQ(finish(children[2]), 1000 + SIGKILL);
    }
}

void ranks_that_differ_are_named() {
    setenv("INFINI_CCL_TRANSPORT", "tcp", 1);
    const Id id = make_id();
    in_threads(2, [&](int rank) {
        InfiniCommunicator *made = join(id, 2, rank);
        std::vector<float> data(size_t(rank == 0 ? 10 : 300000), 1);
        CHECK(all_reduce(made, data) != INFINI_STATUS_SUCCESS);
        CHECK(reason(made).find("rank 1 called AllReduce of 300000 elements") == 0);
        CHECK(reason(made).find("rank 0 called AllReduce of 10 elements") != std::string::npos);
        OK(table->leave(made));
    });
    unsetenv("INFINI_CCL_TRANSPORT");
}

// A fork does not keep the connections of its parent open.
void forks_do_not_hold_connections() {
    setenv("INFINI_CCL_TRANSPORT", "tcp", 1);
    const Id id = make_id();
    int pipes[2];
    CHECK_EQ(pipe(pipes), 0);
    const pid_t other = in_child([&] {
        join(id, 2, 1);
        pid_t sleeper = in_child([&] {
            char byte;
            close(pipes[1]);
            [[maybe_unused]] const ssize_t got = read(pipes[0], &byte, 1);  // until the test ends
        });
        CHECK(sleeper > 0);
        raise(SIGKILL);
    });
    InfiniCommunicator *made = join(id, 2, 0);
    CHECK_EQ(finish(in_child([&] { OK(table->leave(made)); })), 0);  // not relevant to the parent
    std::vector<float> data(8, 1);
    CHECK(all_reduce(made, data) != INFINI_STATUS_SUCCESS);
    CHECK(reason(made).find("rank 1 (process") == 0);
    OK(table->leave(made));
    CHECK_EQ(finish(other), 1000 + SIGKILL);
    close(pipes[1]);
    close(pipes[0]);
    unsetenv("INFINI_CCL_TRANSPORT");
}

}  // namespace

int main() {
    expect_end_in_time();
    alarm(1200);  // sanitizers are slow
    open_driver();
    const std::string path =
        library_path("INFINI_CPU_LIBRARY", "/../root/lib/backends/libinfini_cpu.so");
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto open = reinterpret_cast<InfiniCollectivesOpen>(dlsym(library, INFINI_COLLECTIVES_OPEN));
    CHECK(open != nullptr);
    table = open();
    RUN(processes_over_memory);  // first: forks are simplest before there are threads
    RUN(processes_over_tcp);
    RUN(processes_on_two_hosts);
    RUN(processes_on_mixed_hosts);
    RUN(a_dead_rank_is_named);
    RUN(forks_do_not_hold_connections);
    RUN(threads_over_memory);
    RUN(threads_over_tcp);
    RUN(abort_frees_over_memory);
    RUN(abort_frees_over_tcp);
    RUN(ranks_that_differ_are_named);
    return 0;
}
