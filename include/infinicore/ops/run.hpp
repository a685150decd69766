// The operators of InfiniOP by name, on tensors.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "infinicore/tensor.hpp"

namespace infinicore::op {

// One tensor argument of an operator: a tensor, an empty one if it is optional, or a list.
class Argument {
public:
    Argument(Tensor tensor) : tensors_{std::move(tensor)} {}
    Argument(std::vector<Tensor> tensors) : tensors_(std::move(tensors)), is_list_(true) {}
    const std::vector<Tensor> &tensors() const { return tensors_; }
    bool is_list() const { return is_list_; }

private:
    std::vector<Tensor> tensors_;
    bool is_list_ = false;
};

using Value = std::variant<int64_t, double, std::vector<int64_t>, std::vector<double>, std::string>;

// Runs an operator in the stream of the tensors' device, or records it while a graph is recorded.
// The tensors, results first, and the attributes are in the order of the C function that creates
// the descriptor (infiniop/ops/*.h); the scalars are those of the C function that runs it.
//     op::run("add", {c, a, b});
//     op::run("rms_norm", {y, x, weight}, {1e-6});
INFINI_EXPORT void run(const std::string &name, const std::vector<Argument> &tensors,
                       const std::vector<Value> &attributes = {},
                       const std::vector<Value> &scalars = {});

}  // namespace infinicore::op
