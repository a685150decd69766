/* The common part of the plan functions of back ends that register planners by operator name.
 * Header only. */
#ifndef INFINI_PLAN_OPERATION_H
#define INFINI_PLAN_OPERATION_H

#include <infini/kernels.h>
#include <infini/operation.h>
#include <infini/program.h>

#include <exception>

namespace infini {

// The plan of the operator's own kernel, else of the engine for programs; null if neither supports
// the operation. `find` looks up a planner.
template <class Find, class... Device>
auto plan_by_name(const Find &find, const Operation &operation, Device &...device)
    -> decltype(find(std::string())(operation, device...)) {
    const InfiniProgram *program = operation.program();
    // A kernel that accepts an epilogue has a second name.
    const bool followed = program && program->flags & INFINI_PROGRAM_EPILOGUE;
    auto planner = find(std::string(operation.name()) + (followed ? "+" : ""));
    if (!planner && !followed) planner = find(std::string(kernel_of(operation.name())));
    if (planner)
        if (auto made = planner(operation, device...)) return made;
    if (!program || followed) return nullptr;
    auto engine = find(std::string("program"));
    return engine ? engine(operation, device...) : nullptr;
}

// For a catch clause: records the reason with the back end's `fail`, and returns the status.
template <class Fail>
int explain_failed_plan(const char *operation, const Fail &fail) {
    try {
        throw;
    } catch (const Refusal &refusal) {
        fail(infinirtErrorInvalidValue, "%s", refusal.sentence.c_str());
        return refusal.status;
    } catch (const std::exception &error) {
        const std::string reason = std::string(operation) + " cannot be planned: " + error.what();
        fail(infinirtErrorMemoryAllocation, "%s", reason.c_str());
        return INFINI_STATUS_INTERNAL_ERROR;
    }
}

}  // namespace infini
#endif
