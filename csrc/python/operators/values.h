// Conversion of attributes and scalars from Python to C.
#pragma once

#include <nanobind/nanobind.h>

#include <deque>
#include <string>
#include <vector>

#include "rows.h"

namespace infini::python {

using infinicore::detail::kRowCount, infinicore::detail::kRows;
using infinicore::detail::Row, infinicore::detail::RunRow, infinicore::detail::Value;

namespace nb = nanobind;

// `kinds` has a letter for each item, see RunRow. Owns what the values point to.
class Values {
public:
    Values(const char *kinds, nb::handle items);
    const Value *data() const { return values_.data(); }
    const std::vector<Value> &values() const { return values_; }
    const std::vector<size_t> &counts() const { return counts_; }

private:
    void *list(char kind, nb::handle items);

    std::vector<Value> values_;
    std::vector<size_t> counts_;  // elements of lists and characters of texts
    std::deque<std::vector<int64_t>> lists_;
    std::deque<std::string> texts_;
};

}  // namespace infini::python
