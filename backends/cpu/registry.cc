#include "registry.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#if defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "kernels/threads.h"
#include "operators.h"
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

bool processor_has(std::string_view name) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (name == "avx2")
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512cd");
    if (name == "avx512") return avx512;
    if (name == "amx") {
        if (!avx512 || !__builtin_cpu_supports("avx512bf16") ||
            !__builtin_cpu_supports("avx512vnni"))
            return false;
        // Leaf 7: bits of EDX for AMX-BF16, AVX512-FP16, AMX-TILE and AMX-INT8.
        unsigned a, b, c, d;
        __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
        constexpr unsigned kNeeded = 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25;
        if ((d & kNeeded) != kNeeded) return false;
        // The kernel keeps tiles for processes that have asked for them (ARCH_REQ_XCOMP_PERM).
        return syscall(SYS_arch_prctl, 0x1023, 18) == 0;
    }
#elif defined(__aarch64__)
    unsigned long features = getauxval(AT_HWCAP), more = getauxval(AT_HWCAP2);
    if (name == "dotprod" || name == "i8mm") {
        constexpr unsigned long kHalf = 1ul << 9 | 1ul << 10, kDot = 1ul << 20;  // ASIMDHP, ASIMDDP
        if ((features & kHalf) != kHalf || !(features & kDot)) return false;
    }
    if (name == "i8mm") return (more & (1ul << 13)) && (more & (1ul << 14));  // I8MM, BF16
#endif
    return true;
}

// INFINI_CPU_ISA names the best set to use, to compare sets or to work around one.
struct Registry {
    std::unordered_map<std::string_view, Planner> planners;
    const char *best = "none";

    Registry() {
        const char *limit = std::getenv("INFINI_CPU_ISA");
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

const char *ignored_instruction_set() {
    const char *limit = std::getenv("INFINI_CPU_ISA");
    return limit && *limit && std::strcmp(limit, registry().best) != 0 ? limit : nullptr;
}

const char *instruction_set() { return registry().best; }

size_t thread_count() { return process->pool.size(); }

void parallel_ranges(size_t count, size_t grain, void (*call)(const void *, size_t, size_t),
                     const void *body) {
    process->pool.parallel_for(count, grain,
                               [&](size_t begin, size_t end) { call(body, begin, end); });
}

}  // namespace infini::cpu
