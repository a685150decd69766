#include "machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "sync.h"
#include "thread_pool.h"

namespace infini::cpu {
namespace {

std::string read_text(const std::string &path) {
    std::string text;
    if (FILE *file = fopen(path.c_str(), "re")) {
        char buffer[4096];
        while (size_t got = fread(buffer, 1, sizeof buffer, file)) text.append(buffer, got);
        fclose(file);
    }
    return text;
}

// The text after `key` (and spaces, tabs and a colon) at the start of a line; empty if there is
// none.
std::string field(const std::string &text, const std::string &key) {
    for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
        if (at != 0 && text[at - 1] != '\n') continue;
        size_t begin = text.find_first_not_of(" \t:", at + key.size());
        if (begin == at + key.size() || begin == std::string::npos) continue;  // a longer word
        return text.substr(begin, text.find('\n', begin) - begin);
    }
    return "";
}

// A number with an optional unit: "24642560 kB", "1024K". 0 if there is none ("max").
size_t number(const std::string &text) {
    char *end;
    unsigned long long value = strtoull(text.c_str(), &end, 0);
    while (*end == ' ') ++end;
    if (*end == 'k' || *end == 'K') return size_t(value) << 10;
    if (*end == 'M') return size_t(value) << 20;
    return size_t(value);
}

// ---- Processor ----------------------------------------------------------------------------------

struct ArmPart {
    unsigned implementer, part;
    const char *name;
};
constexpr ArmPart kArmParts[] = {
    {0x41, 0xd03, "Arm Cortex-A53"},
    {0x41, 0xd05, "Arm Cortex-A55"},
    {0x41, 0xd07, "Arm Cortex-A57"},
    {0x41, 0xd08, "Arm Cortex-A72"},
    {0x41, 0xd0b, "Arm Cortex-A76"},
    {0x41, 0xd0c, "Arm Neoverse-N1"},
    {0x41, 0xd40, "Arm Neoverse-V1"},
    {0x41, 0xd41, "Arm Cortex-A78"},
    {0x41, 0xd44, "Arm Cortex-X1"},
    {0x41, 0xd49, "Arm Neoverse-N2"},
    {0x41, 0xd4f, "Arm Neoverse-V2"},
    {0x41, 0xd83, "Arm Neoverse-V3AE"},
    {0x41, 0xd84, "Arm Neoverse-V3"},
    {0x41, 0xd8e, "Arm Neoverse-N3"},
    {0x46, 0x001, "Fujitsu A64FX"},
    {0x48, 0xd01, "HiSilicon TaiShan v110"},
    {0x48, 0xd02, "HiSilicon TaiShan v120"},
    {0x4e, 0x004, "NVIDIA Carmel"},
    {0x70, 0x662, "Phytium FTC662"},
    {0x70, 0x663, "Phytium FTC663"},
    {0x70, 0x862, "Phytium FTC862"},
    {0xc0, 0xac3, "Ampere-1"},
    {0xc0, 0xac4, "Ampere-1a"},
};

std::string processor_name(const std::string &cpuinfo) {
    std::string name = field(cpuinfo, "model name");
    if (!name.empty()) return name;
    std::string implementer = field(cpuinfo, "CPU implementer"), part = field(cpuinfo, "CPU part");
    for (const ArmPart &known : kArmParts)
        if (number(implementer) == known.implementer && number(part) == known.part)
            return known.name;
    if (!part.empty()) return "Arm processor " + implementer + ":" + part;
    return "CPU";
}

// Times a chain of additions, of which every processor does one per cycle. For machines, mostly
// virtual ones, that do not report their clock frequency.
int measured_khz() {
    constexpr int kTries = 5, kRounds = 2'000, kAdds = 16;
    int64_t best = INT64_MAX;
    for (int t = 0; t < kTries; ++t) {
        uint64_t x = 0;
        int64_t start = now_ns();
        for (int i = 0; i < kRounds; ++i) {
#pragma GCC unroll 16
            for (int j = 0; j < kAdds; ++j) {
                x += 1;
                asm volatile("" : "+r"(x));
            }
        }
        best = std::min(best, now_ns() - start);
    }
    return int(int64_t(kRounds) * kAdds * 1'000'000 / std::max<int64_t>(best, 1));
}

int clock_khz(const std::string &cpuinfo) {
    size_t khz = number(read_text("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"));
    if (khz) return int(khz);
    double mhz = strtod(field(cpuinfo, "cpu MHz").c_str(), nullptr);
    return mhz > 0 ? int(mhz * 1000) : measured_khz();
}

// 0 if there is no cache of that level.
size_t cache_bytes(size_t level) {
    for (int i = 0; i < 8; ++i) {
        std::string cache = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
        if (number(read_text(cache + "level")) == level) return number(read_text(cache + "size"));
    }
    return 0;
}

int architecture_version([[maybe_unused]] const std::string &cpuinfo) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return 4;
    if (__builtin_cpu_supports("x86-64-v3")) return 3;
    return __builtin_cpu_supports("x86-64-v2") ? 2 : 1;
#else
    // The field says 8 for version 9 as well; SVE2 came with 9.
    if (field(cpuinfo, "Features").find(" sve2") != std::string::npos) return 9;
    return int(number(field(cpuinfo, "CPU architecture")));
#endif
}

