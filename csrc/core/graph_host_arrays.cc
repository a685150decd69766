// Arrays of the host whose values a graph copies into tensors before it runs.
#include <algorithm>

#include "graph_state.h"
#include "layout.h"

namespace infinicore::graph {

void Graph::bind_host_int_array(Tensor tensor, const int32_t *values, size_t n) {
    auto refuse = [](const std::string &sentence) {
        detail::fail("Graph::bind_host_int_array", sentence);
    };
    if (!tensor) refuse("tensor is empty: expected a tensor");
    if (tensor->dtype() != DataType::I32)
        refuse("tensor is of type " + toString(tensor->dtype()) + ": expected I32");
    if (tensor->numel() != n)
        refuse("tensor has shape " + detail::text_of(tensor->shape()) + ": expected n elements, " +
               std::to_string(n));
    if (!tensor->is_contiguous())
        refuse("tensor has strides " + detail::text_of(tensor->strides()) +
               ": expected a contiguous tensor");
    if (n == 0) return;
    if (!values) refuse("values is null: expected " + std::to_string(n) + " numbers");
    tensor->data_to_write();  // its place, for as long as it lives
    auto &bound = state_->host_arrays;
    auto found = std::find_if(bound.begin(), bound.end(), [&](const State::HostArray &each) {
        return each.tensor->memory() == tensor->memory() &&
               each.tensor->offset() == tensor->offset();
    });
    if (found == bound.end()) found = bound.insert(bound.end(), State::HostArray());
    *found = {std::move(tensor), values, n};
}

void Graph::State::copy_host_arrays() const {
    for (const HostArray &array : host_arrays) {
        // The caller may change the array while the copy is queued. The runtime keeps the values of
        // memory that is not pinned, such as this copy.
        std::vector<int32_t> now(array.values, array.values + array.count);
        array.tensor->copy_from(
            Tensor::from_blob(now.data(), array.tensor->shape(), DataType::I32, Device::cpu()));
    }
}

}  // namespace infinicore::graph
