// One seed for the random tests of a program: INFINI_TEST_SEED, else a new one. It is printed, so
// that a run can be repeated.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

inline uint32_t run_seed() {
    static const uint32_t seed = [] {
        const char *given = std::getenv("INFINI_TEST_SEED");
        const uint32_t chosen = given && *given ? uint32_t(std::strtoul(given, nullptr, 10))
                                                : uint32_t(std::random_device{}());
        std::printf("random tests: INFINI_TEST_SEED=%u repeats them\n", unsigned(chosen));
        std::fflush(stdout);  // a crash must not lose it
        return chosen;
    }();
    return seed;
}

// Random numbers of this run; others for each thread or case.
inline std::mt19937 random_numbers(uint32_t number = 0) {
    std::seed_seq words{run_seed(), number};
    return std::mt19937(words);
}
