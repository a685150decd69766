// Which instruction sets this processor has. For the registry at run time and for the build, which
// compiles the kernels for the machine it runs on.
#pragma once

#include <string_view>
#if defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace infini::cpu {

// `name` is one of the sets in kernels/CMakeLists.txt.
inline bool processor_has(std::string_view name) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (name == "avx2")
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512cd");
    const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
    if (name == "avx512") return avx512;
    if (name == "vnni") return vnni;
    if (name == "amx") {
        if (!vnni || !__builtin_cpu_supports("avx512bf16")) return false;
        // Leaf 7: bits of EDX for AMX-BF16, AVX512-FP16, AMX-TILE and AMX-INT8.
        unsigned a, b, c, d;
        __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
        constexpr unsigned kNeeded = 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25;
        if ((d & kNeeded) != kNeeded) return false;
        // The kernel enables tiles for processes that request them (ARCH_REQ_XCOMP_PERM).
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

}  // namespace infini::cpu
