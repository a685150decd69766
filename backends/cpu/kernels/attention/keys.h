// Where the keys and values of one head of one sequence lie: in a row of rows, or in the pages of a
// cache that a table names.
#pragma once

#include "rows.h"

namespace infini::cpu {

struct KeyRows {
    const char *k = nullptr, *v = nullptr;
    int64_t k_row = 0, v_row = 0;  // strides, in elements
    int64_t k_inner = 1, v_inner = 1;
    const void *table = nullptr;  // null: no pages
    int table_dtype = 0;
    int64_t table_stride = 0;
    int64_t pages = 0, page_size = 0;  // of the cache
    int64_t k_page = 0, v_page = 0;

    // Rows that follow each other with the strides above. No k: the cache has no such page; its
    // keys are left out, and nothing is read.
    struct Run {
        const char *k, *v;
        int64_t count;
    };

    // The run that begins with key t and ends before `end`. `size`: bytes of an element.
    Run run(int64_t t, int64_t end, int64_t size) const {
        if (!table) return {k + t * k_row * size, v + t * v_row * size, end - t};
        int64_t row = t % page_size, count = std::min(page_size - row, end - t);
        int64_t page = load_as<int64_t>(table_dtype, table, t / page_size * table_stride);
        if (page < 0 || page >= pages) return {nullptr, nullptr, count};
        return {k + (page * k_page + row * k_row) * size, v + (page * v_page + row * v_row) * size,
                count};
    }
};

}  // namespace infini::cpu
