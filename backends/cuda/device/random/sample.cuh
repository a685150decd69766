// random_sample: a block draws an index from a row of logits T and stores it with type R. If few
// can be drawn, these are sorted. Otherwise the position in the sorted row is found digit by digit
// of the keys, with a histogram of counts and weights for each digit.
#include "row.cuh"
#include "scan/block_scan.cuh"

namespace infini {

constexpr int kThreads = 1024, kWarps = kThreads / kWarp, kDigitBits = 11;
constexpr int kBins = 1 << kDigitBits, kEach = kBins / kThreads;

struct alignas(16) Sum {
    uint64_t count, weight;
};
INFINI_DEVICE Sum operator+(Sum a, Sum b) { return {a.count + b.count, a.weight + b.weight}; }

// Returns the sum over the threads before this one (as count), and over all threads (as weight).
INFINI_APART Sum sum_before(uint64_t value) {
    static_assert(kWarps <= kWarp);
    INFINI_SHARED uint64_t of_warps[kWarps];
    uint64_t mine, all;
    const uint64_t before = scan_warp(value, uint64_t(0), fold::Sum(), &mine);
    __syncthreads();  // the previous call's values have been read
    if (lane() == 0) of_warps[warp()] = mine;
    __syncthreads();
    mine = lane() < kWarps ? of_warps[lane()] : 0;
    const uint64_t earlier = scan_warp(mine, uint64_t(0), fold::Sum(), &all);
    return {shuffle(earlier, warp()) + before, all};
}
INFINI_APART uint64_t sum_of_all(uint64_t value) {
    return fold_large_block<kThreads>(value, fold::Sum());
}
INFINI_APART int64_t first_of_all(Best best) {
    return fold_large_block<kThreads>(best, Earlier()).place;
}

struct Found {
    Key key;
    Sum before;      // over smaller keys
    uint64_t equal;  // number of entries with the key
};

// The entries that can be drawn, in shared memory.
constexpr int kMostFew = 2048;
struct Few {
    Key key[kMostFew];
    uint32_t place[kMostFew];
};

struct Shared {
    // kCopies of each histogram: neighbouring lanes add to different copies, because atomic
    // additions to one address are serialised, and most logits have one of a few first digits.
    uint64_t *weight;
    Few *few;  // shares the memory of the weights
    uint32_t *count;
    Sum warps[kWarps];
    Sum before;
    uint32_t digit, equal;
};

INFINI_DEVICE void clear_counts(Shared &shared) {
#pragma unroll 1
    for (int i = int(threadIdx.x); i < kBins * kCopies; i += kThreads) shared.count[i] = 0;
}
INFINI_DEVICE void count_digit(Shared &shared, uint32_t digit) {
    atomicAdd(&shared.count[digit * kCopies + uint32_t(lane()) % kCopies], 1u);
}
INFINI_DEVICE uint32_t count_of(const Shared &shared, int bin) {
    uint32_t count = 0;
#pragma unroll
    for (int k = 0; k < kCopies; ++k) count += shared.count[bin * kCopies + k];
    return count;
}

// The target of running sums: a count or a weight.
struct Aim {
    uint64_t count;
    double weight;

    INFINI_DEVICE bool operator()(const Sum &sum) const {
        return sum.count >= count || double(sum.weight) >= weight;
    }
};

// The first digit at which the sums reach the target, or the last one that occurs.
INFINI_DEVICE void find_digit(Shared &shared, Sum before, const Aim &reached) {
    Sum mine[kEach], all = {0, 0};
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        const int bin = int(threadIdx.x) * kEach + i;
        mine[i] = {count_of(shared, bin), 0};
#pragma unroll
        for (int k = 0; k < kCopies; ++k) mine[i].weight += shared.weight[bin * kCopies + k];
        all = all + mine[i];
    }
    Sum upto = all;
#pragma unroll
    for (int distance = 1; distance < kWarp; distance *= 2) {
        const Sum other = shuffle_up(upto, distance);
        if (lane() >= distance) upto = upto + other;
    }
    if (lane() == kWarp - 1) shared.warps[warp()] = upto;
    if (threadIdx.x == 0) shared.digit = 0;
    __syncthreads();
    Sum total = before;
#pragma unroll 1
    for (int i = 0; i < kWarps; ++i) {
        if (i < warp()) before = before + shared.warps[i];
        total = total + shared.warps[i];
    }
    before = {before.count + upto.count - all.count, before.weight + upto.weight - all.weight};
    // Because of rounding no digit may reach the target; then the last one is used.
    const bool possible = reached(total);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        const Sum after = before + mine[i];
        const bool first = possible ? reached(after) && (before.count == 0 || !reached(before))
                                    : after.count == total.count;
        if (mine[i].count && first) {
            shared.digit = uint32_t(threadIdx.x) * kEach + i;
            shared.before = before, shared.equal = uint32_t(mine[i].count);
        }
        before = after;
    }
    __syncthreads();
}

