// Collectives with a communicator of InfiniCCL.
#include "infinicore/collectives.hpp"

#include <algorithm>

#include "../layout.h"
#include "../runtime.h"
#include "infinicore/ops/distributed/allgather.hpp"
#include "infinicore/ops/distributed/allreduce.hpp"
#include "infinicore/ops/distributed/broadcast.hpp"
#include "infinicore/ops/distributed/reduce_scatter.hpp"
#include "infinicore/ops/distributed/send_recv.hpp"
#include "infinicore/ops/linear.hpp"
#include "infinicore/ops/linear_allreduce.hpp"
#include "steps.h"

namespace infinicore::op::distributed {

using namespace detail;

namespace {

using collectives::Collective;

// A collective takes contiguous tensors; others are copied.
void run_dense(Collective collective) {
    const Tensor target = collective.recv;
    if (collective.send) collective.send = collective.send->contiguous();
    const bool is_dense = !target || target->is_contiguous();
    if (!is_dense) collective.recv = empty_like(target, target->shape());
    collectives::run(collective);
    if (!is_dense) target->copy_from(collective.recv);
}

int rank_of(infinicclComm_t communicator, const char *function) {
    int rank = 0;
    check(infinicclCommRank(communicator, &rank), function);
    return rank;
}

Shape with_rows(const Tensor &tensor, Size rows) {
    Shape shape = tensor->shape();
    if (shape.empty()) shape.push_back(1);
    shape[0] = rows;
    return shape;
}

Size sum_of(const std::vector<size_t> &sizes) {
    Size sum = 0;
    for (size_t size : sizes) sum += size;
    return sum;
}

bool are_equal(const std::vector<size_t> &sizes) {
    return std::all_of(sizes.begin(), sizes.end(), [&](size_t size) { return size == sizes[0]; });
}

void check_splits(const char *function, const char *argument, const Tensor &whole,
                  const std::vector<size_t> &sizes, infinicclComm_t communicator) {
    int ranks = 0;
    check(infinicclCommCount(communicator, &ranks), function);
    if (sizes.size() != size_t(ranks))
        fail(function, "split_sizes has " + std::to_string(sizes.size()) + " numbers: expected " +
                           std::to_string(ranks) + ", one for each rank");
    if (whole->ndim() == 0 || whole->shape()[0] != sum_of(sizes))
        refuse_shape(function, argument, whole, std::to_string(sum_of(sizes)) + " rows");
}

// Counts are in rows, and a one-dimensional tensor has one element per row.
Tensor flat(const Tensor &tensor) { return reshape(tensor, {tensor->numel()}); }

// Lets `run` fill a tensor through a one-dimensional view.
template <class Run>
void fill_flat(const Tensor &output, const Run &run) {
    const Tensor whole =
        is_viewable(output, {output->numel()}) ? output : empty_like(output, output->shape());
    run(flat(whole));
    if (whole.impl() != output.impl()) output->copy_from(whole);
}

}  // namespace

void allreduce_(Tensor output, const Tensor &input, infinicclReduceOp_t op,
                infinicclComm_t communicator) {
    INFINI_NEED_TENSORS(output, input);
    run_dense({INFINI_ALL_REDUCE, input, output, communicator, op});
}

Tensor allreduce(const Tensor &input, infinicclReduceOp_t op, infinicclComm_t communicator) {
    INFINI_NEED_TENSORS(input);
    Tensor output = empty_like(input, input->shape());
    allreduce_(output, input, op, communicator);
    return output;
}

void broadcast_(Tensor output, const Tensor &input, int root, infinicclComm_t communicator) {
    INFINI_NEED_TENSORS(output);
    const bool sends = rank_of(communicator, "broadcast_") == root;
    if (sends) INFINI_NEED_TENSORS(input);
    run_dense(
        {INFINI_BROADCAST, sends ? input : Tensor(), output, communicator, INFINICCL_SUM, root});
}

Tensor broadcast(const Tensor &input, int root, infinicclComm_t communicator) {
    INFINI_NEED_TENSORS(input);
    Tensor output = empty_like(input, input->shape());
    broadcast_(output, input, root, communicator);
    return output;
}

void allgather_(Tensor output, const Tensor &input, infinicclComm_t communicator) {
    INFINI_NEED_TENSORS(output, input);
    run_dense({INFINI_ALL_GATHER, input, output, communicator});
}

Tensor allgather(const Tensor &input, size_t world_size, infinicclComm_t communicator) {
    INFINI_NEED_TENSORS(input);
    const Size rows = input->ndim() ? input->shape()[0] : 1;
    Tensor output = empty_like(input, with_rows(input, rows * world_size));
    allgather_(output, input, communicator);
    return output;
}

// Rank r contributes split_sizes[r] rows.
void allgatherv_(Tensor output, const Tensor &input, const std::vector<size_t> &split_sizes,
                 infinicclComm_t communicator) {
    INFINI_NEED_TENSORS(output);
    check_splits("allgatherv_", "output", output, split_sizes, communicator);
    if (are_equal(split_sizes)) return allgather_(output, input, communicator);
    Size start = 0;
    for (size_t root = 0; root < split_sizes.size(); ++root) {
        if (split_sizes[root])
            broadcast_(part(output, 0, start, split_sizes[root]), input, int(root), communicator);
        start += split_sizes[root];
    }
}

Tensor allgatherv(const Tensor &input, const std::vector<size_t> &split_sizes,
                  infinicclComm_t communicator) {
    INFINI_NEED_TENSORS(input);
    Tensor output = empty_like(input, with_rows(input, sum_of(split_sizes)));
    allgatherv_(output, input, split_sizes, communicator);
    return output;
}

void AllGatherV::execute(Tensor output, const Tensor &input, std::vector<size_t> split_counts,
                         infinicclComm_t communicator) {
    need_tensors("AllGatherV::execute", {{"output", output}, {"input", input}});
    fill_flat(output, [&](const Tensor &into) {
        allgatherv_(into, flat(input), split_counts, communicator);
    });
}

void allgatherv_many_(const std::vector<Tensor> &outputs, const std::vector<Tensor> &inputs,
                      const std::vector<size_t> &split_sizes, infinicclComm_t communicator) {
    if (outputs.size() != inputs.size())
        fail("allgatherv_many_", "there are " + std::to_string(outputs.size()) +
                                     " outputs: expected " + std::to_string(inputs.size()));
    for (size_t i = 0; i < inputs.size(); ++i)
        allgatherv_(outputs[i], inputs[i], split_sizes, communicator);
}

std::vector<Tensor> allgatherv_many(const std::vector<Tensor> &inputs,
                                    const std::vector<size_t> &split_sizes,
                                    infinicclComm_t communicator) {
    std::vector<Tensor> outputs;
    for (const Tensor &input : inputs)
        outputs.push_back(allgatherv(input, split_sizes, communicator));
    return outputs;
}

void reduce_scatter_(Tensor output, const Tensor &input, infinicclReduceOp_t op,
                     infinicclComm_t communicator) {
    INFINI_NEED_TENSORS(output, input);
    run_dense({INFINI_REDUCE_SCATTER, input, output, communicator, op});
}

Tensor reduce_scatter(const Tensor &input, size_t world_size, infinicclReduceOp_t op,
                      infinicclComm_t communicator) {
    INFINI_NEED_TENSORS(input);
    if (input->ndim() == 0 || world_size == 0 || input->shape()[0] % world_size != 0)
        refuse_shape("reduce_scatter", "input", input,
                     "a multiple of " + std::to_string(world_size) + " rows");
    Tensor output = empty_like(input, with_rows(input, input->shape()[0] / world_size));
    reduce_scatter_(output, input, op, communicator);
    return output;
}

// Rank r receives split_sizes[r] rows.
void reduce_scatterv_(Tensor output, const Tensor &input, const std::vector<size_t> &split_sizes,
                      infinicclReduceOp_t op, infinicclComm_t communicator) {
    INFINI_NEED_TENSORS(output, input);
    check_splits("reduce_scatterv_", "input", input, split_sizes, communicator);
    const int rank = rank_of(communicator, "reduce_scatterv_");
    const Shape expected = with_rows(input, split_sizes[size_t(rank)]);
    if (output->shape() != expected)
        refuse_shape("reduce_scatterv_", "output", output, text_of(expected));
    if (are_equal(split_sizes)) return reduce_scatter_(output, input, op, communicator);
    Size start = 0;
    for (size_t root = 0; root < split_sizes.size(); ++root) {
        if (split_sizes[root])
            run_dense({INFINI_REDUCE, part(input, 0, start, split_sizes[root]),
                       int(root) == rank ? output : Tensor(), communicator, op, int(root)});
        start += split_sizes[root];
    }
}

Tensor reduce_scatterv(const Tensor &input, const std::vector<size_t> &split_sizes, size_t rank,
                       infinicclReduceOp_t op, infinicclComm_t communicator) {
    INFINI_NEED_TENSORS(input);
    if (rank >= split_sizes.size())
        fail("reduce_scatterv", "rank is " + std::to_string(rank) + ": expected less than " +
                                    std::to_string(split_sizes.size()));
    const int own = rank_of(communicator, "reduce_scatterv");
    if (rank != size_t(own))
        fail("reduce_scatterv", "rank is " + std::to_string(rank) + ": expected " +
                                    std::to_string(own) + ", the communicator's");
    Tensor output = empty_like(input, with_rows(input, split_sizes[rank]));
    reduce_scatterv_(output, input, split_sizes, op, communicator);
    return output;
}

void ReduceScatterV::execute(Tensor output, const Tensor &input, std::vector<size_t> split_counts,
                             infinicclReduceOp_t op, infinicclComm_t communicator) {
    need_tensors("ReduceScatterV::execute", {{"output", output}, {"input", input}});
    fill_flat(output, [&](const Tensor &into) {
        reduce_scatterv_(into, flat(input), split_counts, op, communicator);
    });
}

void reduce_scatterv_many_(const std::vector<Tensor> &outputs, const std::vector<Tensor> &inputs,
                           const std::vector<size_t> &split_sizes, infinicclReduceOp_t op,
                           infinicclComm_t communicator) {
    if (outputs.size() != inputs.size())
        fail("reduce_scatterv_many_", "there are " + std::to_string(outputs.size()) +
                                          " outputs: expected " + std::to_string(inputs.size()));
    for (size_t i = 0; i < inputs.size(); ++i)
        reduce_scatterv_(outputs[i], inputs[i], split_sizes, op, communicator);
}

std::vector<Tensor> reduce_scatterv_many(const std::vector<Tensor> &inputs,
                                         const std::vector<size_t> &split_sizes, size_t rank,
                                         infinicclReduceOp_t op, infinicclComm_t communicator) {
    std::vector<Tensor> outputs;
    for (const Tensor &input : inputs)
        outputs.push_back(reduce_scatterv(input, split_sizes, rank, op, communicator));
    return outputs;
}

void send(const Tensor &input, int peer, infinicclComm_t communicator) {
    INFINI_NEED_TENSORS(input);
    run_dense({INFINI_SEND, input, Tensor(), communicator, INFINICCL_SUM, peer});
}

void recv_(Tensor output, int peer, infinicclComm_t communicator) {
    INFINI_NEED_TENSORS(output);
    run_dense({INFINI_RECEIVE, Tensor(), output, communicator, INFINICCL_SUM, peer});
}

Tensor recv(const Shape &shape, DataType dtype, Device device, int peer,
            infinicclComm_t communicator) {
    Tensor output = Tensor::empty(shape, dtype, device);
    recv_(output, peer, communicator);
    return output;
}

}  // namespace infinicore::op::distributed

