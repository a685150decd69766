// The CPU back end under load: priorities, many threads, random programs against the rules.
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "cpu_driver.h"
#include "seed.h"

namespace {

// Work of the legacy stream and of blocking streams never overlaps, whatever threads submit it.
void legacy_excludes_blocking_streams() {
    static std::atomic<int> legacy{0}, blocking{0};
    auto in_legacy = [](void *) {
        legacy.fetch_add(1);
        CHECK_EQ(blocking.load(), 0);
        CHECK_EQ(legacy.fetch_sub(1), 1);
    };
    auto in_blocking = [](void *) {
        blocking.fetch_add(1);
        CHECK_EQ(legacy.load(), 0);
        blocking.fetch_sub(1);
    };
    char *memory = allocate(1 << 16);
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t)
        threads.emplace_back([=] {
            void *stream = t % 2 ? make_stream(infinirtStreamDefault) : nullptr;
            for (int i = 0; i < 300; ++i) {
                host(stream, t % 2 ? +in_blocking : +in_legacy, nullptr);
                if (i % 7 == t) submit(stream, fill_work(memory + t * 4096, uint32_t(i), 4096));
                if (i % 50 == 0) synchronize(stream);
            }
            synchronize(stream);
            if (stream) OK(driver->stream_destroy(0, stream));
        });
    for (std::thread &thread : threads) thread.join();
    OK(driver->release(0, memory, 1 << 16));
}

// The same for copies of a thread that has a legacy stream for itself most of the time and so takes
// a shorter path: on the second device, which no other thread has used.
void quick_copies_exclude_blocking_streams() {
    constexpr size_t kBytes = 256 << 10;  // the longest that take it
    char *patterns = allocate(2 * kBytes);
    static char *target = allocate(kBytes);
    memset(patterns + kBytes, 1, kBytes);
    auto look = [](void *) { CHECK(memcmp(target, target + 1, kBytes - 1) == 0); };
    std::atomic<int> rounds{0};
    std::atomic<bool> stop{false};
    std::thread copier([&] {
        for (int i = 0; !stop.load(); ++i, rounds.fetch_add(1)) {
            submit(nullptr, copy_work(target, patterns + i % 2 * kBytes, kBytes), 1);
            synchronize(nullptr, 1);
        }
    });
    void *stream = make_stream(infinirtStreamDefault, 0, 1);
    for (int i = 0; i < 300; ++i) {
        for (int seen = rounds.load() + 3; i < 100 && rounds.load() < seen;)
            std::this_thread::yield();
        host(stream, look, nullptr, 1);
        if (i % 3 == 0) submit(nullptr, fill_work(target, 5, kBytes), 1);
        synchronize(i % 2 ? stream : nullptr, 1);
    }
    stop.store(true);
    copier.join();
    OK(driver->device_synchronize(1));
    OK(driver->stream_destroy(1, stream));
    OK(driver->release(0, patterns, 2 * kBytes));
    OK(driver->release(0, target, kBytes));
}

// ---- Priorities ---------------------------------------------------------------------------------

// Two slots (see main). While long copies of two unimportant streams hold both, an urgent stream
// gets its turn.
void urgent_streams_go_first() {
    constexpr size_t kBytes = 2 << 20;
    char *memory = allocate(4 * kBytes), *source = memory + 3 * kBytes;
    void *low[] = {make_stream(1, 0), make_stream(1, 0)}, *high = make_stream(1, -5);
    for (int i = 0; i < 2; ++i) {
        std::vector<InfiniWork> copies(100, copy_work(memory + i * kBytes, source, kBytes));
        OK(driver->submit(0, low[i], copies.data(), copies.size()));
    }
    submit(high, copy_work(memory + 2 * kBytes, source, 4096));
    synchronize(high);
    for (void *stream : low) CHECK_EQ(driver->stream_query(0, stream), infinirtErrorNotReady);
    OK(driver->device_synchronize(0));
    for (void *stream : {low[0], low[1], high}) OK(driver->stream_destroy(0, stream));
    OK(driver->release(0, memory, 4 * kBytes));
}

// ---- Many threads -------------------------------------------------------------------------------

