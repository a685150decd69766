// Sequences of paged attention in the form that libraries require: lists on the host, with a table
// of valid blocks.
//
// The operators skip keys in blocks that the cache does not have, and a query without visible keys
// gives zeros; the libraries do not check the table. So a sequence with an invalid block is split
// into several: the queries whose last key is in the same block, with a table of the valid blocks
// up to it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace infini::vendor_runtime {

struct PagedInput {
    int64_t queries = 0;                      // rows of q
    std::vector<int64_t> lengths;             // keys of a sequence
    std::vector<int64_t> bounds;              // of its queries, one more than sequences
    std::vector<int64_t> tables;              // [sequences, width]
    int64_t width = 0, blocks = 0, rows = 0;  // of a table; of the cache; of a block
    bool single = false;                      // one query in each sequence of the result
};

struct PagedLists {
    std::vector<int64_t> ends;     // of queries: cover all of them, in order
    std::vector<int64_t> lengths;  // keys; the last query sees all of them, the one before one less
    std::vector<int32_t> tables;   // [ends.size(), width]
    std::vector<std::pair<int64_t, int64_t>> silent;  // ranges of queries without visible keys
};

PagedLists paged_lists(const PagedInput &input);

}  // namespace infini::vendor_runtime
