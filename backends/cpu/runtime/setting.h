// Settings from the environment that are numbers.
#pragma once

#include <cerrno>
#include <cstdlib>

namespace infini::cpu {

struct Setting {
    const char *name;
    long most;  // they count from 1
};

constexpr Setting kDeviceSetting{"INFINI_CPU_DEVICES", 64};
constexpr Setting kThreadSetting{"INFINI_NUM_THREADS", 1024};

// The number, 0 if the variable is not set, or -1 if it holds no such number and is to be ignored.
inline long read_setting(const Setting &setting) {
    const char *text = std::getenv(setting.name);
    if (!text || !*text) return 0;
    char *end;
    errno = 0;
    long number = std::strtol(text, &end, 10);
    return *end == '\0' && errno == 0 && number >= 1 && number <= setting.most ? number : -1;
}

}  // namespace infini::cpu
