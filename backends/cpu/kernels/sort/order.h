// The sort order of numbers: NaN is the greatest, both zeros are equal. A number and its index form
// one entry, so that plain comparisons of entries give a stable order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "threads.h"
#include "types.h"

namespace infini::cpu {

template <class T>
using Key = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// An unsigned integer with the same order as the values.
template <class T>
inline Key<T> order_key(T value) {
    if constexpr (std::is_integral_v<T>) {
        constexpr Key<T> kSign =
            std::is_signed_v<T> ? Key<T>(1) << (sizeof(Key<T>) * 8 - 1) : Key<T>(0);
        return Key<T>(value) ^ kSign;
    } else {
        using F = std::conditional_t<sizeof(T) == 8, double, float>;
        using S = std::make_signed_t<Key<T>>;
        const F x = load_element<F>(value) + F(0);  // -0 becomes 0
        const S bits = std::bit_cast<S>(x);
        const S flip = (bits >> (sizeof(S) * 8 - 1)) | std::numeric_limits<S>::min();
        return x != x ? std::numeric_limits<Key<T>>::max() : Key<T>(bits ^ flip);
    }
}

template <class K>
struct Entry;

// A 32-bit key above a 32-bit index.
template <>
struct Entry<uint32_t> {
    uint64_t both;

    Entry() = default;
    Entry(uint32_t key, int64_t place) : both(uint64_t(key) << 32 | uint32_t(place)) {}
    uint32_t key() const { return uint32_t(both >> 32); }
    int64_t place() const { return int64_t(uint32_t(both)); }
    bool operator<(Entry other) const { return both < other.both; }
};

template <>
struct Entry<uint64_t> {
    uint64_t key_;
    int64_t place_;

    Entry() = default;
    Entry(uint64_t key, int64_t place) : key_(key), place_(place) {}
    uint64_t key() const { return key_; }
    int64_t place() const { return place_; }
    bool operator<(const Entry &other) const {
        return key_ != other.key_ ? key_ < other.key_ : place_ < other.place_;
    }
};

// A line of numbers in memory, in ascending or (with inverted keys) descending order.
template <class T>
struct Line {
    const T *data;
    int64_t step, size;
    bool descending;

    Key<T> key(int64_t i) const {
        const Key<T> key = order_key(data[i * step]);
        return descending ? Key<T>(~key) : key;
    }
    Entry<Key<T>> entry(int64_t i) const { return {key(i), i}; }
};

// Moves the first `count` entries of a line to the front of `room`, in no particular order. `room`
// holds first_room(size, count) entries. Most of a long line is only compared with the last of the
// entries found so far.
inline int64_t first_room(int64_t size, int64_t count) {
    return std::min(size, count + std::max<int64_t>(count, 64));
}

template <class T>
void find_first(const Line<T> &line, int64_t count, Entry<Key<T>> *room) {
    const int64_t most = first_room(line.size, count);
    for (int64_t i = 0; i < most; ++i) room[i] = line.entry(i);
    if (count >= most || count <= 0) return;
    std::nth_element(room, room + count - 1, room + most);

    constexpr int64_t kBlock = 64;
    int64_t held = count;
    Key<T> bound = room[count - 1].key();
    for (int64_t begin = most; begin < line.size; begin += kBlock) {
        const int64_t n = std::min(kBlock, line.size - begin);
        Key<T> keys[kBlock], least = std::numeric_limits<Key<T>>::max();
        if (n == kBlock && line.step == 1)
            for (int64_t i = 0; i < kBlock; ++i) {
                const Key<T> key = order_key(line.data[begin + i]);
                keys[i] = line.descending ? Key<T>(~key) : key;
            }
        else
            for (int64_t i = 0; i < n; ++i) keys[i] = line.key(begin + i);
        for (int64_t i = 0; i < n; ++i) least = std::min(least, keys[i]);
        if (least >= bound) continue;  // the first among equals is kept
        for (int64_t i = 0; i < n; ++i)
            if (keys[i] < bound) {
                room[held++] = {keys[i], begin + i};
                if (held == most) {
                    std::nth_element(room, room + count - 1, room + held);
                    held = count, bound = room[count - 1].key();
                }
            }
    }
    std::nth_element(room, room + count - 1, room + held);
}

// ---- Scratch memory per thread -----------------------------------------------------------------

// Lines are divided among a few slots, each with its own section of the workspace.
struct Slots {
    int64_t count, lines;

    // `work`: accessed elements per line.
    Slots(int64_t lines, int64_t work) : lines(lines) {
        const int64_t worth = lines * std::max<int64_t>(work, 1) / 16384;
        count = std::max<int64_t>(1, std::min({lines, worth, 4 * int64_t(thread_count())}));
    }

    // Calls body(line, slot).
    template <class Body>
    void run(const Body &body) const {
        parallel_for(size_t(count), 1, [&](size_t first, size_t last) {
            for (int64_t slot = int64_t(first); slot < int64_t(last); ++slot)
                for (int64_t line = lines * slot / count; line < lines * (slot + 1) / count; ++line)
                    body(line, slot);
        });
    }
};

}  // namespace infini::cpu
