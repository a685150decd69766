// Where the entries of each group begin among the sorted ones.
#include "group_params.h"

using namespace infini;

INFINI_ENTRY(GroupFirstParams, 256, 1) {
    const int64_t group = grid_thread();
    if (group > p.groups) return;
    int64_t low = 0, high = p.entries;  // the answer is from low to high
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (p.sorted_keys[middle] < group)
            low = middle + 1;
        else
            high = middle;
    }
    p.first[group] = uint32_t(low);
}
