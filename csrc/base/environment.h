// Settings from environment variables. An invalid value is ignored, with one warning on stderr that
// names the variable, its value and what was expected.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

namespace infini {

// The variable's value; null if it is not set, or empty.
inline const char *setting_text(const char *name) {
    const char *text = std::getenv(name);
    return text && *text ? text : nullptr;
}

// "NAME=value is ignored: expected …", for a variable that is set.
inline std::string ignored_setting(const char *name, const std::string &expected) {
    const char *text = setting_text(name);
    return std::string(name) + "=" + std::string(text ? text : "").substr(0, 64) +
           " is ignored: expected " + expected;
}

// Prints the warning, once per variable; `name` is a literal.
inline void warn_of_setting(const char *name, const std::string &sentence) {
    static std::atomic<const char *> warned[32];
    for (std::atomic<const char *> &each : warned) {
        const char *known = nullptr;
        if (each.compare_exchange_strong(known, name)) {
            std::fprintf(stderr, "infinicore: warning: %s\n", sentence.c_str());
            return;
        }
        if (std::strcmp(known, name) == 0) return;
    }
}

struct NumberSetting {
    const char *name;
    double least, most;
    bool is_whole = true;
};

// The error in the variable's value; empty if it is a number in the range, or not set.
inline std::string problem_of(const NumberSetting &setting) {
    const char *text = setting_text(setting.name);
    if (!text) return "";
    char *end = nullptr;
    errno = 0;
    const double number =
        setting.is_whole ? double(std::strtol(text, &end, 10)) : std::strtod(text, &end);
    if (end != text && *end == '\0' && errno == 0 && number >= setting.least &&
        number <= setting.most && std::isfinite(number))
        return "";
    char range[96];
    if (std::isfinite(setting.most))
        std::snprintf(range, sizeof range, "from %.15g to %.15g", setting.least, setting.most);
    else
        std::snprintf(range, sizeof range, "of %.15g or more", setting.least);
    return ignored_setting(setting.name,
                           std::string(setting.is_whole ? "a whole number " : "a number ") + range);
}

// The variable as a number, or the fallback.
inline double read_setting(const NumberSetting &setting, double fallback) {
    const std::string problem = problem_of(setting);
    if (!problem.empty()) warn_of_setting(setting.name, problem);
    const char *text = setting_text(setting.name);
    return text && problem.empty() ? std::strtod(text, nullptr) : fallback;
}

// The variable's value if it is one of the choices, else "".
inline std::string read_choice(const char *name, std::initializer_list<const char *> choices) {
    const char *text = setting_text(name);
    if (!text) return "";
    if (std::find(choices.begin(), choices.end(), std::string_view(text)) != choices.end())
        return text;
    std::string expected;
    for (const char *each : choices) expected += (expected.empty() ? "" : ", ") + std::string(each);
    warn_of_setting(name, ignored_setting(name, "one of " + expected));
    return "";
}

}  // namespace infini
