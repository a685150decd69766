// Graphs in files: the operators as they were recorded, and the contents of what they read.
//
// All numbers are little-endian and 8 bytes wide; a text or a list is its count and its elements.
//
//   "INFGRAPH", version
//   memories: size; kind (0 inside the graph, 1 a tensor of the client's, 2 a constant);
//             contents as chunks: offset, bytes; none for what the graph makes itself
//   steps:    operator, run function, attributes, scalars,
//             for each declared tensor a count (1, unless it is an array) and the tensors
//   inputs:   name, tensor
//   outputs:  name, tensor
//
// A tensor is: present (0 or 1), then dtype, shape, strides, memory, offset. A value is a number
// (its eight bytes), or a list of the kind that the operator's row says.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "rows.h"

namespace infinicore::graph {

static_assert(std::endian::native == std::endian::little);

constexpr char kMagic[] = "INFGRAPH";
constexpr uint64_t kVersion = 2;  // 1 was a zip
constexpr uint64_t kAbsent = ~uint64_t{0};

enum class Kind : uint64_t { Inside, Client, Constant };

// Of an attribute or scalar, by its letter (see RunRow): bytes of an element; 0 of a number.
constexpr size_t element_bytes(char kind) {
    switch (kind) {
        case 'I':
        case 'F':
            return 4;
        case 'L':
        case 'D':
            return 8;
        case 's':
            return 1;
        default:
            return 0;
    }
}

// The reason why a call cannot be described by a file whose numbers are all checked; empty: it can.
inline std::string unsafe_reason(const detail::Row &row, int run) {
    const detail::RunRow &running = row.runs[run];
    for (size_t i = 0; running.pointers[i]; ++i)
        if (running.tensors[i] < 0)
            return "it takes memory whose size no tensor says, which a file can't be trusted with";
    for (size_t i = 0; running.scalars[i]; ++i)
        if (element_bytes(running.scalars[i]))
            return "a run of it takes lists, which a file can't be trusted with";
    return {};
}

}  // namespace infinicore::graph