void sixty_four_threads() {
    void *shared = make_stream(infinirtStreamDefault), *event = make_event();
    static std::atomic<int> count{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 64; ++t)
        threads.emplace_back([=] {
            void *own = make_stream(t % 2, -(t % 6)), *mine = make_event(t % 3 ? 0 : 2);
            char *memory = allocate(12288);
            for (int i = 0; i < 50; ++i) {
                submit(own, fill_work(memory, uint32_t(i), 4096));
                record(own, mine);
                wait(shared, mine);
                host(shared, add_one, &count);
                record(shared, event);
                wait(own, event);
                submit(own, copy_work(memory + 4096, memory, 4096));
                if (i % 10 == 0) synchronize(own);
                if (i % 10 == 3) OK(driver->event_synchronize(0, mine));
                if (i % 10 == 5) submit(nullptr, fill_work(memory + 8192, 0, 64));
                driver->event_query(0, event);
            }
            if (t % 4)
                synchronize(own);
            else
                OK(driver->device_synchronize(0));
            CHECK_EQ(memory[8191], 49);
            OK(driver->release(0, memory, 12288));
            OK(driver->event_destroy(0, mine));
            OK(driver->stream_destroy(0, own));
        });
    for (std::thread &thread : threads) thread.join();
    synchronize(shared);
    CHECK_EQ(count.load(), 64 * 50);
    OK(driver->stream_destroy(0, shared));
    OK(driver->event_destroy(0, event));
}

// ---- Random programs ----------------------------------------------------------------------------

// Each host function notes when it began and ended; the rules say which must have ended before
// which began.
struct Step {
    std::atomic<int> *clock;
    int began = 0, ended = 0;
    std::vector<int> after;  // steps that must have ended
};

void run_step(void *data) {
    auto *step = static_cast<Step *>(data);
    step->began = step->clock->fetch_add(1);
    for (int i = step->began % 8; i > 0; --i) std::this_thread::yield();
    step->ended = step->clock->fetch_add(1);
}

void random_programs_keep_all_rules() {
    std::mt19937 random = random_numbers();
    for (int program = 0; program < 150; ++program) {
        // Stream 0 is the legacy stream, 1 to 3 are blocking, 4 and 5 are not.
        void *streams[6] = {}, *events[4];
        for (int s = 1; s < 6; ++s) streams[s] = make_stream(s > 3, -int(random() % 6));
        for (void *&event : events) event = make_event();
        std::vector<int> tail[6], recorded[4];  // steps that the next one must wait for
        std::atomic<int> clock{1};
        std::vector<std::unique_ptr<Step>> steps;

        // The steps that work submitted to s now must wait for, by the rules of the legacy stream.
        auto before = [&](int s) {
            std::vector<int> all = tail[s];
            if (s == 0)
                for (int other = 1; other <= 3; ++other)
                    all.insert(all.end(), tail[other].begin(), tail[other].end());
            else if (s <= 3)
                all.insert(all.end(), tail[0].begin(), tail[0].end());
            return all;
        };
        for (int n = 0; n < 60; ++n) {
            int s = int(random() % 6), e = int(random() % 4);
            switch (random() % 4) {
                case 0:
                    recorded[e] = tail[s] = before(s);
                    record(streams[s], events[e]);
                    break;
                case 1:
                    tail[s] = before(s);
                    tail[s].insert(tail[s].end(), recorded[e].begin(), recorded[e].end());
                    wait(streams[s], events[e]);
                    break;
                default:
                    steps.push_back(std::make_unique<Step>());
                    steps.back()->clock = &clock;
                    steps.back()->after = before(s);
                    tail[s] = {int(steps.size()) - 1};
                    host(streams[s], run_step, steps.back().get());
            }
        }
        for (int s = 1; s < 6; ++s) OK(driver->stream_destroy(0, streams[s]));
        for (void *event : events) OK(driver->event_destroy(0, event));
        OK(driver->device_synchronize(0));
        for (auto &step : steps) {
            CHECK(step->ended > 0);
            for (int earlier : step->after) CHECK(steps[size_t(earlier)]->ended < step->began);
        }
    }
}

}  // namespace

int main() {
    setenv("INFINI_CPU_DEVICES", "2", 1);
    setenv("INFINI_NUM_THREADS", "2", 1);  // two slots for device work
    open_driver();
    RUN(legacy_excludes_blocking_streams);
    RUN(quick_copies_exclude_blocking_streams);
    RUN(urgent_streams_go_first);
    RUN(sixty_four_threads);
    RUN(random_programs_keep_all_rules);
    std::puts("all passed");
}
