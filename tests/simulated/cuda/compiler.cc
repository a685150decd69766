// The simulated NVRTC: compiles a kernel for the host, with the compiler that CXX names (else c++),
// into a library whose bytes are used as a cubin.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#define SIMULATED_EXPORT extern "C" __attribute__((visibility("default")))

extern char **environ;

namespace {

enum Result {
    kSuccess = 0,
    kOutOfMemory = 1,
    kProgramCreationFailure = 2,
    kInvalidInput = 3,
    kInvalidProgram = 4,
    kInvalidOption = 5,
    kCompilation = 6,
};

struct Program {
    std::string name, source, log, code;
    std::vector<std::pair<std::string, std::string>> headers;
    std::vector<std::string> expressions;
};

std::string own_folder() {
    Dl_info self;
    dladdr(reinterpret_cast<void *>(&own_folder), &self);
    std::string path = self.dli_fname;
    return path.substr(0, path.rfind('/'));
}

const char *variable(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

bool write_file(const std::string &path, const std::string &text) {
    FILE *file = fopen(path.c_str(), "wb");
    if (!file) return false;
    bool good = fwrite(text.data(), 1, text.size(), file) == text.size();
    return fclose(file) == 0 && good;
}

std::string read_file(const std::string &path) {
    std::string text;
    FILE *file = fopen(path.c_str(), "rb");
    if (!file) return text;
    char buffer[65536];
    while (size_t got = fread(buffer, 1, sizeof buffer, file)) text.append(buffer, got);
    fclose(file);
    return text;
}

std::string quoted(const std::string &text) {
    std::string result = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + "\"";
}

// The exit status; what it printed goes to `output`.
int run(const std::vector<std::string> &arguments, const std::string &output) {
    std::vector<char *> argv;
    for (const std::string &argument : arguments)
        argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    // Preloaded libraries must not be passed on to the compiler.
    std::vector<char *> environment;
    for (char **entry = environ; *entry; ++entry)
        if (strncmp(*entry, "LD_PRELOAD=", 11) != 0) environment.push_back(*entry);
    environment.push_back(nullptr);
    pid_t child = 0;
    int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        write_file(output, arguments[0] + ": " + strerror(failed) + "\n");
        return 127;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

// sm_90a -> 900
std::string architecture(const std::string &option) {
    size_t start = option.find_last_of('_');
    int number = start == std::string::npos ? 90 : atoi(option.c_str() + start + 1);
    return std::to_string(number * 10);
}

bool begins(const std::string &text, const char *with) { return text.rfind(with, 0) == 0; }

std::vector<std::string> command(const std::vector<std::string> &options,
                                 const std::string &folder) {
    std::vector<std::string> words = {
        variable("INFINI_SIMULATED_CXX", variable("CXX", "c++")),
#include "kernel_flags.inc"
    };
    std::string arch = "900";
    const bool portable =
        std::find(options.begin(), options.end(), "-DINFINI_PTX=0") != options.end();
    for (size_t i = 0; i < options.size(); ++i) {
        const std::string &option = options[i];
        if (begins(option, "-D") || begins(option, "-U") || begins(option, "-I"))
            words.push_back(option);
        else if (begins(option, "--define-macro="))
            words.push_back("-D" + option.substr(15));
        else if (option.find("gpu-architecture") != std::string::npos || begins(option, "-arch"))
            arch = architecture(option.find('=') == std::string::npos && i + 1 < options.size()
                                    ? options[++i]
                                    : option);
    }
    if (getenv("INFINI_SIMULATED_CHECK"))
        words.insert(words.end(),
                     {"-DINFINI_SIMULATED_CHECK", "-fsanitize=kernel-address,alignment", "--param",
                      "asan-instrumentation-with-call-threshold=0", "--param", "asan-globals=0",
                      "--param", "asan-stack=0"});
    for (const char *word = variable("INFINI_SIMULATED_FLAGS", ""); *word;) {
        size_t length = strcspn(word, " ");
        if (length) words.emplace_back(word, length);
        word += length + (word[length] == ' ');
    }
    // Compilers of other vendors do not define it.
    if (!portable) words.push_back("-D__CUDA_ARCH__=" + arch);
    words.insert(words.end(), {"-I" + folder, "-include", own_folder() + "/environment.h",
                               "-shared", "-nostartfiles", "-x", "c++", folder + "/kernel.cu", "-x",
                               "none", "-o", folder + "/kernel.so", "-lm"});
    return words;
}

void remove_folder(const std::string &folder, const Program &program) {
    for (const char *name : {"/kernel.cu", "/kernel.so", "/log"}) unlink((folder + name).c_str());
    for (auto &[name, text] : program.headers) unlink((folder + "/" + name).c_str());
    rmdir(folder.c_str());
}

Result compile(Program &program, const std::vector<std::string> &options) {
    std::string folder = std::string(variable("TMPDIR", "/tmp")) + "/simulated-nvrtc-XXXXXX";
    if (!mkdtemp(folder.data())) {
        program.log = "cannot make " + folder + ": " + strerror(errno);
        return kCompilation;
    }
    // Fibers switch, so names for reports are in the code itself. With INFINI_SIMULATED_KEEP the
    // source is kept for a debugger.
    bool keep = getenv("INFINI_SIMULATED_KEEP") != nullptr;
    std::string first = keep ? "" : "#line 1 " + quoted(program.name) + "\n";
    write_file(folder + "/kernel.cu", first + program.source +
                                          "\nextern \"C\" const char infini_simulated_name[] = " +
                                          quoted(program.name) + ";\n");
    for (auto &[name, text] : program.headers) write_file(folder + "/" + name, text);
    int status = run(command(options, folder), folder + "/log");
    program.log = read_file(folder + "/log");
    if (status == 0) program.code = read_file(folder + "/kernel.so");
    if (!keep) remove_folder(folder, program);
    return status == 0 ? kSuccess : kCompilation;
}

Result copy_out(const std::string &text, char *to) {
    memcpy(to, text.data(), text.size());
    return kSuccess;
}

}  // namespace

using nvrtcProgram = Program *;

SIMULATED_EXPORT int nvrtcVersion(int *major, int *minor) {
    *major = 12;
    *minor = 9;
    return kSuccess;
}

SIMULATED_EXPORT const char *nvrtcGetErrorString(int result) {
    switch (result) {
        case kSuccess:
            return "NVRTC_SUCCESS";
        case kInvalidInput:
            return "NVRTC_ERROR_INVALID_INPUT";
        case kInvalidProgram:
            return "NVRTC_ERROR_INVALID_PROGRAM";
        case kCompilation:
            return "NVRTC_ERROR_COMPILATION";
        default:
            return "NVRTC_ERROR";
    }
}

SIMULATED_EXPORT int nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name,
                                        int headers, const char *const *texts,
                                        const char *const *names) {
    if (!program || !source) return kInvalidInput;
    *program = new Program;
    (*program)->source = source;
    (*program)->name = name ? name : "default_program";
    for (int i = 0; i < headers; ++i) (*program)->headers.emplace_back(names[i], texts[i]);
    return kSuccess;
}

SIMULATED_EXPORT int nvrtcDestroyProgram(nvrtcProgram *program) {
    if (!program || !*program) return kInvalidProgram;
    delete *program;
    *program = nullptr;
    return kSuccess;
}

SIMULATED_EXPORT int nvrtcCompileProgram(nvrtcProgram program, int count,
                                         const char *const *options) {
    if (!program) return kInvalidProgram;
    return compile(*program, std::vector<std::string>(options, options + count));
}

SIMULATED_EXPORT int nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes) {
    *bytes = program->log.size() + 1;
    return kSuccess;
}
SIMULATED_EXPORT int nvrtcGetProgramLog(nvrtcProgram program, char *log) {
    memcpy(log, program->log.c_str(), program->log.size() + 1);
    return kSuccess;
}

SIMULATED_EXPORT int nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) {
    *bytes = program->code.size();
    return kSuccess;
}
SIMULATED_EXPORT int nvrtcGetCUBIN(nvrtcProgram program, char *code) {
    return copy_out(program->code, code);
}
// The same bytes are used as PTX, too.
SIMULATED_EXPORT int nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes) {
    return nvrtcGetCUBINSize(program, bytes);
}
SIMULATED_EXPORT int nvrtcGetPTX(nvrtcProgram program, char *code) {
    return copy_out(program->code, code);
}

// Kernels have plain C names.
SIMULATED_EXPORT int nvrtcAddNameExpression(nvrtcProgram program, const char *expression) {
    program->expressions.emplace_back(expression);
    return kSuccess;
}
SIMULATED_EXPORT int nvrtcGetLoweredName(nvrtcProgram, const char *expression, const char **name) {
    *name = expression;
    return kSuccess;
}

SIMULATED_EXPORT int nvrtcGetNumSupportedArchs(int *count) {
    *count = 1;
    return kSuccess;
}
SIMULATED_EXPORT int nvrtcGetSupportedArchs(int *architectures) {
    *architectures = 90;
    return kSuccess;
}
