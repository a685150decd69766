// Programs that the interpreter must reject with a reason: a valid program with one change each.
#include "../../backends/null/interpreter.h"

#include <cstdio>
#include <cstdlib>
#include <functional>

using namespace infini;

// The unchanged program: out = exp(x) of four elements.
struct Case {
    InfiniNode nodes[2] = {{INFINI_NODE_INPUT, {0, -1, -1}, 0}, {INFINI_NODE_EXP, {0, -1, -1}, 0}};
    int16_t result = 1, input = 1, output = 0, fold = INFINI_FOLD_NONE, folded = -1;
    InfiniExpression expression{sizeof expression, nodes, &result, 2, 1, 0, 0, 1};
    const InfiniExpression *expressions = &expression;
    InfiniOperand operands[2] = {{INFINI_OPERAND_TENSOR, 0, 0, 0, 0, INFINI_VIEW_PLAIN, 0},
                                 {INFINI_OPERAND_TENSOR, 1, 1, 0, 0, INFINI_VIEW_PLAIN, 0}};
    InfiniPhase phase{INFINI_AXIS_NONE, 0};
    InfiniStage stage{
        INFINI_STAGE_ELEMENTS, 0, 1, 1, &input, &output, &fold, &folded, nullptr, nullptr};
    InfiniProgram program{sizeof program, "case", operands, &phase, &stage, 2, 1, 1, 0,
                          &expressions};
    int64_t size = 4, stride = 1;
    InfiniTensor tensors[2] = {{INFINI_DTYPE_F32, 1, &size, &stride},
                               {INFINI_DTYPE_F32, 1, &size, &stride}};
    InfiniOperation operation{"case", tensors, nullptr, 2, 0, &program, 0};
};

static void expect(const char *what, const char *reason,
                   const std::function<void(Case &)> &change) {
    Case changed;
    change(changed);
    std::string said = "it is not refused";
    try {
        plain::plan(Operation(changed.operation));
    } catch (const Refusal &refusal) {
        said = refusal.sentence;
    }
    if (said.find(reason) != std::string::npos) return;
    std::printf("%s: %s\n", what, said.c_str());
    std::exit(1);
}

int main(int, char **arguments) {
    Case same;
    float x[] = {0, 1, -1, 2}, out[4];
    void *pointers[] = {out, x};
    auto plan = plain::plan(Operation(same.operation));
    const InfiniArguments given{pointers, nullptr, 2, 0, nullptr};
    plan->run({given});
    for (int i = 0; i < 4; ++i)
        if (out[i] != float(std::exp(double(x[i])))) return 1;

    auto set_dtypes = [](Case &c, int dtype) { c.tensors[0].dtype = c.tensors[1].dtype = dtype; };
    expect("no program", "kernel of its own", [](Case &c) { c.operation.program = nullptr; });
    expect("an epilogue", "epilogue", [](Case &c) { c.program.flags = INFINI_PROGRAM_EPILOGUE; });
    expect("a new flag", "newer", [](Case &c) { c.program.flags = 1u << 31; });
    expect("a new view", "newer", [](Case &c) { c.operands[1].view = 99; });
    expect("a new operand", "newer", [](Case &c) { c.operands[1].kind = 99; });
    expect("a new axis", "newer", [](Case &c) { c.phase.kind = 99; });
    expect("a new fold", "newer", [](Case &c) { c.fold = 99; });
    expect("a new function", "function 999", [](Case &c) { c.nodes[1].op = 999; });
    expect("exp of integers", "function", [&](Case &c) { set_dtypes(c, INFINI_DTYPE_I32); });
    expect("bits of floats", "function", [](Case &c) { c.nodes[1].op = INFINI_NODE_BITNOT; });
    expect("complex numbers", "arithmetic", [&](Case &c) {
        set_dtypes(c, INFINI_DTYPE_C64);
        c.nodes[1].op = INFINI_NODE_NEG;
    });
    expect("too many nodes", "nodes", [](Case &c) { c.expression.node_count = 1000; });
    expect("an older core", "nodes",
           [](Case &c) { c.program.size = offsetof(InfiniProgram, expressions); });

    // Every node operation exists for floats or for integers.
    const int functions = std::atoi(arguments[1]);
    for (int op = INFINI_NODE_WHERE; op < functions; ++op)
        if (!plain::function_of<double>(op, false) && !plain::function_of<int64_t>(op, false)) {
            std::printf("function %d is not there\n", op);
            return 1;
        }
    std::printf("ok\n");
}
