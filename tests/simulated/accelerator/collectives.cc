#include "collectives.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "backends/cpu/collectives/reduce.h"
#include "infiniccl.h"
#include "infinicore.h"

namespace simulated {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);  // of joining
constexpr auto kPause = std::chrono::microseconds(50);

// ---- Files --------------------------------------------------------------------------------------

void write_file(const std::string &path, const void *data, size_t bytes) {
    const std::string draft = path + ".draft";
    FILE *file = fopen(draft.c_str(), "wb");
    if (!file) return violate("no room for " + path);
    if (bytes) fwrite(data, 1, bytes, file);
    fclose(file);
    rename(draft.c_str(), path.c_str());
}

bool exists(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

bool read_file(const std::string &path, std::vector<char> *bytes) {
    FILE *file = fopen(path.c_str(), "rb");
    if (!file) return false;
    fseek(file, 0, SEEK_END);
    bytes->resize(size_t(ftell(file)));
    rewind(file);
    const bool whole = bytes->empty() || fread(bytes->data(), 1, bytes->size(), file) > 0;
    fclose(file);
    return whole;
}

void remove_folder(const std::string &folder) {
    DIR *open = opendir(folder.c_str());
    while (dirent *entry = open ? readdir(open) : nullptr)
        unlink((folder + "/" + entry->d_name).c_str());
    if (open) closedir(open);
    rmdir(folder.c_str());
}

// Folders of communicators that were not destroyed: a process removes them when it ends.
class Folders {
public:
    static Folders &get() {
        static auto *all = [] {
            std::atexit([] {
                for (const std::string &folder : get().all_) remove_folder(folder);
            });
            return new Folders;
        }();
        return *all;
    }
    void add(const std::string &folder) {
        std::lock_guard guard(lock_);
        all_.insert(folder);
    }
    void remove(const std::string &folder) {
        remove_folder(folder);
        std::lock_guard guard(lock_);
        all_.erase(folder);
    }

private:
    std::mutex lock_;
    std::set<std::string> all_;
};

template <class Ready>
bool wait_for(const Communicator &c, const Ready &ready) {
    while (!c.aborted) {
        if (ready()) return true;
        std::this_thread::sleep_for(kPause);
    }
    return false;
}

// ---- One group in a stream ----------------------------------------------------------------------

struct Header {
    int kind, dtype, op, root;
    size_t count;

    bool operator==(const Header &) const = default;
};

size_t size_of(const Collective &w) { return w.count * infiniSizeOf(infiniDtype_t(w.dtype)); }

std::string file_of(const Communicator &c, long number, int rank) {
    return c.folder + "/c" + std::to_string(number) + "-" + std::to_string(rank);
}

std::string message_of(const Communicator &c, int from, int to, long number) {
    return c.folder + "/m" + std::to_string(from) + "-" + std::to_string(to) + "-" +
           std::to_string(number);
}

// Posts this rank's part, and reads those of all ranks.
int exchange(Communicator &c, const Collective &w, size_t bytes,
             std::vector<std::vector<char>> *parts, int failure) {
    const Header mine{int(w.kind), w.dtype, w.op, w.root, w.count};
    std::vector<char> posted(sizeof mine + bytes);
    memcpy(posted.data(), &mine, sizeof mine);
    if (bytes) {
        const char *from = bytes_of(w.send, bytes, c.device);
        if (!from) return failure;
        memcpy(posted.data() + sizeof mine, from, bytes);
    }
    const long number = c.number++;
    write_file(file_of(c, number, c.rank), posted.data(), posted.size());
    parts->resize(size_t(c.ranks));
    for (int rank = 0; rank < c.ranks; ++rank) {
        std::vector<char> &part = (*parts)[size_t(rank)];
        if (!wait_for(c, [&] { return read_file(file_of(c, number, rank), &part); }))
            return failure;
        Header other;
        memcpy(&other, part.data(), sizeof other);
        if (!(other == mine)) {
            violate("rank " + std::to_string(rank) + " called something else than rank " +
                    std::to_string(c.rank));
            wait_for(c, [] { return false; });  // as in the libraries: until it is aborted
            return failure;
        }
        part.erase(part.begin(), part.begin() + sizeof other);
    }
    // All have posted this one, so all have read the one before.
    if (number) unlink(file_of(c, number - 1, c.rank).c_str());
    return 0;
}

int run_collective(Communicator &c, const Collective &w, int failure) {
    const size_t bytes = size_of(w);
    const bool is_root = w.root == c.rank;
    const size_t all = bytes * size_t(c.ranks);
    const size_t posts = w.kind == Kind::kReduceScatter           ? all
                         : w.kind == Kind::kBroadcast && !is_root ? 0
                                                                  : bytes;
    std::vector<std::vector<char>> parts;
    if (int code = exchange(c, w, posts, &parts, failure)) return code;
    if (w.kind == Kind::kReduce && !is_root) return 0;
    char *to = bytes_of(w.recv, w.kind == Kind::kAllGather ? all : bytes, c.device);
    if (!to) return failure;
    if (w.kind == Kind::kBroadcast) {
        memcpy(to, parts[size_t(w.root)].data(), bytes);
    } else if (w.kind == Kind::kAllGather) {
        for (size_t i = 0; i < parts.size(); ++i) memcpy(to + i * bytes, parts[i].data(), bytes);
    } else {
        const size_t offset = w.kind == Kind::kReduceScatter ? bytes * size_t(c.rank) : 0;
        std::vector<const void *> from;
        for (const auto &part : parts) from.push_back(part.data() + offset);
        infini::cpu::collectives::find_reduce(w.dtype, w.op)(to, from.data(), c.ranks, w.count);
    }
    return 0;
}

int run_group(Communicator &c, const std::vector<Collective> &group, int failure) {
    std::vector<std::string> on_the_way;
    for (const Collective &w : group) {
        if (w.kind != Kind::kSend) continue;
        const char *from = bytes_of(w.send, size_of(w), c.device);
        if (!from) return failure;
        const long number = c.sent[{c.rank, w.root}]++;
        on_the_way.push_back(message_of(c, c.rank, w.root, number));
        write_file(on_the_way.back(), from, size_of(w));
    }
    for (const Collective &w : group)
        if (w.kind != Kind::kSend && w.kind != Kind::kReceive)
            if (int code = run_collective(c, w, failure)) return code;
    for (const Collective &w : group) {
        if (w.kind != Kind::kReceive) continue;
        const std::string path = message_of(c, w.root, c.rank, c.taken[{w.root, c.rank}]++);
        std::vector<char> bytes;
        if (!wait_for(c, [&] { return read_file(path, &bytes); })) return failure;
        char *to = bytes_of(w.recv, size_of(w), c.device);
        if (bytes.size() != size_of(w)) violate("a message has another length than expected");
        if (!to || bytes.size() != size_of(w)) return failure;
        memcpy(to, bytes.data(), bytes.size());
        unlink(path.c_str());
    }
    // A send is done when it was received.
    for (const std::string &path : on_the_way)
        if (!wait_for(c, [&] { return !exists(path); })) return failure;
    return 0;
}

struct Group {
    int depth = 0;
    std::map<std::pair<Communicator *, void *>, std::vector<Collective>> work;
};
thread_local Group group;

int launch(Communicator *c, void *stream, std::vector<Collective> work, int failure) {
    return enqueue(stream, [=] { return run_group(*c, work, failure); }) ? 0 : failure;
}

}  // namespace

