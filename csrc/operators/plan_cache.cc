// The plan cache: equal operations share one plan.
#include <cstring>
#include <list>
#include <unordered_map>

#include "../runtime/fork_lock.h"
#include "lowering.h"

namespace infini::op {
namespace {

constexpr size_t kMostPlans = 4096;

// Everything that a plan can depend on, as bytes.
class Key {
public:
    Key(const InfiniTarget &target, const InfiniOperation &operation) {
        put(target.device);
        put(operation.name);  // operators' names are constants, so the address is enough
        put(operation.program);
        put(operation.modes);
        for (size_t i = 0; i < operation.tensor_count; ++i) {
            const InfiniTensor &tensor = operation.tensors[i];
            put(tensor.dtype);
            put(tensor.ndim);
            put(tensor.shape, size_t(tensor.ndim));
            put(tensor.strides, size_t(tensor.ndim));
        }
        for (size_t i = 0; i < operation.attribute_count; ++i) {
            const InfiniAttribute &attribute = operation.attributes[i];
            put(attribute.value);
            put(attribute.count);
            put(attribute.list != nullptr);
            // A string is stored in whole entries, too.
            if (attribute.list)
                put(static_cast<const int64_t *>(attribute.list), entries(attribute));
        }
    }
    std::string bytes;

private:
    static size_t entries(const InfiniAttribute &attribute) {
        bool text = attribute.value.i == 0;
        return text ? attribute.count / 8 + 1 : attribute.count;
    }
    template <class T>
    void put(const T &value) {
        bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    }
    template <class T>
    void put(const T *values, size_t count) {
        if (count) bytes.append(reinterpret_cast<const char *>(values), count * sizeof *values);
    }
};

struct Cache {
    struct Entry {
        std::string key;
        std::shared_ptr<const Planned> planned;
    };
    rt::ForkSafeMutex mutex{rt::LockRank::Registry};
    std::list<Entry> entries;  // most recently used first
    std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key;
    size_t hits = 0, misses = 0;

    static Cache &get() {
        static auto *cache = new Cache;
        return *cache;
    }

    std::shared_ptr<const Planned> find(const std::string &key) {
        std::lock_guard lock(mutex);
        auto found = by_key.find(key);
        ++(found == by_key.end() ? misses : hits);
        if (found == by_key.end()) return nullptr;
        entries.splice(entries.begin(), entries, found->second);
        return found->second->planned;
    }

    void add(std::string key, std::shared_ptr<const Planned> planned) {
        std::shared_ptr<const Planned> dropped;  // outlives the lock: dropping a plan takes time
        std::lock_guard lock(mutex);
        if (by_key.contains(key)) return;
        entries.push_front({std::move(key), std::move(planned)});
        by_key.emplace(entries.front().key, entries.begin());
        if (entries.size() <= kMostPlans) return;
        by_key.erase(entries.back().key);
        dropped = std::move(entries.back().planned);
        entries.pop_back();
    }
};

}  // namespace

std::shared_ptr<const Planned> plan(const InfiniTarget &target, const InfiniOperation &operation,
                                    Lower lower) {
    Key key(target, operation);
    if (auto known = Cache::get().find(key.bytes)) return known;
    auto planned = std::make_shared<Planned>();
    planned->operators = target.operators;
    if (lower) {
        Lowering lowering(target, operation, *planned);
        lower(lowering);
        lowering.finish();
    } else {
        int status =
            target.operators->plan(target.index, &operation, &planned->plan, &planned->workspace);
        if (status != INFINI_STATUS_SUCCESS) throw Failure{infiniStatus_t(status), ""};
    }
    Cache::get().add(std::move(key.bytes), planned);
    return planned;
}

CacheCounts plan_cache_counts() {
    Cache &cache = Cache::get();
    std::lock_guard lock(cache.mutex);
    return {cache.entries.size(), cache.hits, cache.misses};
}

}  // namespace infini::op
