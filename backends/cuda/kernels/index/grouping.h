// Stable sort of entries by group, for operators that fold values into the same element in a
// deterministic order.
#pragma once

#include "device/index/group.cuh"
#include "kernels/lines.h"

namespace infini::cuda {

// Prefix sums in place; `element` is the size of an element, 4 or 8 bytes.
class RunningSum {
public:
    RunningSum() = default;
    RunningSum(Device &device, size_t element)
        : kernel_(device.compile(Source("index/running_sum.cuh").type("N", bytes_type(element)))) {}
    Error run(const Stream &stream, void *counts, int64_t count, void *total = nullptr) const {
        return kernel_->launch(stream, 1, 1024, RunningSumParams{counts, total, count});
    }

private:
    std::shared_ptr<const Kernel> kernel_;
};

class Grouping {
public:
    Grouping() = default;
    // Keys range from 0 to `groups`; the last one is for entries in no group.
    Grouping(Device &device, int64_t entries, int64_t groups);

    size_t workspace() const { return size_t(4 * words_ + int64_t(sizeof(uint32_t)) * counts_); }
    // The location of the keys when run() is called, and of the sorted keys and their entries'
    // indices afterwards.
    uint32_t *keys(char *workspace) const { return reinterpret_cast<uint32_t *>(workspace); }
    const uint32_t *sorted(char *workspace) const {
        return reinterpret_cast<uint32_t *>(workspace + passes_ % 2 * words_);
    }
    const uint32_t *order(char *workspace) const {
        return reinterpret_cast<uint32_t *>(workspace + (2 + passes_ % 2) * words_);
    }
    Error run(const Stream &stream, char *workspace) const;

    int64_t entries() const { return entries_; }
    int64_t groups() const { return groups_; }

private:
    int64_t entries_ = 0, groups_ = 0, passes_ = 0, piece_ = 0, pieces_ = 0;
    int64_t words_ = 0;   // bytes per list of entries
    int64_t counts_ = 0;  // of digits and chunks, and totals
    std::shared_ptr<const Kernel> small_, count_, sums_, place_;
};

// first[g] for g from 0 to groups: the start of group g in `sorted`.
class GroupFirst {
public:
    GroupFirst() = default;
    explicit GroupFirst(Device &device)
        : kernel_(device.compile(Source("index/group.cuh:first"))) {}
    Error run(const Stream &stream, const uint32_t *sorted, int64_t entries, int64_t groups,
              uint32_t *first) const {
        return kernel_->launch(stream, divide_up(groups + 1, 256), 256,
                               GroupFirstParams{sorted, first, entries, groups});
    }

private:
    std::shared_ptr<const Kernel> kernel_;
};

}  // namespace infini::cuda
