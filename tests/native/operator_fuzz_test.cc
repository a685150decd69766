// Calls every operator with arguments made up at random: whatever they are, each call ends with a
// status and, if it failed, a message; no access goes beyond a tensor (the sanitizers see to that).
//
//   operator_fuzz_test [cases] [seed] [operator | --list]
#include "operator_fuzz.h"

#include <infini/ext.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "check.h"
#include "seed.h"
#include "tests/operator_calls.h"

namespace {

// The message when a case ends the process.
char current[256];

void say_current(int signal) {
    // Only calls that are allowed in a signal handler.
    [[maybe_unused]] auto ignored = write(2, current, std::strlen(current));
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

struct Tally {
    size_t cases = 0, created = 0, ran = 0;
};

void expect_message(infiniStatus_t status, const char *what, const Fuzz &fuzz) {
    const char *message = infiniGetLastErrorMessage();
    if (status == INFINI_STATUS_SUCCESS || std::strncmp(message, "infiniop", 8) == 0) return;
    std::fprintf(stderr, "%s gave status %d without a message (%s): %s\n", what, int(status),
                 message, fuzz.describe_case().c_str());
    std::exit(1);
}

void run_case(const Operator &op, uint64_t seed, infiniopHandle_t handle, Tally *tally) {
    std::snprintf(current, sizeof current, "in a case of %s, seed %llu\n", op.name,
                  static_cast<unsigned long long>(seed));
    Fuzz fuzz(op, seed);
    ++tally->cases;
    InfiniopDescriptor *desc = nullptr;
    infiniStatus_t status = op.create(fuzz, handle, &desc);
    expect_message(status, "create", fuzz);
    if (status != INFINI_STATUS_SUCCESS) return;
    ++tally->created;
    size_t bytes = 0;
    CHECK(op.workspace(desc, &bytes) == INFINI_STATUS_SUCCESS);
    if (!fuzz.too_large() && bytes < (size_t(1) << 28)) {
        if (fuzz.chance(20)) fuzz.null_data();
        // The first run function only: the others follow pointers in device memory.
        size_t given = bytes && fuzz.chance(20) ? bytes - 1 : bytes;
        status = op.runs[0](fuzz, desc, fuzz.memory(bytes), given, nullptr);
        expect_message(status, "run", fuzz);
        fuzz.free_result();
        tally->ran += status == INFINI_STATUS_SUCCESS;
    }
    CHECK(op.destroy(desc) == INFINI_STATUS_SUCCESS);
    CHECK(op.destroy(desc) == INFINI_STATUS_BAD_PARAM);
    status = op.runs[0](fuzz, desc, nullptr, 0, nullptr);
    CHECK(status == INFINI_STATUS_BAD_PARAM);
}

}  // namespace

int main(int argc, char **argv) {
    for (int signal : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGABRT}) std::signal(signal, say_current);
    size_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
    uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : run_seed();
    const char *only = argc > 3 ? argv[3] : "";
    infiniopHandle_t handle;
    CHECK(infiniopCreateHandle(&handle) == INFINI_STATUS_SUCCESS);
    std::vector<Tally> tallies(std::size(kOperators));
    size_t chosen = 0;
    for (const Operator &op : kOperators) chosen += !*only || std::strcmp(op.name, only) == 0;
    CHECK(chosen > 0 || std::strcmp(only, "--list") == 0);
    for (size_t i = 0; i < std::size(kOperators); ++i) {
        const Operator &op = kOperators[i];
        if (std::strcmp(only, "--list") == 0) std::puts(op.name);
        if (*only && std::strcmp(op.name, only) != 0) continue;
        for (size_t k = 0; k < cases / chosen + 1; ++k)
            run_case(op, seed * 1'000'003 + k * 7919 + i, handle, &tallies[i]);
    }
    CHECK(infiniopDestroyHandle(handle) == INFINI_STATUS_SUCCESS);
    size_t all = 0, ran = 0;
    for (size_t i = 0; i < std::size(kOperators); ++i) {
        all += tallies[i].cases;
        ran += tallies[i].ran;
        if (tallies[i].cases && tallies[i].ran * 50 < tallies[i].cases)
            std::printf("%-34s %zu cases, %zu created, %zu ran\n", kOperators[i].name,
                        tallies[i].cases, tallies[i].created, tallies[i].ran);
    }
    std::printf("%zu cases, %zu ran\n", all, ran);
    CHECK(ran * 10 >= all);  // else the cases test nothing but the checks
    return 0;
}
