// Announcements: what each rank is about to do.
#include "buffers.h"
#include "collective_names.h"

namespace infini::cpu::collectives {

Announcement announcement_of(const InfiniCollective &work, int ranks, uint64_t number) {
    // A hash of the counts on which all ranks must agree.
    const size_t *counts = work.kind == INFINI_ALL_GATHER       ? work.recv_counts
                           : work.kind == INFINI_REDUCE_SCATTER ? work.send_counts
                                                                : nullptr;
    uint64_t hash = work.send_counts || work.recv_counts ? 1 : 0;
    for (int i = 0; counts && i < ranks; ++i)
        hash = (hash ^ counts[i]) * 0x100000001b3ull + 0x9e3779b97f4a7c15ull;
    return {work.kind, work.dtype, work.op, work.root, work.count, hash, number};
}

std::string description(const Announcement &a) {
    std::string text = std::string(kind_name(a.kind)) + " of " + std::to_string(a.count) +
                       " elements of dtype " + dtype_name(a.dtype);
    if (is_reduction(a.kind)) text += std::string(", op ") + op_name(a.op);
    if (a.root >= 0) text += ", root " + std::to_string(a.root);
    return text + " as its operation " + std::to_string(a.number);
}

// Rank 0 is assumed right, unless all others disagree with it.
std::string difference(int low, const Announcement &one, int high, const Announcement &other) {
    auto say = [&](int rank, const Announcement &a) {
        return "rank " + std::to_string(rank) + " called " + description(a);
    };
    return say(high, other) + ", but " + say(low, one) + ": all ranks must call the same";
}

}  // namespace infini::cpu::collectives
