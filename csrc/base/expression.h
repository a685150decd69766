/* Helper functions for the expressions of a program's stages. Header only. */
#ifndef INFINI_EXPRESSION_H
#define INFINI_EXPRESSION_H

#include <infini/program.h>

namespace infini::program {

// The expression of a stage; an empty one if an older core provides none.
inline const InfiniExpression &expression_of(const InfiniProgram &program, int stage) {
    static constexpr InfiniExpression kNone{};
    const bool given = program.size > offsetof(InfiniProgram, expressions) && program.expressions;
    return given && program.expressions[stage] ? *program.expressions[stage] : kNone;
}

inline bool is_copy(const InfiniExpression &expression) {
    return expression.flags & INFINI_EXPRESSION_COPY;
}

// Is a result boolean (0 or 1)?
inline bool is_truth(const InfiniExpression &expression, int result) {
    return expression.truths >> result & 1;
}

// Does the expression call a function?
inline bool calls(const InfiniExpression &expression, InfiniNodeOp function) {
    for (int i = 0; i < expression.node_count; ++i)
        if (expression.nodes[i].op == function) return true;
    return false;
}

// Is the expression one call of a function with its inputs in order?
inline bool is_call(const InfiniExpression &expression, InfiniNodeOp function, int inputs) {
    if (expression.result_count != 1 || expression.node_count != inputs + 1) return false;
    const InfiniNode &call = expression.nodes[expression.results[0]];
    if (call.op != function) return false;
    for (int i = 0; i < inputs; ++i) {
        const InfiniNode &input = expression.nodes[call.args[i]];
        if (input.op != INFINI_NODE_INPUT || input.args[0] != i) return false;
    }
    return true;
}

}  // namespace infini::program
#endif
