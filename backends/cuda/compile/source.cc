#include <cctype>
#include <cstring>
#include <set>

#include "../kernel.h"
#include "compiler.h"
#include "look_up.h"

namespace infini::cuda {
namespace {

const char *find_file(const std::string &name) {
    for (size_t i = 0; i < kDeviceFileCount; ++i)
        if (name == kDeviceFiles[i].name) return kDeviceFiles[i].text;
    return nullptr;
}

// The macro that selects a kernel of a file: INFINI_KERNEL_SCATTER_KEYS for index/scatter.cuh:keys.
std::string selector_of(const std::string &file, const std::string &kernel) {
    const size_t begin = file.rfind('/') + 1;
    std::string name = file.substr(begin, file.rfind('.') - begin) + "_" + kernel;
    for (char &c : name) c = char(std::toupper(static_cast<unsigned char>(c)));
    return "INFINI_KERNEL_" + name;
}

bool begins(const std::string &line, const char *with) { return line.rfind(with, 0) == 0; }

// Replaces #include by the file's text, each file once. A name is searched in the including file's
// folder, then in the root. A file with several kernels has each in an #ifdef of its selector:
// sections of other kernels, including their #includes, are left out.
class Flattener {
public:
    Flattener(std::string &out, const std::string &selector)
        : out_(out), selector_(selector.empty() ? "" : selector + ")") {}

    void add(const std::string &name) {
        if (!seen_.insert(name).second) return;
        const char *text = find_file(name);
        if (!text)
            throw Refusal{INFINI_STATUS_INTERNAL_ERROR,
                          "this build has no device code named " + name};
        add_text(text, name.substr(0, name.rfind('/') + 1));
    }

    void add_text(const char *text, const std::string &folder) {
        int left_out = 0;  // depth of conditions since the start of a skipped section
        while (*text) {
            const char *end = std::strchr(text, '\n');
            const size_t length = end ? size_t(end - text) + 1 : std::strlen(text);
            const std::string line(text, length);
            text += length;
            if (left_out)
                left_out += begins(line, "#if") - begins(line, "#endif");
            else if (is_other_kernel(line))
                left_out = 1;
            else
                add_line(line, folder);
        }
    }

private:
    // Whether a line begins the section of kernels that are not requested.
    bool is_other_kernel(std::string line) const {
        if (begins(line, "#ifdef INFINI_KERNEL_")) {
            line.pop_back();
            line += ")";
        } else if (!begins(line, "#if defined(INFINI_KERNEL_")) {
            return false;
        }
        return selector_.empty() || line.find(selector_) == std::string::npos;
    }

    void add_line(const std::string &line, const std::string &folder) {
        constexpr char kInclude[] = "#include \"";
        if (begins(line, "#pragma once")) return;
        if (!begins(line, kInclude)) {
            out_ += line;
            return;
        }
        const size_t begin = sizeof kInclude - 1, end = line.find('"', begin);
        const std::string name = line.substr(begin, end - begin);
        add(find_file(folder + name) ? folder + name : name);
    }

    std::string &out_;
    const std::string selector_;  // with a parenthesis, where it ends
    std::set<std::string> seen_;
};

}  // namespace

Source &Source::type(const char *name, int dtype) { return type(name, device_type(dtype)); }

Source &Source::type(const char *name, const std::string &type) {
    return line("using " + std::string(name) + " = " + type + ";");
}

Source &Source::constant(const char *name, int64_t value) {
    // An int if it fits, so that device code can mix it with ints.
    const bool fits = value == int32_t(value);
    return line(std::string("constexpr ") + (fits ? "int " : "int64_t ") + name + " = " +
                std::to_string(value) + (fits ? ";" : "ll;"));
}

Source &Source::line(const std::string &text) {
    lines_ += text;
    lines_ += '\n';
    return *this;
}

Source &Source::include(const char *file) {
    return line("}\n#include \"" + std::string(file) + "\"\nnamespace infini {");
}

Source &Source::architecture_specific() {
    specific_ = true;
    return *this;
}

std::string Source::text() const {
    const size_t colon = file_.find(':');
    const std::string file = file_.substr(0, colon);
    std::string result, selector;
    if (colon != std::string::npos) {
        selector = selector_of(file, file_.substr(colon + 1));
        result = "#define " + selector + "\n";
    }
    Flattener flattener(result, selector);
    flattener.add("prelude.cuh");
    flattener.add_text(("namespace infini {\n" + lines_ + "}\n").c_str(), "");
    flattener.add(file);
    return result;
}

const char *bytes_type(size_t bytes) {
    switch (bytes) {
        case 1:
            return "uint8_t";
        case 2:
            return "uint16_t";
        case 4:
            return "uint32_t";
        case 8:
            return "uint64_t";
        default:
            return "bytes16";
    }
}

const char *device_type(int dtype) {
    static constexpr std::pair<int, const char *> kTypes[] = {
        {INFINI_DTYPE_BOOL, "boolean"}, {INFINI_DTYPE_I8, "int8_t"},
        {INFINI_DTYPE_I16, "int16_t"},  {INFINI_DTYPE_I32, "int32_t"},
        {INFINI_DTYPE_I64, "int64_t"},  {INFINI_DTYPE_F8, "f8"},
        {INFINI_DTYPE_F16, "f16"},      {INFINI_DTYPE_BF16, "bf16"},
        {INFINI_DTYPE_F32, "float"},    {INFINI_DTYPE_F64, "double"}};
    return look_up(kTypes, dtype, bytes_type(dtype_bytes(dtype)));
}

size_t dtype_bytes(int dtype) { return infiniSizeOf(static_cast<infiniDtype_t>(dtype)); }

std::string Key::hex() const {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (uint64_t word : {high, low})
        for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[word >> shift & 15];
    return text;
}

// FNV-1a over 128 bits.
Key key_of(const std::string &text) {
    using Wide = unsigned __int128;
    constexpr Wide kPrime = (Wide(0x1000000) << 64) | 0x13b;
    Wide hash = (Wide(0x6c62272e07bb0142) << 64) | 0x62b821756295c58d;
    for (unsigned char c : text) hash = (hash ^ c) * kPrime;
    return {uint64_t(hash >> 64), uint64_t(hash)};
}

}  // namespace infini::cuda