MachineFacts read_facts() {
    MachineFacts facts{};
    std::string cpuinfo = read_text("/proc/cpuinfo");
    std::string name = processor_name(cpuinfo);
    snprintf(facts.name, sizeof facts.name, "%s", name.c_str());
    facts.cores = int(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) facts.cores = CPU_COUNT(&allowed);
    facts.clock_khz = clock_khz(cpuinfo);
    facts.l2_bytes = int(cache_bytes(2));
    facts.cache_bytes = std::max({cache_bytes(3), cache_bytes(2), size_t(8) << 20});
    facts.major = architecture_version(cpuinfo);

    // FNV-1a, twice, of what identifies the machine.
    std::string identity = read_text("/etc/machine-id") + name;
    for (int half = 0; half < 2; ++half) {
        uint64_t hash = 0xcbf29ce484222325u + uint64_t(half);
        for (unsigned char c : identity) hash = (hash ^ c) * 0x100000001b3u;
        memcpy(facts.id + 8 * half, &hash, sizeof hash);
    }
    return facts;
}

// ---- Memory -------------------------------------------------------------------------------------

struct Group {
    size_t limit = SIZE_MAX, used = 0;
};

// The tightest limit of the control groups (version 1 or 2) around this process.
Group control_group() {
    std::string groups = read_text("/proc/self/cgroup");
    bool v2 = false;
    std::string root = "/sys/fs/cgroup/memory", path;
    size_t at = groups.find(":memory:");
    if (at != std::string::npos) {
        path = groups.substr(at + 8, groups.find('\n', at) - at - 8);
    } else {
        v2 = true;
        root = "/sys/fs/cgroup";
        path = field(groups, "0");  // "0::/some/group"
    }
    Group tightest;
    for (;;) {
        std::string folder = root + path + "/";
        size_t limit = number(read_text(folder + (v2 ? "memory.max" : "memory.limit_in_bytes")));
        if (limit != 0 && limit < tightest.limit) {
            size_t used =
                number(read_text(folder + (v2 ? "memory.current" : "memory.usage_in_bytes")));
            // Cached files are evicted when memory is needed.
            size_t cached = number(field(read_text(folder + "memory.stat"),
                                         v2 ? "inactive_file" : "total_inactive_file"));
            tightest = {limit, used - std::min(used, cached)};
        }
        if (path.empty()) return tightest;
        path.resize(std::min(path.rfind('/'), path.size() - 1));
    }
}

// ---- Quotas -------------------------------------------------------------------------------------

// The processor time per second that a control group grants; 0: no limit.
double granted_time(const std::string &folder) {
    const std::string both = read_text(folder + "cpu.max");  // version 2: "200000 100000"
    const size_t space = both.find(' ');
    if (space != std::string::npos) {
        const size_t period = number(both.substr(space + 1));
        return period ? double(number(both)) / double(period) : 0;
    }
    const std::string quota = read_text(folder + "cpu.cfs_quota_us");  // version 1; -1: none
    const size_t period = number(read_text(folder + "cpu.cfs_period_us"));
    return !quota.empty() && quota[0] != '-' && period ? double(number(quota)) / double(period) : 0;
}

}  // namespace

size_t processor_quota() {
    const std::string groups = read_text("/proc/self/cgroup");
    std::string root = "/sys/fs/cgroup", path = field(groups, "0");
    for (const char *name : {":cpu,cpuacct:", ":cpuacct,cpu:", ":cpu:"}) {
        const size_t at = groups.find(name);
        if (at == std::string::npos) continue;
        root = "/sys/fs/cgroup/cpu";
        const size_t begin = at + std::strlen(name);
        path = groups.substr(begin, groups.find('\n', begin) - begin);
    }
    double least = 1e9;
    for (;;) {
        const double granted = granted_time(root + path + "/");
        if (granted > 0) least = std::min(least, granted);
        if (path.empty()) break;
        path.resize(std::min(path.rfind('/'), path.size() - 1));
    }
    return size_t(std::max(1.0, std::ceil(least)));
}

const MachineFacts &machine() {
    static const MachineFacts facts = read_facts();
    return facts;
}

size_t memory_total() {
    static const size_t total = std::min(
        size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGESIZE)), control_group().limit);
    return total;
}

size_t memory_available() {
    size_t available = number(field(read_text("/proc/meminfo"), "MemAvailable"));
    Group group = control_group();
    return std::min({available, memory_total(), group.limit - std::min(group.limit, group.used)});
}

}  // namespace infini::cpu
