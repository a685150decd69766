// Reductions that the vendor's library lacks: averages, and unsupported types.
#include "backends/cpu/collectives/reduce.h"
#include "communicator.h"

namespace infini::vendor_runtime::collectives {

infiniStatus_t Communicator::combine(const InfiniCollective &work, const void *gathered) {
    if (work.kind == INFINI_REDUCE && work.root != rank) return INFINI_STATUS_SUCCESS;
    const auto reduce = cpu::collectives::find_reduce(work.dtype, work.op);
    const size_t bytes = work.count * infiniSizeOf(infiniDtype_t(work.dtype));
    const bool scatters = work.kind == INFINI_REDUCE_SCATTER;
    const size_t whole = bytes * (scatters ? size_t(ranks) : 1);
    std::vector<char> parts(bytes * size_t(ranks));
    std::vector<const void *> from;
    for (int i = 0; i < ranks; ++i) {
        char *part = parts.data() + bytes * size_t(i);
        const char *there = static_cast<const char *>(gathered) + whole * size_t(i) +
                            (scatters ? bytes * size_t(rank) : 0);
        if (copy_bytes(part, -1, there, device, bytes)) return failed_copy();
        from.push_back(part);
    }
    reduce(parts.data(), from.data(), ranks, work.count);
    return copy_bytes(work.recv, device, parts.data(), -1, bytes) ? failed_copy()
                                                                  : INFINI_STATUS_SUCCESS;
}

}  // namespace infini::vendor_runtime::collectives
