#include "library.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace infini::vendor_runtime {
namespace {

const InfiniHost *offered;

std::vector<std::string> split(const char *text, char at) {
    std::vector<std::string> parts;
    std::string rest = text ? text : "";
    while (!rest.empty()) {
        const size_t end = std::min(rest.find(at), rest.size());
        if (end) parts.push_back(rest.substr(0, end));
        rest.erase(0, end + 1);
    }
    return parts;
}

std::string variable() {
    std::string kind = vendor.kind;
    for (char &c : kind) c = char(std::toupper(c));
    return "INFINI_" + kind + "_LIBRARIES";
}

// Folders to search; empty: the dynamic linker's search path.
std::vector<std::string> folders() {
    if (const char *only = getenv(variable().c_str()); only && *only) return split(only, ':');
    std::vector<std::string> roots, all;
    for (const std::string &name : split(vendor.environment, '|'))
        if (const char *value = getenv(name.c_str()); value && *value) roots.push_back(value);
    for (const std::string &root : split(vendor.roots, '|')) roots.push_back(root);
    for (const std::string &root : roots)
        for (const std::string &folder : split(vendor.folders, '|'))
            all.push_back(root + "/" + folder);
    all.push_back("");
    return all;
}

struct Opened {
    std::once_flag once;
    std::vector<void *> handles;  // the library, then its companions
    std::string path, problem;
};

void *open_file(const std::string &folder, const std::string &name, bool global,
                std::string *trouble) {
    const std::string path = folder.empty() ? name : folder + "/" + name;
    struct stat status;
    if (!folder.empty() && stat(path.c_str(), &status) != 0) return nullptr;
    void *handle = dlopen(path.c_str(), RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (const char *text = handle ? nullptr : dlerror(); text && !folder.empty()) *trouble = text;
    return handle;
}

void open(const Library &library, Opened &opened) {
    std::string trouble;
    for (const std::string &folder : folders())
        for (const std::string &name : split(library.names, '|')) {
            std::vector<void *> companions;
            for (const std::string &other : split(library.companions, '|'))
                if (void *handle = open_file(folder, other, library.global, &trouble))
                    companions.push_back(handle);
            void *handle = open_file(folder, name, library.global, &trouble);
            if (handle && library.telling && !dlsym(handle, library.telling)) {
                trouble =
                    name + " in " + folder + " is another vendor's: it has no " + library.telling;
                continue;
            }
            if (!handle) continue;
            if (companions.empty())  // they may need the library itself
                for (const std::string &other : split(library.companions, '|'))
                    if (void *found = open_file(folder, other, library.global, &trouble))
                        companions.push_back(found);
            opened.handles = {handle};
            opened.handles.insert(opened.handles.end(), companions.begin(), companions.end());
            opened.path = folder.empty() ? name : folder + "/" + name;
            return;
        }
    std::string names = library.names ? library.names : "";
    for (size_t at; (at = names.find('|')) != std::string::npos;) names.replace(at, 1, ", ");
    opened.problem = std::string(library.use) + " (" + names + ")";
    const char *only = getenv(variable().c_str());
    if (!trouble.empty())
        opened.problem += " cannot be opened: " + trouble;
    else if (only && *only)
        opened.problem += " is not in " + variable() + "=" + only;
    else
        opened.problem += " was not found: install it, or set " + variable() + " to its folder";
}

Part part_of(Word word) { return word < Word::kGetUniqueId ? Part::kRuntime : Part::kCollectives; }

struct Found {
    const Row *row = nullptr;
    std::string name;  // the one that the library exports
    void *address = nullptr;
};

Opened &library_of(Part part);

// All rows of a part, and the missing functions.
struct Functions {
    Found found[int(Word::kCount)];
    std::string missing[int(Part::kCount)];

    Functions() {
        for (int i = 0; i < vendor.row_count; ++i) {
            const Row &row = vendor.rows[i];
            const Part part = part_of(row.word);
            Found &entry = found[int(row.word)];
            entry.row = &row;
            for (const std::string &name : split(row.names, '|')) {
                if (entry.address) break;
                entry.address = find(part, name.c_str());
                entry.name = name;
            }
            if (entry.address || !row.required || library_of(part).handles.empty()) continue;
            std::string &text = missing[int(part)];
            text += (text.empty() ? library_of(part).path + " lacks " : ", ") + entry.name;
        }
    }
};

const Functions &functions() {
    static const Functions &once = *new Functions;  // leaked: threads may call at exit
    return once;
}

Opened &library_of(Part part) {
    static auto *all = new Opened[size_t(Part::kCount)];
    Opened &opened = all[int(part)];
    std::call_once(opened.once, [&] { open(vendor.libraries[int(part)], opened); });
    return opened;
}

const Found &found(Word word) { return functions().found[int(word)]; }

uintptr_t value_of(Arg argument, const Row &row, const Values &v) {
    auto word = [](const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); };
    auto number = [](int value) { return uintptr_t(intptr_t(value)); };
    switch (argument) {
        case Arg::kEnd:
        case Arg::kZero:
            return 0;
        case Arg::kConstant:
            return uintptr_t(row.constant);
        case Arg::kOut:
            return word(v.out);
        case Arg::kOut2:
            return word(v.out2);
        case Arg::kDst:
            return word(v.dst);
        case Arg::kSrc:
            return word(v.src);
        case Arg::kBytes:
            return v.bytes;
        case Arg::kDirection:
            return number(v.direction);
        case Arg::kStream:
            return word(v.stream);
        case Arg::kEvent:
            return word(v.event);
        case Arg::kEvent2:
            return word(v.event2);
        case Arg::kDevice:
            return number(v.device);
        case Arg::kDevice2:
            return number(v.device2);
        case Arg::kValue:
            return number(v.value);
        case Arg::kCount:
            return v.count;
        case Arg::kType:
            return number(v.type);
        case Arg::kOp:
            return number(v.op);
        case Arg::kRoot:
            return number(v.root);
        case Arg::kCommunicator:
            return word(v.communicator);
        case Arg::kRank:
            return number(v.rank);
        case Arg::kRanks:
            return number(v.ranks);
        case Arg::kId:
            return word(v.id);
        case Arg::kDeviceList:
            return word(v.devices);
        case Arg::kRankList:
            return word(v.rank_list);
    }
    return 0;
}

}  // namespace

