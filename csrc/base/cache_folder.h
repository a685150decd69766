// The folder for files that are computed once and kept for later processes.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace infini {

// INFINI_CACHE, else infinicore in the user's cache folder. Empty: nothing is kept.
inline std::string cache_folder() {
    if (const char *chosen = std::getenv("INFINI_CACHE")) return chosen;
    if (const char *base = std::getenv("XDG_CACHE_HOME"); base && *base == '/')
        return std::string(base) + "/infinicore";
    if (const char *home = std::getenv("HOME"); home && *home == '/')
        return std::string(home) + "/.cache/infinicore";
    return "";
}

// Makes the folder and those above it. False: files cannot be created there.
inline bool make_folders(const std::string &path) {
    for (size_t at = 0; at != std::string::npos;) {
        at = path.find('/', at + 1);
        const std::string part = path.substr(0, at);
        if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return false;
    }
    return access(path.c_str(), W_OK | X_OK) == 0;
}

}  // namespace infini
