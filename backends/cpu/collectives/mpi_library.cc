#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "mpi_process.h"

namespace infini::cpu::collectives {
namespace {

constexpr const char *kStandardNames[] = {"libmpi_abi.so.1", "libmpi_abi.so.0"};
constexpr const char *kMpichNames[] = {"libmpi.so.12", "libmpich.so.12"};
constexpr const char *kOpenMpiNames[] = {"libmpi.so.40"};

std::string setting(const char *name) {
    const char *value = std::getenv(name);
    return value ? value : "";
}

// Its launcher speaks PMIx; MPICH's speaks PMI.
bool is_launched_by_open_mpi() {
    return !setting("OMPI_COMM_WORLD_SIZE").empty() ||
           (!setting("PMIX_RANK").empty() && setting("PMI_RANK").empty());
}

// Under a launcher, only the MPI library of the same kind finds the other ranks.
std::vector<std::string> names_in_order() {
    std::vector<std::string> names(std::begin(kStandardNames), std::end(kStandardNames));
    names.insert(names.end(), std::begin(kMpichNames), std::end(kMpichNames));
    names.insert(is_launched_by_open_mpi() ? names.begin() : names.end(), std::begin(kOpenMpiNames),
                 std::end(kOpenMpiNames));
    return names;
}

// pip puts MPI's libraries into lib/ of the environment that we are installed in; others are next
// to the launcher on the PATH.
std::vector<std::string> folders() {
    std::vector<std::string> found = {""};  // the system's search path
    Dl_info info;
    if (dladdr(reinterpret_cast<const void *>(&folders), &info) && info.dli_fname) {
        const std::string path = info.dli_fname;
        const size_t packages = path.rfind("/site-packages/");
        const size_t python =
            packages == std::string::npos ? packages : path.rfind('/', packages - 1);
        if (python != std::string::npos) found.push_back(path.substr(0, python + 1));
    }
    const std::string search = setting("PATH") + ":";
    for (size_t at = 0, end; (end = search.find(':', at)) != std::string::npos; at = end + 1) {
        const std::string folder = search.substr(at, end - at);
        if (folder.starts_with('/') && access((folder + "/mpiexec").c_str(), X_OK) == 0)
            found.push_back(folder + "/../lib/");
    }
    return found;
}

bool is_initialized(void *library) {
    auto ask = reinterpret_cast<int (*)(int *)>(dlsym(library, "MPI_Initialized"));
    int answer = 0;
    return ask && ask(&answer) == 0 && answer;
}

std::string file_of(void *library) {
    link_map *file = nullptr;
    return dlinfo(library, RTLD_DI_LINKMAP, &file) == 0 && file ? file->l_name : "";
}

// The name of another MPI library that the program has initialized; empty: none.
std::string started_instead_of(void *library) {
    std::string other;
    for (const std::string &name : names_in_order())
        if (void *loaded = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
            if (other.empty() && loaded != library && is_initialized(loaded))
                other = file_of(loaded);
            dlclose(loaded);
        }
    return other;
}

// Open MPI's plug-ins look up its symbols globally in the process.
void *open_file(const std::string &path) {
    const bool is_open_mpi = path.find(kOpenMpiNames[0]) != std::string::npos;
    return dlopen(path.c_str(), RTLD_NOW | (is_open_mpi ? RTLD_GLOBAL : RTLD_LOCAL));
}

void *open_any() {
    const std::vector<std::string> names = names_in_order();
    // The library that the program uses comes first: a process can have only one MPI.
    for (const std::string &name : names)
        if (void *loaded = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
            if (is_initialized(loaded)) return loaded;
            dlclose(loaded);
        }
    const std::vector<std::string> places = folders();
    for (const std::string &name : names)
        for (const std::string &folder : places)
            if (void *loaded = open_file(folder + name)) return loaded;
    return nullptr;
}

}  // namespace

bool mpi_is_launched() {
    for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
        if (!setting(name).empty()) return true;
    return false;
}

bool mpi_is_initialized() {
    for (const std::string &name : names_in_order())
        if (void *loaded = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
            const bool answer = is_initialized(loaded);
            dlclose(loaded);
            if (answer) return true;
        }
    return false;
}

int mpi_launched_processes() {
    for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
        if (const int count = std::atoi(setting(name).c_str()); count > 0) return count;
    return 0;
}

int mpi_processes_of_this_host() {
    for (const char *name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
        if (const int count = std::atoi(setting(name).c_str()); count > 0) return count;
    return 0;
}

bool MpiLibrary::open(std::string *problem) {
    const std::string chosen = setting("INFINI_MPI_LIBRARY");
    library_ = chosen.empty() ? open_any() : open_file(chosen);
    if (!library_) {
        const char *reason = dlerror();
        *problem =
            chosen.empty()
                ? "no MPI library was found: pip install mpich, or name one in INFINI_MPI_LIBRARY"
                : "INFINI_MPI_LIBRARY cannot be opened: " +
                      std::string(reason ? reason : chosen.c_str());
        return false;
    }
    name = file_of(library_);
    // A process can have only one MPI.
    const std::string other = is_initialized(library_) ? "" : started_instead_of(library_);
    if (!other.empty()) {
        *problem = "INFINI_MPI_LIBRARY is " + chosen + ", but the program has started " + other +
                   ": name that one, or leave it out";
        return false;
    }
    return find_functions(problem) && find_constants(problem);
}

bool MpiLibrary::find_functions(std::string *problem) {
    std::string missing;
    auto find = [&](auto &function, const char *what) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library_, what));
        if (!function) missing += std::string(missing.empty() ? "" : ", ") + what;
    };
    find(Initialized, "MPI_Initialized");
    find(Finalized, "MPI_Finalized");
    find(Init_thread, "MPI_Init_thread");
    find(Query_thread, "MPI_Query_thread");
    find(Finalize, "MPI_Finalize");
    find(Comm_rank, "MPI_Comm_rank");
    find(Comm_size, "MPI_Comm_size");
    find(Comm_dup, "MPI_Comm_dup");
    find(Comm_get_attr, "MPI_Comm_get_attr");
    find(Comm_set_errhandler, "MPI_Comm_set_errhandler");
    find(Isend, "MPI_Isend");
    find(Irecv, "MPI_Irecv");
    find(Improbe, "MPI_Improbe");
    find(Mrecv, "MPI_Mrecv");
    find(Test, "MPI_Test");
    find(Get_count, "MPI_Get_count");
    find(Cancel, "MPI_Cancel");
    find(Request_free, "MPI_Request_free");
    find(Error_string, "MPI_Error_string");
    if (!missing.empty()) *problem = name + " lacks " + missing;
    return missing.empty();
}