// ---- Communicators ------------------------------------------------------------------------------

void make_id(void *id, size_t bytes) {
    auto *first = static_cast<unsigned char *>(id);
    size_t done = 0;
    while (done < bytes) {
        const ssize_t more = getrandom(first + done, std::min(bytes - done, size_t(256)), 0);
        if (more > 0) done += size_t(more);
    }
    unsigned sum = 0;
    for (size_t i = 0; i + 1 < bytes; ++i) sum += first[i];
    first[bytes - 1] = static_cast<unsigned char>(sum);
}

Communicator *join(const void *id, size_t bytes, int device, int ranks, int rank) {
    const auto *first = static_cast<const unsigned char *>(id);
    unsigned sum = 0;
    for (size_t i = 0; i + 1 < bytes; ++i) sum += first[i];
    if (first[bytes - 1] != static_cast<unsigned char>(sum)) {
        violate("the id is none that was made, or a part of one");
        return nullptr;
    }
    char name[64];
    snprintf(name, sizeof name, "/dev/shm/infini-simulated-%02x%02x%02x%02x%02x%02x", first[0],
             first[1], first[2], first[3], first[4], first[5]);
    auto *c = new Communicator;
    c->device = device, c->ranks = ranks, c->rank = rank, c->folder = name;
    mkdir(name, 0700);
    Folders::get().add(name);
    write_file(c->folder + "/r" + std::to_string(rank), &ranks, sizeof ranks);
    const auto begun = std::chrono::steady_clock::now();
    for (int other = 0; other < ranks; ++other)
        while (!exists(c->folder + "/r" + std::to_string(other))) {
            if (std::chrono::steady_clock::now() - begun > kPatience) return nullptr;
            std::this_thread::sleep_for(kPause);
        }
    return c;
}

