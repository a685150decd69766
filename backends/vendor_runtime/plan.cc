// Operators: by the vendor's library where it has them, else their program by the plain engine.
#include "plan.h"

#include <algorithm>

#include "plain_kernels.h"
#include "plan_operation.h"
#include "stream.h"

using infini::vendor_runtime::copy_bytes;

namespace {

size_t element_bytes(int dtype) { return infiniSizeOf(static_cast<infiniDtype_t>(dtype)); }

// Calls body(offset) for each row of elements that lie side by side; `bytes` of each.
template <class Body>
infinirtError_t each_run(const InfiniPlan::Operand &operand, const Body &body) {
    const infini::Shape &shape = operand.shape;
    const int last = shape.ndim - 1;
    const bool packed = shape.ndim > 0 && shape.stride[last] == 1;
    const int outer = packed ? last : shape.ndim;
    const size_t bytes = operand.element * size_t(packed ? shape.size[last] : 1);
    int64_t index[infini::Shape::kMost] = {};
    for (;;) {
        int64_t offset = 0;
        for (int i = 0; i < outer; ++i) offset += index[i] * shape.stride[i];
        if (infinirtError_t error = body(offset * int64_t(operand.element), bytes)) return error;
        int dim = outer - 1;
        for (; dim >= 0; --dim) {
            if (++index[dim] < shape.size[dim]) break;
            index[dim] = 0;
        }
        if (dim < 0) return infinirtSuccess;
    }
}

}  // namespace

infinirtError_t InfiniPlan::run_on_host(void *const *pointers, size_t pointer_count,
                                        const InfiniScalar *scalars, size_t scalar_count) const {
    std::vector<void *> staged(pointers, pointers + pointer_count);
    std::vector<std::vector<char>> buffers(operands.size());
    for (size_t i = 0; i < operands.size(); ++i) {
        const Operand &operand = operands[i];
        auto *there = static_cast<char *>(pointers[operand.pointer]);
        if (!there || operand.end <= operand.begin) continue;
        buffers[i].resize(size_t(operand.end - operand.begin));
        if (auto error =
                copy_bytes(buffers[i].data(), -1, there + operand.begin, device, buffers[i].size()))
            return error;
        staged[size_t(operand.pointer)] = buffers[i].data() - operand.begin;
    }
    std::vector<char> workspace(program->workspace);
    const InfiniArguments arguments{staged.data(), scalars, pointer_count, scalar_count,
                                    workspace.data()};
    program->run({arguments});
    for (size_t i = 0; i < operands.size(); ++i) {
        const Operand &operand = operands[i];
        if (!operand.written || buffers[i].empty()) continue;
        auto *there = static_cast<char *>(pointers[operand.pointer]);
        auto *here = buffers[i].data() - operand.begin;
        infinirtError_t error;
        if (operand.dense)
            error =
                copy_bytes(there + operand.begin, device, buffers[i].data(), -1, buffers[i].size());
        else  // what lies between its elements may be another stream's
            error = each_run(operand, [&](int64_t offset, size_t bytes) {
                return copy_bytes(there + offset, device, here + offset, -1, bytes);
            });
        if (error) return error;
    }
    return infinirtSuccess;
}

namespace infini::vendor_runtime {
namespace {

using Operand = InfiniPlan::Operand;

Operand operand_of(const Tensor &tensor, int pointer, bool from_far_end) {
    Operand operand{};
    operand.pointer = pointer;
    operand.shape = tensor;
    operand.element = element_bytes(tensor.dtype);
    int64_t low = 0, high = 0, count = 1;
    for (int i = 0; i < tensor.ndim; ++i) {
        int64_t &stride = operand.shape.stride[i];
        if (from_far_end && stride < 0) stride = -stride;  // the same elements
        count *= tensor.size(i);
        (stride < 0 ? low : high) += (tensor.size(i) - 1) * stride;
    }
    if (count == 0) return operand;
    operand.begin = low * int64_t(operand.element);
    operand.end = (high + 1) * int64_t(operand.element);
    operand.dense = high + 1 - low == count;
    return operand;
}

// The tensors of a program, each once, and which of them it writes.
std::vector<Operand> operands_of(const Operation &operation) {
    const InfiniProgram &program = *operation.program();
    std::vector<Operand> operands;
    auto find = [&](const InfiniOperand &given) -> Operand & {
        for (Operand &known : operands)
            if (known.pointer == given.pointer) return known;
        operands.push_back(operand_of(operation.tensor(given.index), given.pointer,
                                      program.flags & INFINI_PROGRAM_BLAS));
        return operands.back();
    };
    for (int i = 0; i < program.operand_count; ++i)
        if (const InfiniOperand &given = program.operands[i];
            given.kind == INFINI_OPERAND_TENSOR && operation.tensor(given.index))
            find(given);
    for (int s = 0; s < program.stage_count; ++s)
        for (int k = 0; k < program.stages[s].output_count; ++k) {
            const int number = program.stages[s].outputs[k];
            if (number >= 0 && program.operands[number].kind == INFINI_OPERAND_TENSOR)
                find(program.operands[number]).written = true;
        }
    return operands;
}

int plan(int device, const InfiniOperation *given, InfiniPlan **result, size_t *workspace_bytes) {
    const Operation operation(*given);
    try {
        auto made = std::make_unique<InfiniPlan>();
        made->device = device;
        *workspace_bytes = 0;
        const bool followed = given->program && given->program->flags & INFINI_PROGRAM_EPILOGUE;
        if (!followed && vendor.plan && !is_empty_product(operation)) try {
                made->library = vendor.plan(device, operation);
            } catch (const Refusal &) {
                made->program = plan_plain_kernel(operation);
                if (!made->program) throw;
            }
        if (!made->library && !made->program && !given->program)
            made->program = plan_plain_kernel(operation);
        if (made->library) {
            *workspace_bytes = made->library->workspace;
        } else if (made->program) {
            for (int i = 0; i < operation.tensor_count(); ++i)
                made->operands.push_back(operand_of(operation.tensor(i), i, false));
            made->operands[0].written = true;
        } else if (!given->program) {
            throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                          std::string(given->name) + ": " + vendor.name +
                              "'s library is not used for it, and it has no program that the plain "
                              "engine could evaluate"};
        } else {
            made->program = plain::plan(operation);
            made->operands = operands_of(operation);
        }
        *result = made.release();
        return INFINI_STATUS_SUCCESS;
    } catch (...) {
        return explain_failed_plan(given->name,
                                   [](Error error, const char *, const char *sentence) {
                                       return explain(error, sentence);
                                   });
    }
}

void add_holder(InfiniPlan *plan) { ++plan->holders; }

}  // namespace

void drop(InfiniPlan *plan) {
    if (--plan->holders == 0) delete plan;
}

const InfiniOperators operators = {sizeof(InfiniOperators), plan, add_holder, drop};

}  // namespace infini::vendor_runtime
