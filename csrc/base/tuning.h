// Measured values that replace constants: a text file for each machine, see docs/tuning.md.
#pragma once

#include <map>
#include <string>

namespace infini {

// INFINI_TUNING: constants only; values of the file; values of the file, and missing ones measured.
enum class TuningMode { Off, Read, On };
TuningMode tuning_mode();
const char *name_of(TuningMode mode);
// The error in INFINI_TUNING; empty if there is none.
std::string tuning_problem();

class TuningFile {
public:
    using Values = std::map<std::string, double>;

    // `machine`, one line, describes what the values depend on. The file is INFINI_TUNING_FILE, else
    // one in the cache folder, named after the machine.
    explicit TuningFile(std::string machine);

    const std::string &path() const { return path_; }  // empty: no file is kept
    const std::string &machine() const { return machine_; }

    // Reads the file. Returns why it cannot be used, in a sentence; empty also if there is none.
    std::string read(Values &values) const;

    // Adds values to the file, or writes it if there is none; returns why it could not. Files
    // without write permission are never written, and those that cannot be used only with
    // `replaces`.
    std::string write(const Values &values, bool replaces) const;

private:
    std::string parse(const std::string &text, Values &values) const;
    std::string write_locked(const Values &values, bool replaces) const;

    std::string machine_, path_;
};

}  // namespace infini