bool join_all(int ranks, const int *devices, void **communicators) {
    char id[64];
    make_id(id, sizeof id);
    std::vector<std::thread> others;
    std::atomic<bool> good{true};
    for (int i = 0; i < ranks; ++i)
        others.emplace_back([&, i] {
            communicators[i] = join(id, sizeof id, devices[i], ranks, i);
            if (!communicators[i]) good = false;
        });
    for (std::thread &other : others) other.join();
    return good;
}

// Waits for the others, as some libraries do. The last one removes the folder.
bool leave(Communicator *c) {
    write_file(c->folder + "/l" + std::to_string(c->rank), nullptr, 0);
    const auto begun = std::chrono::steady_clock::now();
    bool all = true;
    for (int other = 0; other < c->ranks; ++other)
        while (exists(c->folder) && !exists(c->folder + "/l" + std::to_string(other)) && all) {
            all = std::chrono::steady_clock::now() - begun < kPatience;
            std::this_thread::sleep_for(kPause);
        }
    if (!all) violate("not all ranks leave the communicator");
    Folders::get().remove(c->folder);
    delete c;
    return all;
}

bool abort(Communicator *c) {
    c->aborted = true;  // not destroyed: work in streams still uses it
    Folders::get().remove(c->folder);
    return true;
}

// ---- Work ---------------------------------------------------------------------------------------

int collect(const Numbers &numbers, const char *function, void *communicator, void *stream,
            Collective w, int type, int reduction) {
    if (int code = begin(function)) return code;
    const auto row = std::find_if(numbers.types.begin(), numbers.types.end(),
                                  [&](const auto &known) { return known.first == type; });
    const std::array reductions = {numbers.sum, numbers.prod, numbers.max, numbers.min};
    const auto op = std::find(reductions.begin(), reductions.end(), reduction);
    if (row == numbers.types.end() || op == reductions.end()) return numbers.wrong;
    w.dtype = row->second;
    w.op = int(op - reductions.begin());
    static_assert(!INFINICCL_SUM && INFINICCL_PROD == 1 && INFINICCL_MAX == 2 &&
                  INFINICCL_MIN == 3);
    auto *c = static_cast<Communicator *>(communicator);
    const int failure = numbers.failed;
    if (!c) return failure;
    const bool message = w.kind == Kind::kSend || w.kind == Kind::kReceive;
    if (w.root < 0 || w.root >= c->ranks || (message && w.root == c->rank)) {
        violate("no such rank, or a message to oneself");
        return failure;
    }
    if (device() != c->device) violate("the communicator is of another device than the thread");
    if (!group.depth) return launch(c, stream, {w}, failure);
    group.work[{c, stream}].push_back(w);
    return 0;
}

void start_group() { ++group.depth; }

int end_group(int failure) {
    if (group.depth == 0) violate("a group is ended that was not started");
    if (--group.depth > 0) return 0;
    auto work = std::move(group.work);
    group.work.clear();
    int code = 0;
    for (auto &[where, items] : work)
        if (int one = launch(where.first, where.second, items, failure)) code = one;
    return code;
}

}  // namespace simulated
