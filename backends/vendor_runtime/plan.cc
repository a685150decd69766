// Operators: by the vendor's library if it has them, else their program by the plain engine.
#include "plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string_view>

#include "kernels/random/philox.h"
#include "plan_operation.h"
#include "stream.h"

using infini::vendor_runtime::copy_bytes;

namespace {

size_t element_bytes(int dtype) { return infiniSizeOf(static_cast<infiniDtype_t>(dtype)); }

// Calls body(offset) for each contiguous row of `bytes` bytes.
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
        else  // the gaps between its elements may belong to another stream
            error = each_run(operand, [&](int64_t offset, size_t bytes) {
                return copy_bytes(there + offset, device, here + offset, -1, bytes);
            });
        if (error) return error;
    }
    return infinirtSuccess;
}

namespace infini::vendor_runtime {
namespace {

// Calls body(offset...) for each index in row-major order: offsets of elements, one for each shape.
template <class Body, class... Shapes>
void each_element(const Body &body, const Shape &first, const Shapes &...others) {
    int64_t count = 1;
    for (int i = 0; i < first.ndim; ++i) count *= first.size[i];
    auto offset = [&](const Shape &shape, int64_t number) {
        int64_t sum = 0;
        for (int i = first.ndim - 1; i >= 0; number /= first.size[i--])
            sum += number % first.size[i] * shape.stride[i];
        return sum;
    };
    for (int64_t i = 0; i < count; ++i) body(i, offset(first, i), offset(others, i)...);
}

int64_t element_of(const Shape &shape) {
    return int64_t(infiniSizeOf(static_cast<infiniDtype_t>(shape.dtype)));
}

class Rearrange final : public plain::Plan {
public:
    explicit Rearrange(const Operation &operation)
        : to_(operation.tensor(0)), from_(operation.tensor(1)), element_(element_of(to_)) {}

    void run(const Arguments &arguments) const override {
        each_element(
            [&](int64_t, int64_t to, int64_t from) {
                std::memcpy(arguments.pointer<char>(0) + to * element_,
                            arguments.pointer<char>(1) + from * element_, size_t(element_));
            },
            to_, from_);
    }

private:
    const Shape to_, from_;
    const int64_t element_;
};

// The sums are empty: only beta * c remains.
class EmptyProduct final : public plain::Plan {
public:
    explicit EmptyProduct(const Operation &operation)
        : shape_(operation.tensor(0)), element_(element_of(shape_)) {}

    void run(const Arguments &arguments) const override {
        const auto storage = plain::storage_of<double>(shape_.dtype);
        const double beta = arguments.number(1);
        each_element(
            [&](int64_t, int64_t offset) {
                char *c = arguments.pointer<char>(0) + offset * element_;
                storage.store(c, beta == 0 ? 0 : beta * storage.load(c));
            },
            shape_);
    }

private:
    const Shape shape_;
    const int64_t element_;
};

// The words of a run's random sequence, of 32 or 64 bits, one for each element.
class Words {
public:
    Words(const Arguments &arguments, bool wide)
        : seed_(uint64_t(arguments.integer(0))),
          offset_(uint64_t(arguments.integer(1))),
          wide_(wide) {}

    uint64_t operator()(int64_t i) {
        const int64_t first = wide_ ? 2 * i : i, chunk = first / kChunk;
        if (chunk != made_) {
            cpu::philox(words_, seed_, offset_ + uint64_t(chunk) * kBlocks, kBlocks);
            made_ = chunk;
        }
        const uint32_t *here = words_ + first % kChunk;
        return wide_ ? here[0] | uint64_t(here[1]) << 32 : here[0];
    }

private:
    static constexpr int kBlocks = 16, kChunk = 4 * kBlocks;
    const uint64_t seed_, offset_;
    const bool wide_;
    int64_t made_ = -1;
    uint32_t words_[kChunk];
};

// The top bits of words, as numbers from 0 to 1.
class Fractions {
public:
    Fractions(const Arguments &arguments, int digits)
        : words_(arguments, digits > 32), digits_(digits) {}
    double operator()(int64_t i) {
        return std::ldexp(double(words_(i) >> ((digits_ > 32 ? 64 : 32) - digits_)), -digits_);
    }

private:
    Words words_;
    const int digits_;
};

// As defined in spec/operators/declarations/random.
class Random : public plain::Plan {
public:
    explicit Random(const Operation &operation)
        : shape_(operation.tensor(0)), element_(element_of(shape_)) {}

protected:
    template <class V, class Make>
    void fill(const Arguments &arguments, const Make &make) const {
        const auto storage = plain::storage_of<V>(shape_.dtype);
        each_element(
            [&](int64_t i, int64_t to) {
                storage.store(arguments.pointer<char>(0) + to * element_, make(i));
            },
            shape_);
    }

    const Shape shape_;
    const int64_t element_;
};

class Uniform final : public Random {
public:
    using Random::Random;
    void run(const Arguments &arguments) const override {
        const int digits = shape_.dtype == INFINI_DTYPE_F16    ? 11
                           : shape_.dtype == INFINI_DTYPE_BF16 ? 8
                           : shape_.dtype == INFINI_DTYPE_F32  ? 24
                                                               : 53;
        const double low = arguments.number(2), span = arguments.number(3) - low;
        Fractions u(arguments, digits);
        fill<double>(arguments, [&](int64_t i) {
            const volatile double product = span * u(i);  // rounded here, as by the definition
            return low + product;
        });
    }
};

class Normal final : public Random {
public:
    using Random::Random;
    void run(const Arguments &arguments) const override {
        const int digits = shape_.dtype == INFINI_DTYPE_F64 ? 53 : 24;
        Fractions fraction(arguments, digits);
        fill<double>(arguments, [&](int64_t i) {
            const double u = fraction(i / 2 * 2) + std::ldexp(1.0, -digits);
            const double angle = 2 * std::numbers::pi * fraction(i / 2 * 2 + 1);
            const double radius = std::sqrt(-2 * std::log(u));
            return arguments.number(2) +
                   arguments.number(3) * radius * (i % 2 ? std::sin(angle) : std::cos(angle));
        });
    }
};

class Integers final : public Random {
public:
    using Random::Random;
    void run(const Arguments &arguments) const override {
        using Product = unsigned __int128;
        const auto low = uint64_t(arguments.integer(2));
        const uint64_t span = uint64_t(arguments.integer(3)) - low;
        Words word(arguments, true);
        fill<int64_t>(arguments, [&](int64_t i) {
            return int64_t(low + uint64_t(Product(word(i)) * span >> 64));
        });
    }
};

bool is_empty_product(const Operation &operation) {
    return operation.name() == std::string_view("gemm") &&
           (operation.tensor(0).numel() == 0 || operation.tensor(1).size(-1) == 0);
}

std::unique_ptr<plain::Plan> plan_plain_kernel(const Operation &operation) {
    const std::string_view name = operation.name();
    if (name == "rearrange") return std::make_unique<Rearrange>(operation);
    if (is_empty_product(operation)) return std::make_unique<EmptyProduct>(operation);
    if (name == "random_uniform") return std::make_unique<Uniform>(operation);
    if (name == "random_normal") return std::make_unique<Normal>(operation);
    if (name == "random_integers") return std::make_unique<Integers>(operation);
    return nullptr;
}

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

// The distinct tensors of a program, and which of them it writes.
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