// The key of the entry at which the sums reach the target.
INFINI_APART Found descend(Shared &shared, const Row &row, const Weights &weights, const Aim &aim) {
    Found found = {0, {0, 0}, 0};
    int left = kKeyBits;
#pragma unroll 1
    while (left > 0) {
        const int width = left < kDigitBits ? left : kDigitBits, shift = left - width;
        clear_counts(shared);
#pragma unroll 1
        for (int i = int(threadIdx.x); i < kBins * kCopies; i += kThreads) shared.weight[i] = 0;
        __syncthreads();
#pragma unroll 4
        for (int64_t i = threadIdx.x; i < row.size; i += kThreads) {
            const Key key = row.key(i);
            if (left < kKeyBits && key >> left != found.key) continue;
            const uint32_t digit = uint32_t(key >> shift) & ((1u << width) - 1);
            count_digit(shared, digit);
            uint64_t *const to = &shared.weight[digit * kCopies + lane() % kCopies];
            atomicAdd(reinterpret_cast<unsigned long long *>(to),
                      static_cast<unsigned long long>(weights.of(row.value(i))));
        }
        __syncthreads();
        find_digit(shared, found.before, aim);
        found = {Key(found.key << width | shared.digit), shared.before, shared.equal};
        __syncthreads();
        left = shift;
    }
    return found;
}

// The index of the n-th entry (counted from 1) with a given key; all threads get it.
INFINI_APART int64_t place_of(Shared &shared, const Row &row, Key key, uint64_t n) {
    uint64_t before = 0;
    int64_t place = 0;
#pragma unroll 1
    for (int64_t base = 0; base < row.size; base += kThreads) {
        const int64_t i = base + threadIdx.x;
        const bool here = i < row.size && row.key(i) == key;
        const uint32_t all = uint32_t(__syncthreads_count(here));
        if (before + all < n) {
            before += all;
            continue;
        }
        const Lanes found = vote(here);
        if (lane() == 0) shared.count[warp()] = uint32_t(count_lanes(found));
        __syncthreads();
#pragma unroll 1
        for (int w = 0; w < warp(); ++w) before += shared.count[w];
        const int lower = count_lanes(found & lanes_before());
        if (here && before + uint64_t(lower) + 1 == n) shared.before.count = uint64_t(i);
        __syncthreads();
        place = int64_t(shared.before.count);
        break;
    }
    return place;
}

INFINI_APART uint64_t weight_at(const Row &row, const Weights &weights, int64_t place) {
    return weights.of(row.value(place));
}

// The index of the first entry in the order, or of the last one (of equal ones the first).
INFINI_APART int64_t extreme(const Row &row, bool last) {
    Best best = {Key(~Key(0)), row.size};
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < row.size; i += kThreads)
        best = Earlier()(best, {last ? Key(~row.key(i)) : row.key(i), i});
    return first_of_all(best);
}

INFINI_APART uint64_t total_weight(const Row &row, const Weights &weights) {
    uint64_t total = 0;
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < row.size; i += kThreads) total += weights.of(row.value(i));
    return sum_of_all(total);
}

// Counts the entries of each first digit; returns the index of the first entry in the order.
INFINI_APART int64_t count_digits(Shared &shared, const Row &row) {
    clear_counts(shared);
    __syncthreads();
    Best best = {Key(~Key(0)), row.size};
#pragma unroll 8
    for (int64_t i = threadIdx.x; i < row.size; i += kThreads) {
        const Key key = row.key(i);
        count_digit(shared, uint32_t(key >> (kKeyBits - kDigitBits)));
        best = Earlier()(best, {key, i});
    }
    return first_of_all(best);
}

// Collects all entries up to the digit of the k-th one, and sums up all weights. Returns their
// number; if there are too many, they are not stored.
INFINI_APART int collect(Shared &shared, const Row &row, const Weights &weights, uint64_t k,
                         uint64_t *total) {
    uint32_t mine[kEach], counts[kEach], sum = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        mine[i] = sum;
        counts[i] = count_of(shared, int(threadIdx.x) * kEach + i);
        sum += counts[i];
    }
    const uint32_t before = uint32_t(sum_before(sum).count);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        const int digit = int(threadIdx.x) * kEach + i;
        if (before + mine[i] < k && k <= before + mine[i] + counts[i])
            shared.digit = uint32_t(digit), shared.equal = before + mine[i] + counts[i];
    }
    __syncthreads();
    const uint32_t last = shared.digit, found = shared.equal;
    uint32_t *const next = shared.count;
    if (threadIdx.x == 0) *next = 0;
    __syncthreads();
    uint64_t part = 0;
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < row.size; i += kThreads) {
        const Key key = row.key(i);
        part += weights.of(row.value(i));
        if (found <= kMostFew && uint32_t(key >> (kKeyBits - kDigitBits)) <= last) {
            const uint32_t at = atomicAdd(next, 1u);
            shared.few->key[at] = key, shared.few->place[at] = uint32_t(i);
        }
    }
    *total = sum_of_all(part);
    return int(found);
}

