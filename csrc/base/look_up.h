/* Small tables with one key per row. For back ends written in C++. Header only. */
#ifndef INFINI_LOOK_UP_H
#define INFINI_LOOK_UP_H

#include <utility>

namespace infini {

// The value for the key, else `otherwise`.
template <class Key, class Value, unsigned long rows>
constexpr Value look_up(const std::pair<Key, Value> (&table)[rows], Key key, Value otherwise) {
    for (const auto &[known, value] : table)
        if (known == key) return value;
    return otherwise;
}

}  // namespace infini
#endif
