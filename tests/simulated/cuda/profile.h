// What the libraries of one folder simulate: lines "word value" of the file `profile` there.
// Without the file, NVIDIA's.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace simulated {

struct Profile {
    std::string device = "simulated CUDA device";
    int warp = 32, warp_from_30 = 0;  // the second: from capability 3.0 on
    int capability = 90;              // 10 times the major number, and the minor one
    int version = 12090;

    static const Profile &get() {
        static const Profile profile;
        return profile;
    }

private:
    Profile() {
        static const char inside = 0;
        Dl_info self;
        dladdr(&inside, &self);
        std::string folder = self.dli_fname;
        FILE *file = nullptr;
        for (int up = 0; up < 3 && !file; ++up) {  // the engine's libraries are in a subfolder
            folder = folder.substr(0, folder.rfind('/'));
            for (const char *place : {"/profile", "/core/profile"})
                if (!file) file = fopen((folder + place).c_str(), "r");
        }
        char line[256];
        while (file && fgets(line, sizeof line, file)) {
            line[strcspn(line, "\n")] = 0;
            char *value = strchr(line, ' ');
            if (!value) continue;
            *value++ = 0;
            if (!strcmp(line, "device")) device = value;
            if (!strcmp(line, "warp")) warp = atoi(value);
            if (!strcmp(line, "warp_from_30")) warp_from_30 = atoi(value);
            if (!strcmp(line, "capability")) capability = atoi(value);
            if (!strcmp(line, "version")) version = atoi(value);
        }
        if (file) fclose(file);
        const char *given = getenv("INFINI_SIMULATED_CAPABILITY");
        if (given && *given) capability = atoi(given);
        if (warp_from_30 && capability >= 30) warp = warp_from_30;
    }
};

}  // namespace simulated