bool MpiLibrary::find_constants(std::string *problem) {
    auto number = [](uintptr_t value) { return reinterpret_cast<Handle>(value); };
    auto abi_version =
        reinterpret_cast<int (*)(int *, int *)>(dlsym(library_, "MPI_Abi_get_version"));
    auto library_version =
        reinterpret_cast<int (*)(char *, int *)>(dlsym(library_, "MPI_Get_library_version"));
    if (void *open_mpi_world = dlsym(library_, "ompi_mpi_comm_world")) {
        world = open_mpi_world;
        self = dlsym(library_, "ompi_mpi_comm_self");
        byte = dlsym(library_, "ompi_mpi_byte");
        errors_return = dlsym(library_, "ompi_mpi_errors_return");
        null_request = dlsym(library_, "ompi_request_null");
        return true;
    }
    int major = -1, minor = -1;
    if (abi_version && abi_version(&major, &minor) == 0 && major >= 1) {
        world = number(0x101);
        self = number(0x102);
        byte = number(0x247);
        errors_return = number(0x143);
        null_request = number(0x180);
        tag_limit_key = 501;
        serialized = 2048;
        multiple = 4096;
        return true;
    }
    std::vector<char> text(16384);
    int length = 0;
    if (library_version && library_version(text.data(), &length) == 0) {
        const std::string_view version(text.data());
        if (version.find("MPICH") != version.npos || version.find("Intel") != version.npos) {
            world = number(0x44000000);
            self = number(0x44000001);
            byte = number(0x4c00010d);
            errors_return = number(0x54000001);
            null_request = number(0x2c000000);
            status_ignore = number(1);
            any_source = -2;
            tag_limit_key = 0x64400001;
            return true;
        }
    }
    *problem = name + " has neither MPI's standard ABI nor that of MPICH or Open MPI";
    return false;
}

std::string MpiLibrary::error_text(int code) const {
    std::vector<char> text(16384);
    int length = 0;
    if (Error_string(code, text.data(), &length) != 0) return "error " + std::to_string(code);
    std::replace(text.begin(), text.end(), '\n', ' ');
    return std::string(text.data()).substr(0, 200);
}

}  // namespace infini::cpu::collectives
