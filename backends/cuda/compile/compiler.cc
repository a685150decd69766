#include "compiler.h"

#include <cstdio>
#include <cstdlib>

#include "../vendor.h"
#include "environment.h"

namespace infini::cuda {
namespace {

// The compiler's functions. Their signatures are those of NVRTC, whatever the prefix.
struct Compiler {
    using Program = void *;
    int (*version)(int *, int *) = nullptr;
    int (*create)(Program *, const char *, const char *, int, const char *const *,
                  const char *const *) = nullptr;
    int (*compile)(Program, int, const char *const *) = nullptr;
    int (*log_size)(Program, size_t *) = nullptr;
    int (*log)(Program, char *) = nullptr;
    int (*code_size)(Program, size_t *) = nullptr;
    int (*code)(Program, char *) = nullptr;
    int (*destroy)(Program *) = nullptr;
    int number = 0;    // version number: 12040 is 12.4
    std::string name;  // includes the version: part of the cache key

    static const Compiler &get() {
        static const auto &compiler = *new Compiler;  // see Cache::get
        return compiler;
    }
    bool is_there() const { return code; }

private:
    Compiler() {
        constexpr Part kPart = Part::kCompiler;
        version = function<decltype(version)>(kPart, "Version");
        create = function<decltype(create)>(kPart, "CreateProgram");
        compile = function<decltype(compile)>(kPart, "CompileProgram");
        log_size = function<decltype(log_size)>(kPart, "GetProgramLogSize");
        log = function<decltype(log)>(kPart, "GetProgramLog");
        code_size = function<decltype(code_size)>(kPart, "GetCUBINSize");
        destroy = function<decltype(destroy)>(kPart, "DestroyProgram");
        int major = 0, minor = 0;
        if (version) version(&major, &minor);
        number = major * 1000 + minor * 10;
        name = std::string(vendor.libraries[int(kPart)].prefix) + " " + std::to_string(major) +
               "." + std::to_string(minor);
        if (create && compile && log_size && log && code_size && destroy)
            code = function<decltype(code)>(kPart, "GetCUBIN");
    }
};

std::vector<std::string> options_for(const Source &source, const Device &device) {
    const char *format = source.is_architecture_specific() && vendor.architecture_special
                             ? vendor.architecture_special
                             : vendor.architecture;
    std::vector<std::string> options;
    if (format) {
        char architecture[64];
        snprintf(architecture, sizeof architecture, format, device.major, device.minor);
        options.push_back(architecture);
    }
    const CompileOption *option = vendor.compile_options;
    for (; option && option->text; ++option)
        if (Compiler::get().number >= option->since) options.push_back(option->text);
    options.push_back("-DINFINI_WARP=" + std::to_string(device.warp));
    if (!vendor.has_ptx) options.push_back("-DINFINI_PTX=0");
    if (device.has_lane_groups) options.push_back("-DINFINI_LANE_GROUPS=1");
    return options;
}

// The vendor's command for a source, when it is compiled before the program runs.
std::string offline_command(const std::string &name, const std::vector<std::string> &options) {
    std::string command = vendor.offline_command;
    auto put = [&](const std::string &place, const std::string &text) {
        for (size_t at; (at = command.find(place)) != std::string::npos;)
            command.replace(at, place.size(), text);
    };
    for (const std::string &option : options)
        if (option.rfind("-D", 0) == 0) command += " " + option;
    put("{source}", name + ".cu");
    put("{image}", name + ".image");
    return command;
}

// INFINI_CUDA_DUMP names a folder: every source that is compiled, or found in the cache, is written
// there with the compiler's options, for inspection or manual compilation.
void dump(const std::string &name, const std::string &text,
          const std::vector<std::string> &options) {
    static const char *const folder = std::getenv("INFINI_CUDA_DUMP");
    if (!folder || !*folder) return;
    const std::string path = std::string(folder) + "/" + name + ".cu";
    if (FILE *file = fopen(path.c_str(), "w")) {
        fputs("// options:", file);
        for (const std::string &option : options) fprintf(file, " %s", option.c_str());
        fputs("\n", file);
        if (vendor.offline_command)
            fprintf(file, "// compile: %s\n", offline_command(name, options).c_str());
        fwrite(text.data(), 1, text.size(), file);
        fclose(file);
    } else {
        warn_of_setting("INFINI_CUDA_DUMP",
                        ignored_setting("INFINI_CUDA_DUMP", "a folder that can be written to"));
    }
}

[[noreturn]] void refuse(const Source &source, const std::string &log) {
    throw Refusal{INFINI_STATUS_INTERNAL_ERROR,
                  "the kernel " + source.file() + " does not compile: " + log.substr(0, 4000)};
}

std::vector<char> compile(const Compiler &compiler, const Source &source, const std::string &text,
                          const std::vector<std::string> &options) {
    struct Program {
        const Compiler &compiler;
        Compiler::Program handle = nullptr;
        ~Program() {
            if (handle) compiler.destroy(&handle);
        }
    } program{compiler};
    if (compiler.create(&program.handle, text.c_str(), source.file().c_str(), 0, nullptr, nullptr))
        refuse(source, "the compiler takes no more programs");
    std::vector<const char *> words;
    for (const std::string &option : options) words.push_back(option.c_str());
    if (compiler.compile(program.handle, int(words.size()), words.data())) {
        size_t size = 0;
        compiler.log_size(program.handle, &size);
        std::string log(size, '\0');
        if (size) compiler.log(program.handle, log.data());
        refuse(source, log.empty() ? "the compiler gave no reason" : log.c_str());
    }
    size_t size = 0;
    std::vector<char> code;
    if (!compiler.code_size(program.handle, &size)) code.resize(size);
    if (code.empty() || compiler.code(program.handle, code.data()))
        refuse(source, "the compiler made no code");
    return code;
}

}  // namespace

Compilation::Compilation(const Source &source, const Device &device)
    : source(source), text(source.text()), options(options_for(source, device)) {
    std::string all = Compiler::get().name + "\n";
    for (const std::string &option : options) all += option + "\n";
    // Without an architecture option, the compiler targets the device that it finds.
    if (!vendor.architecture) all += device.name + "\n";
    key = key_of(all + text);
    dump(name(), text, options);
}

std::string Compilation::name() const {
    std::string name = source.file();
    for (char &c : name)
        if (c == '/' || c == '.' || c == ':') c = '_';
    return name + "-" + key.hex();
}

std::vector<char> Compilation::make() const {
    const Compiler &compiler = Compiler::get();
    if (!compiler.is_there()) {
        const char *why = problem(Part::kCompiler);
        std::string sentence = why ? why : "the run-time compiler lacks functions that are needed";
        if (vendor.offline_command)
            sentence += std::string("; `infini build-kernels --device ") + vendor.kind +
                        "` writes the sources of kernels and the vendor's command that compiles "
                        "them, and INFINI_KERNEL_IMAGES names the folder of what it made (" +
                        name() + ".image is not there)";
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, sentence};
    }
    std::vector<char> code = compile(compiler, source, text, options);
    Cache::get().store(key, code);
    return code;
}

bool Compilation::load_image(std::vector<char> &code) const {
    static const char *const folder = std::getenv("INFINI_KERNEL_IMAGES");
    if (!folder || !*folder) return false;
    FILE *file = fopen((std::string(folder) + "/" + name() + ".image").c_str(), "rb");
    if (!file) return false;
    char part[65536];
    while (const size_t got = fread(part, 1, sizeof part, file))
        code.insert(code.end(), part, part + got);
    fclose(file);
    return !code.empty();
}

}  // namespace infini::cuda
