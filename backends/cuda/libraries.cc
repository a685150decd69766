#include "libraries.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/device_reset.h"
#include "runtime/vendor_call.h"
#include "vendor.h"

namespace infini::cuda {
namespace {

const InfiniHost *offered = nullptr;

struct Opened {
    std::once_flag once;
    void *handle = nullptr;
    std::string path, problem;
};

// Leaked: other threads may still call while the process exits.
Opened &slot(Part part) {
    static auto *all = new Opened[kPartCount];
    return all[static_cast<int>(part)];
}

const VendorLibrary &library(Part part) { return vendor.libraries[static_cast<int>(part)]; }

// The folders named by the user, which are then the only ones to be searched.
std::string variable() {
    std::string name = "INFINI_";
    for (const char *c = vendor.kind; *c; ++c) name += char(toupper(*c));
    return name + "_LIBRARIES";
}

bool is_restricted() {
    const char *only = getenv(variable().c_str());
    return only && *only;
}

std::vector<std::string> split(const char *text) {
    std::vector<std::string> parts(1);
    for (; *text; ++text)
        if (*text == ':')
            parts.emplace_back();
        else
            parts.back() += *text;
    std::erase(parts, "");
    return parts;
}

std::vector<std::string> matches(const std::string &pattern) {
    std::vector<std::string> paths;
    glob_t found{};
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
        paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    return paths;
}

std::string folder_of(const std::string &path) { return path.substr(0, path.rfind('/')); }

std::string real(const char *path) {
    char *resolved = realpath(path, nullptr);
    std::string text = resolved ? resolved : path;
    free(resolved);
    return text;
}

// Folders to search for libraries that the loader does not find by itself.
std::vector<std::string> folders() {
    std::vector<std::string> result;
    auto add = [&](const std::string &pattern) {
        for (const std::string &path : matches(pattern)) result.push_back(path);
    };
    for (auto place = vendor.toolkit_paths; place && *place; ++place) {
        const char *root = **place == '/' ? *place : getenv(*place);
        if (!root || !*root) continue;
        for (auto folder = vendor.folders; folder && *folder; ++folder)
            add(std::string(root) + "/" + *folder);
    }
    // The vendor's wheels are installed next to our own package, some folders above this library.
    // Both the target of a link to the package and the link's own folder are searched.
    Dl_info self;
    if (dladdr(reinterpret_cast<void *>(&folder_of), &self) && self.dli_fname)
        for (const std::string &start : {std::string(self.dli_fname), real(self.dli_fname)}) {
            std::string folder = folder_of(start);
            for (int up = 0; up < 7 && !folder.empty(); ++up, folder = folder_of(folder))
                for (auto wheel = vendor.wheel_folders; wheel && *wheel; ++wheel)
                    add(folder + "/" + *wheel);
        }
    // A Conda environment: the libraries are next to the interpreter's.
    std::string program = real("/proc/self/exe");
    result.push_back(folder_of(folder_of(program)) + "/lib");
    return result;
}

// "libx.so.13" requires a driver that supports toolkit 13.
bool too_new(const VendorLibrary &library, const std::string &name) {
    if (library.toolkit_offset == kUnrelated) return false;
    size_t dot = name.rfind(".so.");
    int driver = driver_version();
    return driver > 0 && dot != std::string::npos &&
           atoi(name.c_str() + dot + 4) + library.toolkit_offset > driver / 1000;
}

// Libraries that it opens by their plain names must be loaded before: a name that is already loaded
// is found in any folder.
void open_companions(const VendorLibrary &library, const std::string &folder) {
    for (auto pattern = library.companions; pattern && *pattern; ++pattern)
        for (const std::string &path : matches(folder + "/" + *pattern))
            if (path.find(".alt.") == std::string::npos)
                dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

std::string path_of(void *handle, const std::string &otherwise) {
    char folder[4096] = "";
    if (otherwise.find('/') != std::string::npos) return otherwise;
    if (dlinfo(handle, RTLD_DI_ORIGIN, folder) == 0 && *folder)
        return std::string(folder) + "/" + otherwise;
    return otherwise;
}

bool open_one(Opened &opened, const VendorLibrary &library, const std::string &name, int flags) {
    size_t slash = name.rfind('/');
    if (slash != std::string::npos) {
        struct stat status;
        if (stat(name.c_str(), &status) != 0) return false;
        open_companions(library, name.substr(0, slash));
    }
    opened.handle = dlopen(name.c_str(), flags);
    if (!opened.handle) {
        const char *text = dlerror();
        if (slash != std::string::npos && text) opened.problem = text;
        return false;
    }
    opened.path = path_of(opened.handle, name);
    // Folders named by the user are used unchanged.
    const bool misplaced = !is_restricted() && foreign_word(opened.path.c_str());
    if (misplaced || (library.mark && !dlsym(opened.handle, library.mark))) {
        opened.problem = opened.path + " is another vendor's";
        dlclose(opened.handle);
        opened.handle = nullptr;
        return false;
    }
    if (slash == std::string::npos) open_companions(library, folder_of(opened.path));
    return true;
}

// The best name that this driver supports, in any folder; then the others.
bool search(Opened &opened, const VendorLibrary &library) {
    const char *only = getenv(variable().c_str());
    const bool restricted = is_restricted();
    std::vector<std::string> places = restricted ? split(only) : folders();
    for (bool all : {false, true}) {
        auto each = [&](auto visit) {
            for (auto name = library.names; name && *name; ++name)
                if (too_new(library, *name) == all && visit(std::string(*name))) return true;
            return false;
        };
        constexpr int kFlags = RTLD_NOW | RTLD_LOCAL;
        auto loaded = [&](const std::string &name) {
            return open_one(opened, library, name, kFlags | RTLD_NOLOAD);
        };
        auto plain = [&](const std::string &name) {
            return open_one(opened, library, name, kFlags);
        };
        auto placed = [&](const std::string &name) {
            for (const std::string &place : places)
                if (open_one(opened, library, place + "/" + name, kFlags)) return true;
            return false;
        };
        const bool anywhere = !restricted && !vendor.own_folders_only;
        if (anywhere && (each(loaded) || each(plain))) return true;
        if (each(placed)) return true;
    }
    return false;
}

std::string why_not(const Opened &opened, Part part) {
    const VendorLibrary &library = vendor.libraries[static_cast<int>(part)];
    if (!library.names || !*library.names)
        return std::string(vendor.vendor) + " has no such library";
    std::string text = std::string(library.use) + " (";
    for (auto name = library.names; *name; ++name)
        text += (name == library.names ? "" : ", ") + std::string(*name);
    text += ")";
    if (!opened.problem.empty()) return text + " cannot be opened: " + opened.problem;
    const char *only = getenv(variable().c_str());
    if (only && *only) return text + " is not in " + variable() + "=" + only;
    text += " was not found";
    if (!vendor.wheel_folders)
        return text + ": install the vendor's toolkit, or set " + variable() + " to its folder";
    if (part == Part::kDriver) return text + ": install the driver";
    return text + ": pip install infinicore[" + vendor.kind + "], or set " + variable() +
           " to its folder";
}

Opened &opened(Part part) {
    Opened &opened = slot(part);
    std::call_once(opened.once, [&] {
        if (search(opened, library(part)))
            opened.problem.clear();
        else
            opened.problem = why_not(opened, part);
    });
    return opened;
}

// Errors after which the process cannot use the device any more, and which are reported late.
std::string advice(Error code) {
    switch (code) {
        case infinirtErrorContextIsDestroyed:
        case infinirtErrorInvalidResourceHandle:
        case infinirtErrorDeviceUninitialized:
        case infinirtErrorInitializationError: {
            const std::string why = how_lost(chosen_device());
            return (why.empty() ? "" : "; ") + why;
        }
        case infinirtErrorIllegalAddress:
        case infinirtErrorLaunchTimeout:
        case infinirtErrorAssert:
        case infinirtErrorHardwareStackError:
        case infinirtErrorIllegalInstruction:
        case infinirtErrorMisalignedAddress:
        case infinirtErrorInvalidAddressSpace:
        case infinirtErrorInvalidPc:
        case infinirtErrorLaunchFailure:
            return "; a kernel that was started before may have done it, and every later call will "
                   "fail: start the process again";
        default:
            return "";
    }
}

int version_from(Part part, const char *word) {
    using Ask = int (*)(int *);
    auto ask = function<Ask>(part, word);
    int version = 0;
    return ask && ask(&version) == 0 ? version : 0;
}

}  // namespace

void *find(Part part, const char *word) {
    void *handle = opened(part).handle;
    if (!handle) return nullptr;
    bool renamed = false;
    for (auto rename = vendor.renames; rename && rename->word; ++rename)
        if (rename->part == part && std::string(rename->word) == word) {
            if (!rename->name) return nullptr;
            if (void *found = dlsym(handle, rename->name)) return found;
            renamed = true;
        }
    return renamed ? nullptr : dlsym(handle, (std::string(library(part).prefix) + word).c_str());
}

const char *problem(Part part) {
    const Opened &library = opened(part);
    return library.handle ? nullptr : library.problem.c_str();
}

const char *path(Part part) {
    const Opened &library = opened(part);
    return library.handle ? library.path.c_str() : nullptr;
}

bool hold(Part part, int toolkit) {
    const std::string number = ".so." + std::to_string(toolkit);
    if (const char *found = path(part); found && std::string(found).ends_with(number)) return true;
    for (auto name = library(part).names; name && *name; ++name) {
        const char *const names[] = {*name, nullptr};
        VendorLibrary one = library(part);
        one.names = names;
        Opened other;
        if (std::string(*name).ends_with(number) && !too_new(one, *name) && search(other, one))
            return true;
    }
    return false;
}

int runtime_version() {
    static const int version = version_from(Part::kRuntime, "RuntimeGetVersion");
    return version;
}

const char *foreign_word(const char *text) {
    for (auto word = vendor.foreign; word && *word; ++word)
        if (std::string(text).find(*word) != std::string::npos) return *word;
    return nullptr;
}

int driver_version() {
    static const int version = version_from(Part::kDriver, "DriverGetVersion");
    return version;
}

const InfiniHost *host() { return offered; }

void set_host(const InfiniHost *host) { offered = host; }

Error fail(Error code, const char *format, ...) {
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (offered) offered->explain(sentence);
    return code;
}

Error check(Part part, int code, const char *word) {
    if (code == 0) return infinirtSuccess;
    auto result = static_cast<Error>(code);
    const char *prefix = library(part).prefix;
    if (part == Part::kRuntime) {
        using Text = const char *(*)(int);
        using Clear = int (*)();
        static const auto name_of = function<Text>(Part::kRuntime, "GetErrorName");
        static const auto text_of = function<Text>(Part::kRuntime, "GetErrorString");
        static const auto clear = function<Clear>(Part::kRuntime, "GetLastError");
        if (clear) clear();
        if (result == infinirtErrorNotReady) return result;
        if (text_of)
            return fail(result, "%s%s returned %s: %s%s", prefix, word,
                        name_of ? name_of(code) : std::to_string(code).c_str(), text_of(code),
                        advice(result).c_str());
    } else if (part == Part::kDriver) {
        // The driver's error codes are equal to the runtime's where both have them.
        using Text = int (*)(int, const char **);
        static const auto name_of = function<Text>(Part::kDriver, "GetErrorName");
        static const auto text_of = function<Text>(Part::kDriver, "GetErrorString");
        const char *name = nullptr, *text = nullptr;
        if (name_of && text_of && name_of(code, &name) == 0 && text_of(code, &text) == 0)
            return fail(result, "%s%s returned %s: %s%s", prefix, word, name, text,
                        advice(result).c_str());
    }
    return fail(part == Part::kDriver || part == Part::kRuntime ? result : infinirtErrorUnknown,
                "%s%s returned %d", prefix, word, code);
}

namespace {

// Not by the core's function, which would record the device as the client's choice.
struct Current {
    int (*get)(int *) = function<int (*)(int *)>(Part::kRuntime, "GetDevice");
    int (*set)(int) = function<int (*)(int)>(Part::kRuntime, "SetDevice");

