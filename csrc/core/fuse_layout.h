// Layouts in the fuser: index spaces, views of one another, and shared memory.
#pragma once

#include <optional>
#include <vector>

#include "recorder.h"

namespace infinicore::detail {

using Sizes = std::vector<int64_t>;

int64_t count_of(const Sizes &shape);

// Whether the two have the same shape, and each element at the same address.
bool same_elements(const Layout &a, const Layout &b);

// The shape that all of them are broadcast to.
Sizes broadcast_of(const std::vector<Sizes> &shapes);

// Another way to iterate over an index space: its dimensions permuted, then split and merged
// into another shape. The elements stay in their order.
struct Reindexing {
    Sizes from;              // the space
    std::vector<int> order;  // of its dimensions
    Sizes to;

    // The layout in the new space of a tensor that is broadcast to the old one. None: it would take
    // a copy.
    std::optional<Layout> operator()(const Layout &layout) const;
};

// One that maps a tensor's layout to that of another view of the same memory; none if there is
// none.
std::optional<Reindexing> reindexing(const Layout &tensor, const Layout &like);

// Bytes that a tensor may touch.
struct Range {
    const Memory *memory = nullptr;  // null: none
    int64_t begin = 0, end = 0;      // bytes of the memory

    bool overlaps(const Range &other) const;
    // Two arguments of a traced function, which may share memory when it is called.
    bool may_be(const Range &other) const;
    // The same, but not element by element.
    bool may_be_part(const Range &other) const;
};

Range range_of(const Location &place, const Layout *layout);  // null: all of the memory

}  // namespace infinicore::detail
