// Finds LAPACK: the OpenBLAS named by INFINI_LAPACK_LIBRARY, else that of the scipy-openblas32
// wheel, which no other package loads. NumPy's and the system's are not used by default, because
// the number of OpenBLAS threads is global to the process, and here it is set to 1.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

#include "../kernels/lapack_library.h"
#include "process.h"

namespace infini::cpu {
namespace {

const char *named_library() {
    const char *name = std::getenv("INFINI_LAPACK_LIBRARY");
    return name && *name ? name : nullptr;
}

// The folder beside our own package; empty: not in a package.
std::string wheel_library() {
    Dl_info self;
    if (!dladdr(reinterpret_cast<const void *>(&wheel_library), &self) || !self.dli_fname)
        return "";
    const std::string path = self.dli_fname;
    const size_t package = path.rfind("/infinicore/");
    if (package == std::string::npos) return "";
    return path.substr(0, package) + "/scipy_openblas32/lib/libscipy_openblas.so";
}

std::atomic<bool> exiting{false};
thread_local int calls_inside = 0;  // OpenBLAS itself may call exit()

void wait_for_calls() {
    exiting = true;
    // Other threads may wait for a call that exits, so this one does not wait long for them.
    for (int i = 0; process->lapack_calls > calls_inside && (!calls_inside || i < 10000); ++i)
        usleep(100);
}

struct Library {
    Lapack table{};
    bool usable = false;
    std::string path, problem;

    Library() {
        const char *name = named_library();
        path = name ? name : wheel_library();
        if (path.empty() || path == "none") return;
        void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            const char *reason = dlerror();
            problem = reason ? reason : path;
            return;
        }
        // The wheel's symbols have a prefix, so that they never clash with those of another BLAS.
        auto find = [&](auto &function, const std::string &symbol) {
            void *found = dlsym(library, ("scipy_" + symbol).c_str());
            if (!found) found = dlsym(library, symbol.c_str());
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
            if (!found) problem += (problem.empty() ? path + " lacks " : ", ") + symbol;
        };
        const char *(*get_config)() = nullptr;
        void (*set_num_threads)(int) = nullptr;
        find(get_config, "openblas_get_config");
        find(set_num_threads, "openblas_set_num_threads");
        find(table.dgeqrf, "dgeqrf_");
        find(table.dormqr, "dormqr_");
        find(table.dsytrf, "dsytrf_");
        find(table.dgesdd, "dgesdd_");
        find(table.dgelsy, "dgelsy_");
        find(table.dsyevd, "dsyevd_");
        find(table.dgeev, "dgeev_");
        find(table.sgeqrf, "sgeqrf_");
        find(table.sormqr, "sormqr_");
        find(table.ssytrf, "ssytrf_");
        find(table.sgesdd, "sgesdd_");
        find(table.sgelsy, "sgelsy_");
        find(table.ssyevd, "ssyevd_");
        find(table.sgeev, "sgeev_");
        find(table.zgetrf, "zgetrf_");
        find(table.zgetrs, "zgetrs_");
        find(table.zpotrf, "zpotrf_");
        find(table.zgeqrf, "zgeqrf_");
        find(table.zungqr, "zungqr_");
        find(table.zgesdd, "zgesdd_");
        find(table.zheevd, "zheevd_");
        find(table.zgeev, "zgeev_");
        if (!problem.empty()) return;
        if (std::strstr(get_config(), "USE64BITINT")) {
            problem = path + " takes integers of 64 bits; expected 32";
            return;
        }
        set_num_threads(1);                         // kernels divide batches among our own threads
        usable = std::atexit(wait_for_calls) == 0;  // runs before the destructors of libraries
    }
};

const Library &library() {
    static const auto *opened = new Library;  // never closed: plans keep its functions
    return *opened;
}

}  // namespace

const Lapack *lapack() { return library().usable ? &library().table : nullptr; }

bool enter_lapack() {
    process->lapack_calls++;
    if (exiting && !calls_inside) {
        process->lapack_calls--;
        return false;
    }
    ++calls_inside;
    return true;
}

void leave_lapack() {
    --calls_inside;
    process->lapack_calls--;
}

const char *lapack_path() { return library().usable ? library().path.c_str() : ""; }

const char *lapack_problem() {
    return named_library() && !library().problem.empty() ? library().problem.c_str() : nullptr;
}

}  // namespace infini::cpu
