#include "registry.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>

#include "../kernels/threads.h"
#include "../kernels/worth_threads.h"
#include "../operators.h"
#include "../processor.h"
#include "environment.h"
#include "process.h"

// The tables that kernels/CMakeLists.txt joined, by instruction set, the plainest first.
#define ISA(name)                                                                        \
    extern "C" const infini::cpu::KernelEntry __start_infini_cpu_##name[] [[gnu::weak]]; \
    extern "C" const infini::cpu::KernelEntry __stop_infini_cpu_##name[] [[gnu::weak]];
INFINI_CPU_ISAS
#undef ISA

namespace infini::cpu {
namespace {

struct InstructionSet {
    const char *name;
    const KernelEntry *begin, *end;
};

const InstructionSet kSets[] = {
#define ISA(name) {#name, __start_infini_cpu_##name, __stop_infini_cpu_##name},
    INFINI_CPU_ISAS
#undef ISA
};

// INFINI_CPU_ISA names the best set to use, to compare sets or to work around one.
struct Registry {
    std::unordered_map<std::string_view, Planner> planners;
    const char *best = "none";

    Registry() {
        const char *limit = setting_text("INFINI_CPU_ISA");
        for (const InstructionSet &set : kSets) {
            if (!set.begin || !processor_has(set.name)) continue;
            for (const KernelEntry *entry = set.begin; entry != set.end; ++entry)
                planners[entry->operation] = entry->plan;
            best = set.name;
            if (limit && set.name == std::string_view(limit)) break;
        }
    }
};

const Registry &registry() {
    static const auto *made = new Registry;
    return *made;
}

}  // namespace

Planner find_planner(const char *operation) {
    auto found = registry().planners.find(operation);
    return found == registry().planners.end() ? nullptr : found->second;
}

const char *compiled_instruction_sets() {
#define ISA(name) #name " "
    return INFINI_CPU_ISAS;
#undef ISA
}

bool has_kernels() { return !registry().planners.empty(); }

bool is_instruction_set_ignored() {
    const char *limit = setting_text("INFINI_CPU_ISA");
    return limit && std::strcmp(limit, registry().best) != 0;
}

const char *instruction_set() { return registry().best; }

// Kernels divide their work and workspaces by what may be; a limit only makes loops narrower.
size_t thread_count() { return process->pool.size(); }

void parallel_work(size_t count, size_t grain, double ranges,
                   void (*call)(const void *, size_t, size_t), const void *body) {
    process->pool.parallel_for(count, grain, ranges,
                               [&](size_t begin, size_t end) { call(body, begin, end); });
}

size_t worth_threads(double ranges) { return process->pool.worth_threads(ranges); }

void parallel_ranges(size_t count, size_t grain, void (*call)(const void *, size_t, size_t),
                     const void *body) {
    process->pool.parallel_for(count, grain,
                               [&](size_t begin, size_t end) { call(body, begin, end); });
}

}  // namespace infini::cpu

// For Python: sets how many threads a loop has, unless `wanted` is 0, and returns how many it has.
extern "C" [[gnu::visibility("default")]] int infini_cpu_threads(int wanted) {
    infini::cpu::ThreadPool &pool = infini::cpu::process->pool;
    if (wanted > 0) pool.set_limit(size_t(wanted));
    return int(pool.limit());
}
