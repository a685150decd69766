// For `infini tune`: what the tuning file has, after measuring if wanted.
#include <algorithm>
#include <cstdio>
#include <string>

#include "loop_costs.h"
#include "process.h"
#include "tuning.h"

namespace infini::cpu {
namespace {

std::string microseconds(double ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g us", ns / 1000);
    return text;
}

// Lines of fields between tabs: "value", what, the constant, the measurement; or what the line is,
// and its text.
std::string report(const TuningFile &file, const LoopCosts::Values &values,
                   const std::string &problem) {
    const size_t size = process->pool.size();
    std::string text = "machine\t" + file.machine() + "\nmode\t" + name_of(tuning_mode()) +
                       "\nfile\t" + file.path() + "\n";
    if (!problem.empty()) text += "problem\t" + problem + "\n";
    const LoopCosts costs(values, size);
    for (size_t threads : LoopCosts::measured_sizes(size)) {
        const double constant = double(threads - 1);  // ranges
        const std::string on =
            "on " + std::to_string(threads) + " of " + std::to_string(size) + " threads";
        std::string least, start;
        for (const LoopCosts::Step &step : costs.steps())
            if (step.threads == threads)
                least = microseconds(std::max(step.ranges, constant) * LoopCosts::kRangeNs);
        if (const auto found = values.find(LoopCosts::key(size, threads)); found != values.end())
            start = microseconds(found->second);
        text += "value\tcost of starting a loop " + on + "\t\t" + start + "\n";
        text += "value\tleast work of a loop " + on + "\t" +
                microseconds(constant * LoopCosts::kRangeNs) + "\t" + least + "\n";
    }
    return text;
}

std::string tune(bool measures) {
    const TuningFile file = cpu_tuning_file();
    LoopCosts::Values values;
    std::string problem;
    if (measures) {
        LoopCosts::measure(process->pool, values);
        problem = file.write(values, true);
    } else {
        problem = file.read(values);
    }
    return report(file, values, problem);
}

}  // namespace
}  // namespace infini::cpu

extern "C" [[gnu::visibility("default")]] const char *infini_backend_tune(int measures) {
    static thread_local std::string text;
    text = infini::cpu::process ? infini::cpu::tune(measures != 0) : "";
    return text.c_str();
}
