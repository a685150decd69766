// The signature of an operator's call, and a thread's cache of calls by signature.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "infinicore/tensor.hpp"

namespace infinicore::detail {

// The words of two calls are equal exactly if one step serves both. Usual keys need no heap.
class CallKey {
public:
    void add(uint64_t word) { *room_for(1) = word; }
    void add(const TensorImpl &tensor) {
        const TensorMetaData &meta = *tensor.meta();
        const Device device = tensor.device();
        const size_t rank = meta.shape.size();
        uint64_t *words = room_for(1 + 2 * rank);
        words[0] = uint64_t(1) << 63 | uint64_t(device.getType()) << 48 |
                   uint64_t(device.getIndex()) << 32 | uint64_t(meta.dtype) << 16 | rank;
        for (size_t i = 0; i < rank; ++i) words[1 + i] = meta.shape[i];
        for (size_t i = 0; i < rank; ++i) words[1 + rank + i] = uint64_t(meta.strides[i]);
    }
    void add(const void *bytes, size_t count) {
        if (count == 0) return;
        uint64_t *words = room_for((count + 7) / 8);
        words[(count - 1) / 8] = 0;
        std::memcpy(words, bytes, count);
    }

    // Two sums, so that they are computed independently.
    uint64_t hash() const {
        constexpr uint64_t kFactor = 0x9E3779B97F4A7C15u;
        const uint64_t *words = data();
        uint64_t first = 1, second = 2;
        size_t i = 0;
        for (; i + 1 < count_; i += 2) {
            first = (first ^ words[i]) * kFactor;
            second = (second ^ words[i + 1]) * kFactor;
        }
        if (i < count_) first = (first ^ words[i]) * kFactor;
        const uint64_t sum = first ^ (second << 32 | second >> 32);
        return sum ^ sum >> 29;
    }
    std::vector<uint64_t> words() const { return {data(), data() + count_}; }
    bool operator==(const std::vector<uint64_t> &words) const {
        return count_ == words.size() &&
               std::memcmp(data(), words.data(), count_ * sizeof(uint64_t)) == 0;
    }

private:
    static constexpr size_t kUsual = 96;
    uint64_t *room_for(size_t more) {
        const size_t begin = count_;
        count_ += more;
        if (count_ <= kUsual) [[likely]]
            return usual_ + begin;
        if (many_.empty()) many_.assign(usual_, usual_ + begin);
        many_.resize(count_);
        return many_.data() + begin;
    }
    const uint64_t *data() const { return many_.empty() ? usual_ : many_.data(); }

    size_t count_ = 0;
    std::vector<uint64_t> many_;  // all words, if there are more than fit above
    uint64_t usual_[kUsual];
};

// Sets of a few calls each; a new one replaces the oldest of its set. A call holds what it uses, so
// one inside another may replace it.
template <class Known>
class CallCache {
public:
    static CallCache &of_thread() {
        static thread_local CallCache cache;
        return cache;
    }

    const std::shared_ptr<Known> *find(const CallKey &key, uint64_t hash) const {
        for (const Entry &entry : sets_[hash & (kSets - 1)])
            if (entry.hash == hash && key == entry.words) return &entry.known;
        return nullptr;
    }
    std::shared_ptr<Known> insert(const CallKey &key, uint64_t hash, std::shared_ptr<Known> known) {
        Set &set = sets_[hash & (kSets - 1)];
        std::move_backward(set.begin(), set.end() - 1, set.end());
        set[0] = {hash, key.words(), known};
        return known;
    }

private:
    struct Entry {
        uint64_t hash = 0;
        std::vector<uint64_t> words;
        std::shared_ptr<Known> known;
    };
    static constexpr size_t kSets = 256, kWays = 4;
    using Set = std::array<Entry, kWays>;
    std::unique_ptr<Set[]> sets_ = std::make_unique<Set[]>(kSets);
};

}  // namespace infinicore::detail
