#include "tuning.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "cache_folder.h"
#include "environment.h"

namespace infini {
namespace {

constexpr char kFirst[] = "infinicore tuning 1", kMachine[] = "machine ", kLast[] = "end";
constexpr size_t kMostBytes = 1 << 20;

struct Descriptor {
    int number;
    ~Descriptor() {
        if (number >= 0) close(number);
    }
};

// GCC 12 warns wrongly of + between temporary strings when ThreadSanitizer is on.
std::string join(std::initializer_list<std::string_view> parts) {
    std::string text;
    for (std::string_view part : parts) text += part;
    return text;
}

std::string hex_of(const std::string &text) {
    uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
    return digits;
}

std::string default_path(const std::string &machine) {
    if (const char *chosen = setting_text("INFINI_TUNING_FILE")) return chosen;
    const std::string folder = cache_folder();
    return folder.empty() ? "" : join({folder, "/tuning/", hex_of(machine), ".txt"});
}

bool is_locked(const std::string &path) {
    struct stat status;
    return stat(path.c_str(), &status) == 0 && (status.st_mode & 0222) == 0;
}

// 0, or errno.
int read_text(const std::string &path, std::string &text) {
    const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.number < 0) return errno;
    char buffer[4096];
    for (;;) {
        const ssize_t got = ::read(file.number, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        if (got == 0) return 0;
        text.append(buffer, size_t(got));
        if (text.size() > kMostBytes) return EFBIG;
    }
}

bool write_text(int file, const std::string &text) {
    for (size_t done = 0; done < text.size();) {
        const ssize_t put = ::write(file, text.data() + done, text.size() - done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        done += size_t(put);
    }
    return true;
}

bool starts_with(const std::string &line, const char *words) {
    return line.compare(0, std::strlen(words), words) == 0;
}

// "key value". Values are numbers of 0 or more.
bool parse_value(const std::string &line, TuningFile::Values &values) {
    const size_t space = line.find(' ');
    if (space == 0 || space == std::string::npos || space + 1 == line.size()) return false;
    const char *text = line.c_str() + space + 1;
    char *end;
    const double value = std::strtod(text, &end);
    if (*text == ' ' || *end || !std::isfinite(value) || value < 0) return false;
    values[line.substr(0, space)] = value;
    return true;
}

}  // namespace

const char *name_of(TuningMode mode) {
    return mode == TuningMode::Off ? "off" : mode == TuningMode::Read ? "read" : "on";
}

std::string tuning_problem() {
    const char *text = setting_text("INFINI_TUNING");
    for (const char *choice : {"off", "read", "on"})
        if (!text || std::strcmp(text, choice) == 0) return "";
    return ignored_setting("INFINI_TUNING", "one of off, read, on");
}

TuningMode tuning_mode() {
    const char *text = setting_text("INFINI_TUNING");
    if (const std::string problem = tuning_problem(); !problem.empty())
        warn_of_setting("INFINI_TUNING", problem);
    for (TuningMode mode : {TuningMode::Off, TuningMode::On})
        if (text && std::strcmp(text, name_of(mode)) == 0) return mode;
    return TuningMode::Read;
}

TuningFile::TuningFile(std::string machine) : machine_(std::move(machine)) {
    std::replace(machine_.begin(), machine_.end(), '\n', ' ');
    path_ = default_path(machine_);
}

std::string TuningFile::read(Values &values) const {
    if (path_.empty()) return "";
    std::string text;
    const int error = read_text(path_, text);
    if (error == ENOENT || error == ENOTDIR) {
        if (!setting_text("INFINI_TUNING_FILE") || tuning_mode() == TuningMode::On) return "";
        return join({"INFINI_TUNING_FILE=", path_, " is ignored: expected a file that exists"});
    }
    const std::string problem = error ? std::strerror(error) : parse(text, values);
    if (problem.empty()) return "";
    values.clear();
    return join({"the tuning file ", path_, " is ignored: ", problem});
}

// Returns what is wrong with the text; comments begin with #.
std::string TuningFile::parse(const std::string &text, Values &values) const {
    bool has_first = false, has_machine = false, has_last = false;
    int number = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t next = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, next - at);
        at = next + 1;
        ++number;
        if (line.empty() || line[0] == '#') continue;
        if (!has_first) {
            if (line != kFirst) return join({"expected \"", kFirst, "\" in its first line"});
            has_first = true;
        } else if (!has_machine && starts_with(line, kMachine)) {
            const std::string other = line.substr(std::strlen(kMachine));
            if (other != machine_)
                return join({"it is for another machine, ", other.substr(0, 200), "; this one is ",
                             machine_});
            has_machine = true;
        } else if (line == kLast && has_machine) {
            has_last = true;
        } else if (has_last || !has_machine || !parse_value(line, values)) {
            return join(
                {"its line ", std::to_string(number), " is damaged; \"infini tune\" replaces it"});
        }
    }
    if (!has_last) return "its end is missing; \"infini tune\" replaces it";
    return "";
}

std::string TuningFile::write(const Values &values, bool replaces) const {
    if (path_.empty()) return "no tuning file is kept: there is no cache folder";
    const size_t slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    const std::string failed = join({"the tuning file ", path_, " was not written: "});
    if (is_locked(path_)) return failed + "it is locked: nobody has permission to write it";
    if (!make_folders(folder.size() > 1 && folder.back() == '/'
                          ? folder.substr(0, folder.size() - 1)
                          : folder))
        return failed + "files cannot be created in " + folder;
    // One writer at a time, so that none loses what another has just added.
    const Descriptor guard{open((path_ + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    while (guard.number >= 0 && flock(guard.number, LOCK_EX) != 0 && errno == EINTR) {
    }
    const std::string problem = write_locked(values, replaces);
    return problem.empty() ? "" : failed + problem;
}

std::string TuningFile::write_locked(const Values &values, bool replaces) const {
    Values all;
    std::string before;
    if (const int error = read_text(path_, before); error && error != ENOENT) {
        if (!replaces) return std::strerror(error);
    } else if (!error) {
        const std::string problem = parse(before, all);
        if (!problem.empty() && !replaces) return problem;
        if (!problem.empty()) all.clear();
    }
    for (const auto &[key, value] : values) all[key] = value;

    std::string text = join({kFirst, "\n", kMachine, machine_, "\n"});
    for (const auto &[key, value] : all) {
        char digits[32];
        std::snprintf(digits, sizeof digits, "%.15g", value);
        text += join({key, " ", digits, "\n"});
    }
    text += join({kLast, "\n"});

    // Readers see the old file or the new one, never a part.
    std::string temporary = path_ + ".XXXXXX";
    const Descriptor file{mkostemp(temporary.data(), O_CLOEXEC)};
    if (file.number < 0) return std::strerror(errno);
    if (!write_text(file.number, text) || fchmod(file.number, 0644) != 0 ||
        rename(temporary.c_str(), path_.c_str()) != 0) {
        const int error = errno;
        unlink(temporary.c_str());
        return std::strerror(error);
    }
    return "";
}

}  // namespace infini
