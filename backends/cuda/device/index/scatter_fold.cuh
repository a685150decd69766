// Folds the updates of each place, sorted by places. The thread of a place's first entry folds up
// to kAlone of them; the rest of a long run is done by the whole warp.
#include "fold.cuh"
#include "scatter_place.cuh"

namespace infini {

using C = Sum<T>;
constexpr int kAlone = 64;

INFINI_DEVICE C update_at(const ScatterParams &p, int64_t i) {
    int64_t offset[3];
    p.entries.at(p.order[i], offset);
    return convert<C>(static_cast<const T *>(p.updates)[offset[1]]);
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(ScatterParams, 256, 1) {
    const int64_t i = grid_thread(), count = p.entries.count;
    const uint32_t key = i < count ? p.sorted[i] : uint32_t(p.groups);
    const bool first = key < p.groups && (i == 0 || p.sorted[i - 1] != key);
    const Folding fold;
    int64_t next = i;
    C sum = neutral<C>();
    T *out = nullptr;
    if (first) {
        out = static_cast<T *>(p.out) + offset_of(p, key);
        if (kIncludeSelf) sum = convert<C>(*out);
        for (; next < count && next < i + kAlone && p.sorted[next] == key; ++next)
            sum = fold(sum, update_at(p, next));
    }
    Lanes more = vote(first && next < count && p.sorted[next] == key);
    while (more) {
        const int source = first_lane(more);
        more &= more - 1;
        const uint32_t run = shuffle(key, source);
        const int64_t begin = shuffle(next, source);
        C part = neutral<C>();
        int64_t at = begin + lane();
        for (; at < count && p.sorted[at] == run; at += kWarp) part = fold(part, update_at(p, at));
        part = fold_warp(part, fold);
        const int64_t folded = fold_warp((at - begin - lane()) / kWarp, fold::Sum());
        if (lane() == source) {
            sum = fold(sum, part);
            next += folded;
        }
    }
    if (!first) return;
    if (kMean) sum = average(sum, next - i + kIncludeSelf);
    *out = convert<T>(sum);
}
