#include "fuse_layout.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace infinicore::detail {

int64_t count_of(const Sizes &shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

bool same_elements(const Layout &a, const Layout &b) {
    if (a.dtype != b.dtype || a.shape != b.shape) return false;
    for (size_t i = 0; i < a.shape.size(); ++i)
        if (a.shape[i] != 1 && a.strides[i] != b.strides[i]) return false;
    return true;
}

Sizes broadcast_of(const std::vector<Sizes> &shapes) {
    size_t most = 0;
    for (const Sizes &shape : shapes) most = std::max(most, shape.size());
    Sizes result(most, 1);
    for (const Sizes &shape : shapes)
        for (size_t i = 0; i < shape.size(); ++i)
            if (shape[i] != 1) result[i + most - shape.size()] = shape[i];
    return result;
}

std::optional<Layout> Reindexing::operator()(const Layout &layout) const {
    if (layout.shape.size() > from.size()) return std::nullopt;
    // Its strides in the space, 0 where it is broadcast.
    std::vector<int64_t> strides(from.size(), 0);
    const size_t missing = from.size() - layout.shape.size();
    for (size_t i = 0; i < layout.shape.size(); ++i)
        if (layout.shape[i] != 1) strides[i + missing] = layout.strides[i];
    // Adjacent dimensions that can be merged, outermost first.
    struct Piece {
        int64_t size, stride;
    };
    std::vector<Piece> pieces;
    for (int dim : order) {
        const int64_t size = from[size_t(dim)], stride = strides[size_t(dim)];
        if (size == 1) continue;
        if (!pieces.empty() && pieces.back().stride == stride * size)
            pieces.back() = {pieces.back().size * size, stride};
        else
            pieces.push_back({size, stride});
    }
    Layout result{layout.dtype, to, Sizes(to.size(), 0)};
    for (size_t i = to.size(); i-- > 0;) {
        if (to[i] == 1) continue;
        if (pieces.empty() || pieces.back().size % to[i] != 0) return std::nullopt;
        Piece &piece = pieces.back();
        result.strides[i] = piece.stride;
        piece = {piece.size / to[i], piece.stride * to[i]};
        if (piece.size == 1) pieces.pop_back();
    }
    if (!pieces.empty()) return std::nullopt;
    return result;
}

std::optional<Reindexing> reindexing(const Layout &tensor, const Layout &like) {
    if (count_of(tensor.shape) != count_of(like.shape)) return std::nullopt;
    Reindexing result{tensor.shape, std::vector<int>(tensor.shape.size()), like.shape};
    std::iota(result.order.begin(), result.order.end(), 0);
    auto fits = [&] {
        const auto seen = result(tensor);
        return seen && same_elements(*seen, like);
    };
    if (fits()) return result;
    // In the order of memory.
    std::stable_sort(result.order.begin(), result.order.end(), [&](int a, int b) {
        return std::llabs(tensor.strides[size_t(a)]) > std::llabs(tensor.strides[size_t(b)]);
    });
    if (fits()) return result;
    return std::nullopt;
}

bool Range::overlaps(const Range &other) const {
    if (!memory || !other.memory || begin == end || other.begin == other.end) return false;
    if (memory == other.memory) return begin < other.end && other.begin < end;
    // Two may overlap, e.g. both made of one part of a client's memory.
    if (!memory->is_placed() || !other.memory->is_placed()) return false;
    auto address = [](const Memory *which) {
        return reinterpret_cast<intptr_t>(const_cast<Memory *>(which)->data());
    };
    const intptr_t mine = address(memory), its = address(other.memory);
    return mine + begin < its + other.end && its + other.begin < mine + end;
}

namespace {

int meets(const Memory *one, const Memory *other) {
    auto argument = [](const Memory *which) -> const OpenMemory * {
        const auto *open = dynamic_cast<const OpenMemory *>(which);
        return open && open->role == OpenMemory::Role::Argument ? open : nullptr;
    };
    const OpenMemory *a = argument(one), *b = argument(other);
    if (!a || !b || a == b) return OpenMemory::kApart;
    if (a->takes_result == b->takes_result) return OpenMemory::kPart;
    if (b->takes_result) std::swap(a, b);
    const auto index = size_t(b->index);
    return index < a->meets.size() ? int(a->meets[index]) : int(OpenMemory::kApart);
}

}  // namespace

bool Range::may_be(const Range &other) const {
    return meets(memory, other.memory) != OpenMemory::kApart;
}

bool Range::may_be_part(const Range &other) const {
    return meets(memory, other.memory) == OpenMemory::kPart;
}

Range range_of(const Location &place, const Layout *layout) {
    if (!place.memory) return {};
    if (!layout) return {place.memory.get(), 0, int64_t(place.memory->size())};
    const int64_t bytes = int64_t(dsize(layout->dtype));
    int64_t low = 0, high = 1;
    for (size_t i = 0; i < layout->shape.size(); ++i) {
        if (layout->shape[i] == 0) return {place.memory.get(), 0, 0};
        (layout->strides[i] < 0 ? low : high) += (layout->shape[i] - 1) * layout->strides[i];
    }
    const int64_t start = int64_t(place.offset);
    return {place.memory.get(), start + low * bytes, start + high * bytes};
}

}  // namespace infinicore::detail