namespace infinicore::op {

void linear_allreduce_(Tensor out, Tensor input, Tensor weight, std::optional<Tensor> bias,
                       infinicclComm_t communicator, float alpha) {
    INFINI_NEED_TENSORS(out, input, weight);
    linear_(out, input, weight, std::move(bias), alpha);
    distributed::allreduce_(out, out, INFINICCL_SUM, communicator);
}

Tensor linear_allreduce(Tensor input, Tensor weight, std::optional<Tensor> bias,
                        infinicclComm_t communicator, float alpha) {
    INFINI_NEED_TENSORS(input, weight);
    Tensor out = linear(input, weight, std::move(bias), alpha);
    distributed::allreduce_(out, out, INFINICCL_SUM, communicator);
    return out;
}

void linear_allreduce_packed_(Tensor out, Tensor input, Tensor packed_weight,
                              std::optional<Tensor> bias, infinicclComm_t communicator,
                              float alpha) {
    INFINI_NEED_TENSORS(out, input, packed_weight);
    linear_packed_(out, input, packed_weight, std::move(bias), alpha);
    distributed::allreduce_(out, out, INFINICCL_SUM, communicator);
}

Tensor linear_allreduce_packed(Tensor input, Tensor packed_weight, std::optional<Tensor> bias,
                               infinicclComm_t communicator, float alpha) {
    INFINI_NEED_TENSORS(input, packed_weight);
    Tensor out = linear_packed(input, packed_weight, std::move(bias), alpha);
    distributed::allreduce_(out, out, INFINICCL_SUM, communicator);
    return out;
}

}  // namespace infinicore::op
