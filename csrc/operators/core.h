// The operators' objects, and the two phases of an operator's life: it is described, and it runs.
//
// Ownership: a descriptor holds its plan, and so does all work that is still queued in a stream or
// part of a graph, so a descriptor may be destroyed at any time. Tensor descriptors are only read
// during a create call. The plan cache holds recent plans.
#pragma once

#include <bit>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "operator_services.h"

struct InfiniopHandle {
    infiniDevice_t device;
    int device_id;
    InfiniTarget target;
};

struct InfiniopTensorDescriptor {
    int dtype;
    std::vector<int64_t> shape, strides;
};

namespace infini::op {

// A call that fails.
struct Failure {
    infiniStatus_t status;
    std::string sentence;  // empty: a back end has explained it
};

[[noreturn]] void fail(infiniStatus_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

class Checker;
class Lowering;
using Lower = void (*)(Lowering &);

// What is known about an operator at build time. See spec/operators.
struct TensorInfo {
    const char *name;  // of the create function's parameter
    bool optional, array;
};

struct PointerInfo {
    const char *name;  // of the run function's parameter
    int tensor;        // index into OperatorInfo::tensors; -1: no descriptor
    bool optional;
    bool host;  // memory of the host, which is looked at before it is used
};

struct RunInfo {
    const char *function;
    const PointerInfo *pointers;
    int pointer_count;
};

struct OperatorInfo {
    const char *name, *c_name;
    const TensorInfo *tensors;
    const char *const *attributes;
    // One letter per attribute: b bool, c char, h uint8_t, j int32_t or an enumerator, i int64_t, u
    // size_t, e float, f double, s text; lists of int32_t I, 64-bit integers L, double D.
    const char *letters;
    // Two characters per attribute: the number of elements of a list. A letter is the attribute
    // with the number (A is the first), divided by the digit; # the number itself; .. for no list.
    const char *lengths;
    int array_count;  // the attribute that counts an array of tensors; -1: there is none
    const RunInfo *runs;
    int tensor_count, attribute_count, run_count;
    bool has_workspace;       // a workspace function, and so a workspace
    bool host_result;         // results go to host memory: the caller waits
    const char *unsupported;  // why only one vendor has it; null: all can
    void (*check)(Checker &);
    Lower lower;  // into a sequence of other operators; null: it is planned by the back end
};

// All operators, in alphabetical order; the index is the generated enumerator.
enum class Op : int;
extern const OperatorInfo kOperators[];

// The program for this case, or null if the operator has none (generated from definitions).
const InfiniProgram *find_program(const InfiniOperation &operation);

// ---- Plans --------------------------------------------------------------------------------------

struct Planned;

// An operator in the step sequence of a lowered one; see lowering.h.
struct PlannedStep {
    struct Location {
        int pointer;     // of the call, View::kWorkspace or View::kNoMemory
        int64_t offset;  // bytes
    };
    std::shared_ptr<const Planned> planned;
    std::vector<Location> locations;
    std::vector<InfiniScalar> scalars;
};

struct Planned {
    ~Planned() {
        if (plan) operators->drop(plan);
    }
    const InfiniOperators *operators = nullptr;
    InfiniPlan *plan = nullptr;  // null: it is lowered
    size_t workspace = 0;
    std::vector<PlannedStep> steps;  // of a lowered operator
    size_t temporaries = 0;          // bytes between its steps; the workspace of a step follows
};

// Plans the operation, or returns the cached plan of an equal one. Throws Failure.
std::shared_ptr<const Planned> plan(const InfiniTarget &target, const InfiniOperation &operation,
                                    Lower lower);

infiniStatus_t launch_steps(const char *function, const InfiniTarget &target,
                            const Planned &planned, const InfiniArguments &arguments, void *stream);

inline infiniStatus_t launch(const char *function, const InfiniTarget &target,
                             const Planned &planned, const InfiniArguments &arguments,
                             void *stream) {
    if (!planned.plan) [[unlikely]]
        return launch_steps(function, target, planned, arguments, stream);
    const InfiniKernel kernel{planned.plan, &arguments};
    return infiniLaunchKernel(function, &target, stream, &kernel);
}

// For tests and diagnostics: number of plans, cache hits, cache misses.
struct CacheCounts {
    size_t kept, hits, misses;
};
CacheCounts plan_cache_counts();

// ---- Descriptors --------------------------------------------------------------------------------

}  // namespace infini::op

struct InfiniopDescriptor {
    infiniDevice_t device_type;  // the first two members are part of the ABI
    int device_id;
    const infini::op::OperatorInfo *info;
    InfiniTarget target;
    std::shared_ptr<const infini::op::Planned> planned;
    const InfiniProgram *program;
    std::vector<int64_t> counts;  // by tensor: elements
    std::vector<int64_t> kept;    // sizes that runs are checked against
    std::vector<uint8_t> needed;  // by tensor: kAbsent, kEmpty or kNeeded
    std::vector<int> first;       // by declared tensor: index among all when there are arrays
    std::vector<InfiniAttribute> attributes;
    std::vector<std::vector<int64_t>> lists;