// Sorts them by a sorting network; each thread has one pair.
INFINI_APART void put_in_order(Few &few, int count) {
    static_assert(kMostFew <= 2 * kThreads);
    int padded = 2;
    while (padded < count) padded *= 2;
#pragma unroll 1
    for (int i = count + int(threadIdx.x); i < padded; i += kThreads)
        few.key[i] = Key(~Key(0)), few.place[i] = ~0u;
    __syncthreads();
#pragma unroll 1
    for (int size = 2; size <= padded; size *= 2) {
#pragma unroll 1
        for (int step = size / 2; step > 0; step /= 2) {
            const int i = int(threadIdx.x);
            if (i < padded / 2) {
                const int low = 2 * i - (i & (step - 1)), high = low + step;
                const Key a = few.key[low], b = few.key[high];
                const uint32_t at_a = few.place[low], at_b = few.place[high];
                const bool turned = b < a || (a == b && at_b < at_a);
                if (turned == ((low & size) == 0)) {
                    few.key[low] = b, few.key[high] = a;
                    few.place[low] = at_b, few.place[high] = at_a;
                }
            }
            __syncthreads();
        }
    }
}

// The first of the k sorted entries at which the running sum of weights reaches the drawn value.
INFINI_APART int64_t draw_of_few(Shared &shared, const Row &row, const Weights &weights,
                                 const Choice &choice, int k, uint64_t total) {
    constexpr int kRuns = kMostFew / kThreads;
    uint64_t sums[kRuns], sum = 0;
    const int first = int(threadIdx.x) * kRuns;
#pragma unroll
    for (int i = 0; i < kRuns; ++i) {
        if (first + i < k) sum += weights.of(row.value(shared.few->place[first + i]));
        sums[i] = sum;
    }
    const Sum found = sum_before(sum);
    const uint64_t before = found.count, all = found.weight;
    const double limit = double(choice.topp) * double(total), most = double(all);
    const double threshold = double(choice.random) * (limit < most ? limit : most);
    uint32_t reached = uint32_t(k - 1);
#pragma unroll
    for (int i = kRuns - 1; i >= 0; --i)
        if (first + i < k && double(before + sums[i]) >= threshold) reached = uint32_t(first + i);
    return shared.few->place[fold_large_block<kThreads>(reached, fold::Min())];
}

INFINI_DEVICE int64_t draw(Shared &shared, const Row &row, const Choice &choice) {
    // A topk that is not positive selects all.
    const uint64_t k =
        choice.topk < 1 || choice.topk > row.size ? uint64_t(row.size) : uint64_t(choice.topk);
    const bool few = k <= kMostFew / 2 && k < uint64_t(row.size) && row.size <= (1u << 30);
    const int64_t first = few ? count_digits(shared, row) : extreme(row, false);
    if (choice.random == 0 || choice.topp == 0 || choice.topk == 1 || choice.temperature == 0)
        return first;
    int bits = 0;
    while ((int64_t(1) << bits) < row.size) ++bits;
    const int64_t greatest = choice.temperature > 0 ? first : extreme(row, true);
    const Weights weights = {row.value(greatest), C(choice.temperature),
                             double(uint64_t(1) << (62 - bits))};
    uint64_t total;
    if (few) {
        const int found = collect(shared, row, weights, k, &total);
        if (found <= kMostFew) {
            put_in_order(*shared.few, found);
            return draw_of_few(shared, row, weights, choice, int(k), total);
        }
    } else {
        total = total_weight(row, weights);
    }
    double limit = double(choice.topp) * double(total);
    if (k < uint64_t(row.size)) {
        const Found kth = descend(shared, row, weights, {k, infinity<double>()});
        const int64_t at = place_of(shared, row, kth.key, 1);
        const double sum =
            double(kth.before.weight + (k - kth.before.count) * weight_at(row, weights, at));
        limit = limit < sum ? limit : sum;
    }
    const double threshold = double(choice.random) * limit;
    const Found found = descend(shared, row, weights, {k, threshold});
    if (found.equal == 1) return place_of(shared, row, found.key, 1);
    // Selects among several equal entries.
    const double each = double(weight_at(row, weights, place_of(shared, row, found.key, 1)));
    const double missing = threshold - double(found.before.weight);
    uint64_t n = missing > each ? uint64_t(ceil(missing / each)) : 1;
    const uint64_t most =
        found.before.count + found.equal < k ? found.equal : k - found.before.count;
    n = n < most ? n : most;
    return place_of(shared, row, found.key, n);
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(SampleParams, kThreads, 1) {
    INFINI_DYNAMIC_SHARED(memory);
    INFINI_SHARED Shared shared;
    if (threadIdx.x == 0) {
        shared.weight = reinterpret_cast<uint64_t *>(memory);
        shared.few = reinterpret_cast<Few *>(memory);
        shared.count = reinterpret_cast<uint32_t *>(memory + kWeightBytes);
    }
    __syncthreads();
    const int64_t number = p.first + blockIdx.x;
    const Row row = {static_cast<const T *>(p.logits) + number * p.row, p.size, p.step};
    const int64_t place = draw(shared, row, p.choice[p.same ? 0 : blockIdx.x]);
    if (threadIdx.x == 0) static_cast<R *>(p.result)[number * p.result_step] = convert<R>(place);
}
