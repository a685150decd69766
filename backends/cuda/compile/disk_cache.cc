#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "cache_folder.h"
#include "compiler.h"
#include "environment.h"

namespace infini::cuda {
namespace {

struct Header {
    char magic[8];
    Key key;
    uint64_t bytes;
    Key check;  // hash of the code
};
constexpr char kMagic[8] = {'i', 'n', 'f', 'i', 'n', 'i', 'k', '1'};

bool read_all(int file, void *to, size_t bytes) {
    for (char *at = static_cast<char *>(to); bytes > 0;) {
        const ssize_t got = read(file, at, bytes);
        if (got <= 0) return false;
        at += got;
        bytes -= size_t(got);
    }
    return true;
}

bool write_all(int file, const void *from, size_t bytes) {
    for (const char *at = static_cast<const char *>(from); bytes > 0;) {
        const ssize_t put = write(file, at, bytes);
        if (put <= 0) return false;
        at += put;
        bytes -= size_t(put);
    }
    return true;
}

struct File {
    int descriptor;
    ~File() {
        if (descriptor >= 0) close(descriptor);
    }
};

Key check_of(const std::vector<char> &code) { return key_of({code.data(), code.size()}); }

}  // namespace

const Cache &Cache::get() {
    static const auto &cache = *new Cache;  // threads may still compile when the process ends
    return cache;
}

Cache::Cache() {
    folder_ = cache_folder();
    if (folder_.empty()) return;
    folder_ += "/kernels";
    if (make_folders(folder_)) return;
    folder_.clear();
    if (setting_text("INFINI_CACHE"))
        warn_of_setting("INFINI_CACHE",
                        ignored_setting("INFINI_CACHE", "a folder that can be written to"));
}

bool Cache::load(const Key &key, std::vector<char> &code) const {
    if (folder_.empty()) return false;
    File file{open((folder_ + "/" + key.hex()).c_str(), O_RDONLY | O_CLOEXEC)};
    struct stat status;
    Header header;
    if (file.descriptor < 0 || fstat(file.descriptor, &status) != 0) return false;
    if (!read_all(file.descriptor, &header, sizeof header)) return false;
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || !(header.key == key)) return false;
    if (header.bytes != uint64_t(status.st_size) - sizeof header) return false;
    code.resize(header.bytes);
    return read_all(file.descriptor, code.data(), code.size()) && check_of(code) == header.check;
}

void Cache::store(const Key &key, const std::vector<char> &code) const {
    if (folder_.empty()) return;
    std::string path = folder_ + "/tmp-XXXXXX";
    Header header{{}, key, code.size(), check_of(code)};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    bool complete = false;
    {
        File file{mkstemp(path.data())};
        if (file.descriptor < 0) return;
        complete = write_all(file.descriptor, &header, sizeof header) &&
                   write_all(file.descriptor, code.data(), code.size());
    }
    if (!complete || rename(path.c_str(), (folder_ + "/" + key.hex()).c_str()) != 0)
        unlink(path.c_str());
}

}  // namespace infini::cuda
