#include "generator.h"

#include "static_tls.h"

namespace infinicore::detail {
namespace {

INFINI_STATIC_TLS constinit thread_local Generator *generator_of_thread = nullptr;

}  // namespace

void Generator::restart(uint64_t seed, uint64_t taken) {
    seed_.store(seed);
    taken_.store(taken);
}

std::pair<uint64_t, uint64_t> Generator::take(uint64_t count) {
    // One counter value gives four numbers; a run begins with a fresh one.
    return {seed_.load(), taken_.fetch_add((count + 3) / 4 * 4)};
}

Generator &default_generator() {
    static constinit Generator generator{0x9E3779B97F4A7C15u >> 1};
    return generator;
}

Generator &thread_generator() {
    return generator_of_thread ? *generator_of_thread : default_generator();
}

void set_thread_generator(Generator *generator) { generator_of_thread = generator; }

}  // namespace infinicore::detail
