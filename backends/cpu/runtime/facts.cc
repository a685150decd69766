// For `infini doctor`: facts about the CPU's kernels, one per line, "what: value".
#include <sched.h>

#include <string>

#include "../kernels/lapack_library.h"
#include "../operators.h"
#include "loop_costs.h"
#include "machine.h"
#include "process.h"
#include "tuning.h"

namespace infini::cpu {
namespace {

std::string tuning_state() {
    const TuningMode mode = tuning_mode();
    if (mode == TuningMode::Off) return "off: constants";
    const TuningFile file = cpu_tuning_file();
    LoopCosts::Values values;
    if (const std::string problem = file.read(values); !problem.empty()) return problem;
    const std::string mode_name = name_of(mode);
    if (LoopCosts(values, process->pool.size()).empty())
        return mode_name + ": constants, as nothing was measured for this pool";
    return mode_name + ": values of " + file.path();
}

std::string facts() {
    const size_t quota = processor_quota();
    cpu_set_t allowed;
    const int cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
    const std::string library = lapack_path();
    std::string text = std::string("instruction set of the kernels: ") + instruction_set();
    text += std::string("\ninstruction sets compiled: ") + compiled_instruction_sets();
    text += "\nthreads of the pool: " + std::to_string(process->pool.size());
    text += "\nprocessors by affinity: " + (cores ? std::to_string(cores) : "unknown");
    text += "\nprocessors by quota: " + (quota < 1'000'000 ? std::to_string(quota) : "no limit");
    text += "\ntuning: " + tuning_state();
    text += "\nLAPACK: " + (library.empty() ? "none: kernels of our own" : library);
    return text + "\n";
}

}  // namespace
}  // namespace infini::cpu

extern "C" [[gnu::visibility("default")]] const char *infini_backend_facts() {
    static const std::string text = infini::cpu::process ? infini::cpu::facts() : "";
    return text.c_str();
}