    static constexpr uint8_t kAbsent = 0, kEmpty = 1, kNeeded = 2;
};

namespace infini::op {

// Throws Failure if a tensor's addresses could overflow. Strides that are never used (of dimensions
// of size 1, and of empty tensors) are set to those of a dense tensor.
void check_extent(InfiniopTensorDescriptor &tensor);

InfiniopHandle *find_handle(const void *handle);
InfiniopTensorDescriptor *find_tensor(const void *descriptor);
InfiniopDescriptor *find_descriptor(const void *descriptor);

// The body of the generated create functions: collects the arguments, checks and plans, and creates
// the descriptor. Tensors are descriptors, or arrays of them.
infiniStatus_t create(const OperatorInfo &info, const void *handle, void *result,
                      const void *const *tensors, const InfiniValue *attributes);

// One run. The generated entry points pass pointers and scalars.
class Running {
public:
    Running(const OperatorInfo &info, const RunInfo &run, const void *descriptor)
        : run_(run), descriptor_(find(info, descriptor)) {}

    // A scalar that repeats an attribute of the create call.
    void same(int attribute, double value) const {
        if (descriptor_.attributes[attribute].number != value) [[unlikely]]
            differs(attribute, value);
    }
    // The same for a list; null stands for the one that the descriptor was created with.
    template <class T>
    void same(int attribute, const T *values, size_t count) const {
        if (!values) return;
        const InfiniAttribute &known = descriptor_.attributes[attribute];
        auto *list = static_cast<const int64_t *>(known.list);
        if (count != known.count) list_differs(attribute);
        host(values, count * sizeof(T), descriptor_.info->attributes[attribute]);
        for (size_t i = 0; i < count; ++i)
            if (int64_t(values[i]) != list[i]) list_differs(attribute);
    }
    // A scalar that must equal the number of elements of a tensor.
    void counts(int tensor, int64_t value, const char *name) const;
    struct Named {
        const char *name;
        double value;
    };
    void demand(bool holds, const char *condition, std::initializer_list<Named> values) const {
        if (!holds) [[unlikely]]
            not_so(condition, values);
    }
    int64_t kept(int index) const { return descriptor_.kept[size_t(index)]; }
    void host(const void *pointer, size_t bytes, const char *name) const;
    const InfiniopDescriptor &descriptor() const { return descriptor_; }
    infiniStatus_t launch(void *workspace, size_t workspace_size, void **pointers,
                          size_t pointer_count, const InfiniScalar *scalars, size_t scalar_count,
                          void *stream) const;

private:
    static InfiniopDescriptor &find(const OperatorInfo &info, const void *descriptor);
    void check_pointers(void **pointers, size_t count) const;
    [[noreturn]] void differs(int attribute, double value) const;
    [[noreturn]] void not_so(const char *condition, std::initializer_list<Named> values) const;
    [[noreturn]] void list_differs(int attribute) const;

    const RunInfo &run_;
    InfiniopDescriptor &descriptor_;
};

infiniStatus_t workspace_size(const OperatorInfo &info, const void *descriptor, size_t *size);
infiniStatus_t destroy(const OperatorInfo &info, const void *descriptor);

// Called once, before the first lock: a forked child needs them unlocked.
void prepare_for_forks();

// The status for the catch clauses of the entry points.
infiniStatus_t caught(const char *function) noexcept;

const char *dtype_name(int dtype);

}  // namespace infini::op