const std::string &problem(Part part) {
    const Opened &opened = library_of(part);
    return opened.handles.empty() ? opened.problem : functions().missing[int(part)];
}

const std::string &path(Part part) { return library_of(part).path; }

void *find(Part part, const char *symbol) {
    for (void *handle : library_of(part).handles)
        if (void *address = dlsym(handle, symbol)) return address;
    return nullptr;
}

bool has(Word word) { return found(word).address; }

const char *name_of(Word word) { return found(word).name.c_str(); }

int call(Word word, const Values &values) {
    const Found &entry = found(word);
    uintptr_t a[Row::kMostArguments] = {};
    for (int i = 0; i < Row::kMostArguments; ++i) {
        if (entry.row->arguments[i] == Arg::kEnd) break;
        a[i] = value_of(entry.row->arguments[i], *entry.row, values);
    }
    // Extra argument words beyond the function's parameters are ignored.
    using Any = int (*)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                        uintptr_t);
    return reinterpret_cast<Any>(entry.address)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
}

Error check(Word word, const Values &values) {
    if (!has(word))
        return explain(infinirtErrorNotSupported,
                       std::string(vendor.name) + " has no function for this");
    const int code = call(word, values);
    return code == 0 ? infinirtSuccess : fail_call(code, found(word).name.c_str());
}

Error fail_call(int code, const char *symbol) {
    Error error = infinirtErrorUnknown;
    for (const Number &known : vendor.errors)
        if (known.from == code) error = Error(known.to);
    const std::string text = vendor.error_text ? vendor.error_text(code) : "";
    return explain(error, std::string(symbol) + " returned " + std::to_string(code) +
                              (text.empty() ? "" : ": " + text));
}

Error query(Word word, Values values) {
    const Row &row = *found(word).row;
    const bool by_status = std::find(std::begin(row.arguments), std::end(row.arguments),
                                     Arg::kOut) != std::end(row.arguments);
    int status = int(row.constant);
    values.out = &status;
    const int code = call(word, values);
    if (code == 0)
        return by_status && status != row.constant ? infinirtErrorNotReady : infinirtSuccess;
    const auto &pending = vendor.pending;
    if (vendor.any_code_is_pending ||
        std::find(pending.begin(), pending.end(), code) != pending.end())
        return infinirtErrorNotReady;
    return fail_call(code, found(word).name.c_str());
}

const InfiniHost *host() { return offered; }

void set_host(const InfiniHost *host) { offered = host; }

namespace {
std::string &sentence_of_thread() {
    static thread_local std::string sentence;
    return sentence;
}
thread_local Error error_of_thread = infinirtSuccess;
}  // namespace

const std::string &last_sentence() { return sentence_of_thread(); }
Error last_error() { return error_of_thread; }

Error explain(Error error, const std::string &sentence) {
    error_of_thread = error;
    sentence_of_thread() = sentence;
    if (offered) offered->explain(sentence.c_str());
    return error;
}

const std::string &doubts() {
    static const std::string &text = *[] {
        auto *made = new std::string(vendor.doubts);
        for (int i = 0; i < vendor.row_count; ++i) {
            const Row &row = vendor.rows[i];
            if (row.confidence == Confidence::kHigh) continue;
            const char *level = row.confidence == Confidence::kLow ? "low" : "medium";
            *made += (made->empty() ? "" : "; ") + std::string(row.names) + " (" + level +
                     (row.doubt ? std::string(": ") + row.doubt : "") + ")";
        }
        if (const std::string more = vendor.operator_doubts ? vendor.operator_doubts() : "";
            !more.empty())
            *made += (made->empty() ? "" : "; ") + more;
        return made;
    }();
    return text;
}

OnDevice::OnDevice(int device) {
    Values values;
    values.out = &before_;
    if (!has(Word::kGetDevice) || call(Word::kGetDevice, values) != 0) before_ = -1;
    if (before_ == device) {
        before_ = -1;
        return;
    }
    values.device = device;
    call(Word::kSetDevice, values);
}

OnDevice::~OnDevice() {
    if (before_ < 0) return;
    Values values;
    values.device = before_;
    call(Word::kSetDevice, values);
}

}  // namespace infini::vendor_runtime
