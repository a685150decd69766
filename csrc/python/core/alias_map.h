// Which results of a call share memory with its other arguments.
#pragma once

#include <utility>
#include <vector>

#include "recipe.h"

namespace infini::python {

using infinicore::detail::OpenMemory;

// A body needs this: an operator that would overwrite what it has yet to read needs a temporary.
class AliasMap {
public:
    enum : uint8_t {
        kApart = OpenMemory::kApart,
        kSame = OpenMemory::kSame,
        kPart = OpenMemory::kPart
    };

    // Results are the arguments from `first` to `last`.
    void find(const CallArguments &arguments, size_t first, size_t last) {
        first_ = first, last_ = last, count_ = arguments.tensors.size();
        if (last - first == count_) return;
        for (size_t out = first; out < last; ++out)
            for (size_t i = 0; i < count_; ++i) {
                if (i >= first && i < last) continue;
                const uint8_t code =
                    compared(*tensor_of(arguments.tensors[out]), *tensor_of(arguments.tensors[i]));
                if (code == kApart) continue;
                if (codes_.empty()) codes_.resize((last - first) * count_);
                codes_[(out - first) * count_ + i] = code;
            }
    }
    const std::vector<uint8_t> &codes() const { return codes_; }

    // The overlaps recorded in an argument's memory while the body is traced.
    void tell(OpenMemory &argument) const {
        const auto index = size_t(argument.index);
        argument.takes_result = index >= first_ && index < last_;
        if (!argument.takes_result || codes_.empty()) return;
        auto begin = codes_.begin() + std::ptrdiff_t((index - first_) * count_);
        argument.meets.assign(begin, begin + std::ptrdiff_t(count_));
    }

    // Of two arguments of the traced call.
    uint8_t of(size_t out, size_t other) const {
        if (codes_.empty() || out < first_ || out >= last_ || other >= count_) return kApart;
        return codes_[(out - first_) * count_ + other];
    }

    // Of any two tensors.
    static uint8_t compared(const TensorImpl &a, const TensorImpl &b) {
        if (a.memory() != b.memory() && are_apart(*a.memory(), *b.memory())) [[likely]]
            return kApart;
        if (a.numel() == 0 || b.numel() == 0) return kApart;
        auto [low, high] = extent(a);
        auto [begin, end] = extent(b);
        if (a.memory() != b.memory()) {
            // Two foreign memories may share the same addresses.
            const std::ptrdiff_t gap = b.memory()->data() - a.memory()->data();
            begin += gap, end += gap;
        }
        if (begin >= high || low >= end) return kApart;
        const bool same = low == begin && a.shape() == b.shape() && a.strides() == b.strides() &&
                          a.dtype() == b.dtype();
        return same ? kSame : kPart;
    }

private:
    static bool are_apart(Memory &a, Memory &b) {
        if (!a.is_placed() || !b.is_placed()) return true;
        return a.data() + a.size() <= b.data() || b.data() + b.size() <= a.data();
    }
    // First and last byte, from the memory's beginning.
    static std::pair<std::ptrdiff_t, std::ptrdiff_t> extent(const TensorImpl &tensor) {
        const auto size = std::ptrdiff_t(tensor.element_size());
        std::ptrdiff_t low = std::ptrdiff_t(tensor.offset()), high = low + size;
        for (size_t d = 0; d < tensor.ndim(); ++d) {
            const std::ptrdiff_t reach =
                (std::ptrdiff_t(tensor.shape()[d]) - 1) * tensor.strides()[d] * size;
            (reach < 0 ? low : high) += reach;
        }
        return {low, high};
    }
    size_t first_ = 0, last_ = 0, count_ = 0;
    std::vector<uint8_t> codes_;  // empty: all are disjoint
};

// The map of the call whose body runs in this thread.
inline thread_local const AliasMap *current_aliases = nullptr;

class AliasScope {
public:
    explicit AliasScope(const AliasMap &aliases) : before_(current_aliases) {
        current_aliases = &aliases;
    }
    ~AliasScope() { current_aliases = before_; }
    AliasScope(const AliasScope &) = delete;

private:
    const AliasMap *before_;
};

// Of two tensors of the body that runs.
inline int out_meets(const Tensor &out, const Tensor &other) {
    const auto *one = dynamic_cast<OpenMemory *>(out->memory().get());
    const auto *two = dynamic_cast<OpenMemory *>(other->memory().get());
    const bool are_arguments = current_aliases && one && two && one != two &&
                               one->role == OpenMemory::Role::Argument &&
                               two->role == OpenMemory::Role::Argument;
    if (are_arguments) return current_aliases->of(size_t(one->index), size_t(two->index));
    return AliasMap::compared(*out, *other);
}

}  // namespace infini::python
