// An operator that was described, ready to run any number of times.
//
// Ownership: a plan owns its descriptor. The library keeps what running work needs, so a plan may
// go at any time. Tensors are kept until the stream is done with them (`infinicore._rt._hold`), and
// the workspace is allocated and freed in the order of the stream.
#pragma once

#include <nanobind/nanobind.h>

#include <deque>
#include <vector>

#include "rows.h"
#include "view.h"

namespace infini::python {

using infinicore::detail::kRowCount, infinicore::detail::kRows;
using infinicore::detail::Row, infinicore::detail::RunRow, infinicore::detail::Value;

class Plan {
public:
    Plan(int index, nb::handle tensors, nb::handle attributes);
    Plan(const Plan &) = delete;
    ~Plan() {
        if (descriptor_) row_.destroy(descriptor_);
    }

    // Pointers and scalars in the order of the run function. The result: what it wrote to the host.
    nb::object run(int number, nb::handle data, nb::handle scalars, nb::handle stream);

    size_t workspace_size() const { return workspace_; }
    const char *name() const { return row_.name; }

private:
    struct Layout {
        int dtype = 0;  // 0: absent
        std::vector<int64_t> shape, strides;
        bool matches(const View &view) const;
    };
    struct Arguments;

    void *address(nb::handle object, const RunRow &run, size_t place, size_t item, Arguments &into);

    const Row &row_;
    InfiniopDescriptor *descriptor_ = nullptr;
    size_t workspace_ = 0;
    std::vector<std::vector<Layout>> layouts_;  // by declared tensor
};

void bind_plan(nb::module_ &m);

}  // namespace infini::python
