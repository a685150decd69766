// One operator, run or recorded: what infinicore._emit calls.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cstring>

#include "call_from.h"
#include "dtypes.h"
#include "infer.h"
#include "step.h"
#include "tensor_object.h"
#include "values.h"
#include "view.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

namespace core = infinicore::detail;

core::Values values_from(const char *kinds, nb::handle items) {
    auto made = std::make_shared<Values>(kinds, items);
    return {made->values(), made->counts(), {made}};
}

}  // namespace

core::Call call_from(int index, int run, nb::handle attributes, nb::handle scalars) {
    if (index < 0 || index >= core::kRowCount) throw nb::index_error("no such operator");
    const core::Row &row = core::kRows[index];
    if (run < 0 || run >= row.run_count) throw nb::index_error("no such run function");
    return {&row, run, values_from(row.attributes, attributes),
            values_from(row.runs[run].scalars, scalars)};
}

namespace {

// tensors: by declared tensor, None where absent, a list for an array. bare: tensors for the
// pointers of the run function that have no descriptor.
void step(int index, int run, nb::list tensors, nb::handle attributes, nb::handle scalars,
          nb::list bare) {
    core::Call call = call_from(index, run, attributes, scalars);
    const core::Row &row = *call.row;
    const core::RunRow &running = row.runs[run];
    // Other threads may give a tensor's object another tensor (set_) meanwhile; these references
    // stay.
    std::vector<Tensor> held;
    const auto hold = [&](const Tensor &tensor) { return &*held.emplace_back(tensor); };
    std::vector<std::vector<const TensorImpl *>> given;
    if (tensors.size() != std::strlen(row.tensors))
        throw nb::value_error("step: expected one entry for each of the operator's tensors");
    for (nb::handle each : tensors) {
        const bool is_array = row.tensors[given.size()] == 'a';
        if (!each.is_none() && is_array != nb::isinstance<nb::list>(each))
            throw nb::type_error("step: expected a list for an array of tensors, and only there");
        std::vector<const TensorImpl *> &group = given.emplace_back();
        if (each.is_none())
            group.push_back(nullptr);
        else if (is_tensor(each.ptr()))
            group.push_back(hold(tensor_of(each.ptr())));
        else
            for (nb::handle item : each) group.push_back(hold(nb::cast<const Tensor &>(item)));
    }
    std::shared_ptr<const core::Step> made;
    {
        // Compiling code for a device may take long, so the GIL is released.
        Unlocked released;
        made = core::describe(row, run, given, std::move(call.attributes), std::move(call.scalars));
    }
    std::vector<const TensorImpl *> arguments;
    size_t next = 0;
    for (size_t i = 0; running.pointers[i]; ++i) {
        const int tensor = running.tensors[i];
        if (tensor >= 0) {
            arguments.insert(arguments.end(), given[size_t(tensor)].begin(),
                             given[size_t(tensor)].end());
            continue;
        }
        nb::object object = bare[next++];
        arguments.push_back(object.is_none() ? nullptr : hold(nb::cast<const Tensor &>(object)));
    }
    Unlocked released;
    core::perform(made, arguments);
}

core::Operand operand_of(nb::handle object) {
    if (nb::isinstance<View>(object)) {
        auto &view = nb::cast<const View &>(object);
        return {view.dtype, {view.shape(), view.shape() + view.ndim()}};
    }
    const Tensor &tensor = nb::cast<const Tensor &>(object);
    const auto &shape = tensor->shape();
    return {int(tensor->dtype()), {shape.begin(), shape.end()}};
}

// Shapes of inputs to expand (no dtype), and of absent results.
nb::list infer(int index, int run, nb::list tensors, nb::handle attributes, nb::handle scalars) {
    const core::Call call = call_from(index, run, attributes, scalars);
    std::vector<std::vector<core::Operand>> operands;
    for (nb::handle each : tensors) {
        std::vector<core::Operand> &group = operands.emplace_back();
        if (nb::isinstance<nb::list>(each))
            for (nb::handle item : each) group.push_back(operand_of(item));
        else if (!each.is_none())
            group.push_back(operand_of(each));
    }
    nb::list made;
    try {
        for (const core::InferredTensor &each :
             core::infer(*call.row, run, std::move(operands), call.attributes, call.scalars))
            made.append(nb::make_tuple(
                each.place, tuple_of({each.shape.begin(), each.shape.end()}),
                each.dtype < 0 ? nb::none() : nb::object(nb::str(name_of(each.dtype)))));
    } catch (const core::UnknownResult &unknown) {
        throw nb::type_error(unknown.what());
    }
    return made;
}

}  // namespace

void bind_steps(nb::module_ &m) {
    m.def("infer", infer, "index"_a, "run"_a, "tensors"_a, "attributes"_a, "scalars"_a);
    m.def("step", step, "index"_a, "run"_a, "tensors"_a, "attributes"_a, "scalars"_a, "bare"_a);
}

}  // namespace infini::python