    // Returns the previous device, or -1 if unchanged.
    int change(int device) const {
        int before = -1;
        if (!get || !set) return -1;
        if (get(&before) != 0) before = -1;
        const unsigned now = count_resets() + 1;
        if (before == device && bound == now) [[likely]]
            return -1;
        if (set(device) == 0) bound = now;
        return before == device ? -1 : before;
    }

    // A thread has a device from its start, but driver functions work only after it was set once,
    // and again after a reset.
    static thread_local unsigned bound;  // 1 plus the number of resets
};

thread_local unsigned Current::bound = 0;

const Current &current() {
    static const Current functions;
    return functions;
}

}  // namespace

void use_device(int device) { current().change(device); }

void OutsideCapture::exchange() {
    using Exchange = int (*)(int *);
    static const auto call = function<Exchange>(Part::kRuntime, "ThreadExchangeStreamCaptureMode");
    if (call) call(&mode_);
}

bool is_capturing(int device, void *stream) {
    OnDevice here(device);
    infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
    const Error error =
        INFINI_CALL(StreamIsCapturing, static_cast<infinirtStream_t>(stream), &status);
    // The null stream cannot be queried while another one is being captured.
    return error != infinirtSuccess || status != infinirtStreamCaptureStatusNone;
}

OnDevice::OnDevice(int device) : before_(current().change(device)) {}

OnDevice::~OnDevice() {
    if (before_ >= 0) [[unlikely]]
        current().set(before_);
}

}  // namespace infini::cuda
