// One operator, described for tensors of given layouts: the unit of functions and graphs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "contract.h"
#include "infinicore/tensor.hpp"
#include "layout.h"
#include "operator_services.h"
#include "rows.h"
#include "runtime.h"

namespace infinicore::detail {

// Attributes or scalars with what they point to.
struct Values {
    std::vector<Value> values;
    std::vector<size_t> counts;  // elements of lists and characters of texts; 0 for numbers
    std::vector<std::shared_ptr<const void>> kept;
};

// A call of an operator: enough to describe it again, in another process or on another device.
struct Call {
    const Row *row;
    int run;
    Values attributes, scalars;
};

// Immutable, so that equal steps are shared. Its arguments are pointers: one for each pointer of
// the run function, with arrays expanded.
class INFINI_EXPORT Step {
public:
    virtual ~Step() = default;
    Step(const Step &) = delete;

    struct Argument {
        int tensor;    // of the operation; -1: a pointer without a descriptor
        bool written;  // (it may be read as well: see the operator)
        bool read;
    };

    // For the fuser and for display. Tensors are in the order of the create function.
    std::string name;
    std::vector<Layout> tensors;  // dtype BYTE without dimensions where one is absent
    std::vector<uint8_t> present;
    std::vector<size_t> counts;  // how many of `tensors` belong to each declared one
    std::vector<InfiniAttribute> attributes;
    std::vector<InfiniScalar> scalars;  // that the kernel gets
    std::vector<Argument> arguments;    // one for each pointer
    std::vector<uint8_t> rounded;       // by tensor: holds a cast's result; empty: see its traits
    const InfiniProgram *program = nullptr;  // null: a kernel of its own does it
    size_t workspace = 0;
    DeviceRuntime *runtime = nullptr;
    std::shared_ptr<const Call> call;  // null: no operator's
    uint8_t traits = 0;                // of Trait; none of a program's
    bool is_across = false;            // it uses several devices, so it cannot be captured
    bool is_python = false;            // a launch calls Python: worth capturing even alone

    bool is(Trait trait) const { return traits & trait; }

    // Queues the work in the stream; `workspace` has the requested size. Throws.
    virtual void launch(void *const *pointers, void *workspace, infinirtStream_t stream) const = 0;
    // Called before capture: the one-time work of a first launch.
    virtual void prepare() const {}
    // The same with a workspace from the allocator.
    void launch(void *const *pointers, infinirtStream_t stream) const;

protected:
    Step() = default;
};

// Describes an operator (checks and plans it). `tensors` by declared tensor: null where absent,
// several for an array. Throws with the library's message.
INFINI_EXPORT std::shared_ptr<const Step> describe(
    const Row &row, int run, const std::vector<std::vector<const TensorImpl *>> &tensors,
    Values attributes, Values scalars);

// A step from a program, e.g. a fused one; null if the back end does not support it. With `kernel`
// the program follows that operator, see InfiniOperation.
INFINI_EXPORT std::shared_ptr<const Step> plan_program(
    DeviceRuntime &runtime, std::string name, std::vector<Layout> tensors,
    std::vector<uint8_t> present, std::vector<InfiniAttribute> attributes,
    std::vector<InfiniScalar> scalars, std::vector<Step::Argument> arguments,
    const InfiniProgram *program, std::shared_ptr<const void> keeps, std::string kernel = {});

// The location of a tensor that is passed to a step.
inline void *address_of(const TensorImpl &tensor, const Step::Argument &argument) {
    return argument.written || argument.tensor < 0 ? tensor.data_to_write() : tensor.data();
}

INFINI_EXPORT const Row *find_row(const std::string &name);

// Runs a step with its tensors, or records it. Null: absent.
INFINI_EXPORT void perform(const std::shared_ptr<const Step> &step,
                           const std::vector<const TensorImpl *> &tensors);

// Runs (or records) an operator without attributes whose tensors come in the create function's
// order.
INFINI_EXPORT void run_operator(const char *name, std::initializer_list<Tensor> tensors);

}  // namespace infinicore::detail
