#include "elementwise/pairs.h"

#include <infini/make_loop_nest.h>

#include "program/runner.h"

namespace infini::cpu {
namespace {

// c = f(a, b)
constexpr InfiniOperand kOperands[] = {{INFINI_OPERAND_TENSOR, 0, 0, 0, 0, 0, 0},
                                       {INFINI_OPERAND_TENSOR, 1, 1, 0, 0, 0, 0},
                                       {INFINI_OPERAND_TENSOR, 2, 2, 0, 0, 0, 0}};
constexpr InfiniPhase kPhase = {INFINI_AXIS_NONE, 0};
constexpr int16_t kInputs[] = {1, 2}, kOutput = 0;
constexpr InfiniStage kStage = {
    INFINI_STAGE_ELEMENTS, 0, 2, 1, kInputs, &kOutput, nullptr, nullptr, "pairs", ""};
constexpr InfiniNode kNodes[] = {{INFINI_NODE_INPUT, {0, -1, -1}, 0},
                                 {INFINI_NODE_INPUT, {1, -1, -1}, 0},
                                 {INFINI_NODE_ADD, {0, 1, -1}, 0}};
constexpr int16_t kResult = 2;
constexpr InfiniExpression kExpression = {
    sizeof(InfiniExpression), kNodes, &kResult, 3, 1, 0, 0, 1};
constexpr const InfiniExpression *kExpressions[] = {&kExpression};
constexpr InfiniProgram kProgram = {
    sizeof(InfiniProgram), "pairs", kOperands, &kPhase, &kStage, 3, 1, 1, 0, kExpressions};

class Pairs final : public Plan {
public:
    Pairs(const Operation &operation, BlockFunction compute, int cost) {
        functor_.name = "pairs", functor_.inputs = 2, functor_.outputs = 1, functor_.cost = cost;
        functor_.compute[program::kDouble] = compute;
        auto nest = infini::program::make_loop_nest<program::Stage>(operation, kProgram, 0,
                                                                    program::kDouble, {});
        if (nest.row_size * nest.rows == 0) return;
        nest.stages[0].functor = &functor_;
        nest.stages[0].compute = compute;
        runner_ = program::make_map(std::move(nest));
        workspace = runner_->workspace;
    }
    void run(const Arguments &arguments) const override {
        if (runner_) runner_->run(arguments, arguments.workspace());
    }

private:
    Functor functor_ = {};
    std::unique_ptr<program::Runner> runner_;
};

}  // namespace

std::unique_ptr<Plan> plan_pairs(const Operation &operation, BlockFunction compute, int cost) {
    return std::make_unique<Pairs>(operation, compute, cost);
}

namespace {

std::unique_ptr<Plan> plan_special(const Operation &operation) {
    if (operation.is("orthogonal_polynomial")) return plan_polynomial(operation);
    if (operation.is("zeta")) return plan_zeta(operation);
    return plan_incomplete_gamma(operation);
}

INFINI_KERNEL("special", plan_special);

}  // namespace
}  // namespace infini::cpu
