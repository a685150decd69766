#include "kernels/program/epilogue.h"

#include <infini/make_loop_nest.h>

#include "kernels/program/engines.h"

namespace infini::cuda::program {

std::string Composer::place_text() const {
    std::string text;
    for (int slot : operands_) {
        const std::string j = std::to_string(number_[size_t(slot)]);
        text += "    at.o" + j + " = Index(0)";
        for (int i = 0; i < nest_.kept.count && moves_kept(slot); ++i) {
            const std::string a = "a" + std::to_string(i);
            if (i != lane_dim())
                text += " + " + a + " * p.k" + j + "[" + std::to_string(i) + "]";
            else if (access_[size_t(slot)] == Access::kDense)
                text += " + " + a;
            else if (access_[size_t(slot)] == Access::kStrided)
                text += " + " + a + " * p.i" + j;
        }
        text += ";\n";
    }
    return text;
}

std::unique_ptr<Epilogue> Epilogue::make(const Operation &operation) {
    const InfiniProgram &program = *operation.program();
    const Tensor result = operation.tensor(0);
    if (program.phase_count != 1 || program.phases[0].kind != INFINI_AXIS_NONE) return nullptr;
    if (value_type(operation, program) != kFloat || result.ndim < 2 || result.ndim > 3)
        return nullptr;
    LoopNest nest = make_loop_nest<Stage>(operation, program, 0, kFloat, {});
    if (nest.ndim != result.ndim) return nullptr;
    for (int i = 0; i < result.ndim; ++i)
        if (nest.size[i] != result.shape[i]) return nullptr;

    // Uses the result's own dimensions, instead of merging those that are contiguous in memory.
    nest.kept.count = 3;
    nest.kept.size[0] = result.ndim == 3 ? result.size(0) : 1;
    nest.kept.size[1] = result.size(-2);
    nest.kept.size[2] = result.size(-1);
    std::vector<char> reads(nest.slots.size(), false), writes(nest.slots.size(), false);
    for (const Stage &stage : nest.stages) {
        for (int slot : stage.inputs) reads[size_t(slot)] = true;
        for (int slot : stage.outputs)
            if (slot >= 0) writes[size_t(slot)] = true;
    }
    int product = -1;
    for (size_t n = 0; n < nest.slots.size(); ++n) {
        Slot &slot = nest.slots[n];
        if (slot.kind == Slot::kPosition) return nullptr;
        if (slot.kind != Slot::kTensor) continue;
        const InfiniOperand &operand = program.operands[n];
        if (operand.view != INFINI_VIEW_PLAIN || (reads[n] && writes[n])) return nullptr;
        if (operand.index == 0 && reads[n]) {
            if (product >= 0) return nullptr;
            product = int(n);
            slot.kind = Slot::kElement;
            continue;
        }
        const Tensor tensor = operation.tensor(operand.index);
        for (int i = 0; i < 3; ++i) slot.kept[i] = 0;
        for (int i = 0; i < tensor.ndim; ++i)
            if (tensor.shape[i] != 1) slot.kept[3 - tensor.ndim + i] = tensor.strides[i];
    }

    auto made = std::make_unique<Epilogue>();
    Composer composer(nest, program, Direction::kMap);
    if (product >= 0) composer.hold(product);
    const int width = composer.choose_width(8);
    ParameterText members;
    made->launch_.wide = int32_t(members.add("int32_t", "wide", int32_t(1)));
    composer.add_members(members, made->launch_, width);
    members.add("int64_t", "last", int64_t(0));  // pads the struct to a multiple of 8 bytes
    made->launch_.parameters = members.bytes();
    made->rough_ = roughness(operation, program, kFloat);
    made->text_ =
        std::string("namespace epilogue {\nusing Index = ") +
        (composer.is_wide_index() ? "int64_t" : "int32_t") + ";\n" + members.text() + "\n" +
        composer.prologue(width) + composer.map_text() +
        "template <int n>\nINFINI_DEVICE void compute(const Params &p, Index a0, Index a1, Index "
        "a2, const float *values) {\n    Place at;\n" +
        composer.place_text() +
        "    In<n> in;\n    Held<n> held;\n    const Rows rows{};\n    Pass0::Folds folds;\n"
        "    Pass0::fetch(p, at, in);\n";
    if (product >= 0)
        made->text_ += "#pragma unroll\n    for (int i = 0; i < n; ++i) held." +
                       composer.held_name(product) + "[i] = values[i];\n";
    made->text_ +=
        "    Pass0::body(p, at, Index(0), in, held, rows, folds);\n}\n"
        "template <int n>\nINFINI_DEVICE void apply(const Params &p, int64_t batch, int64_t row, "
        "int64_t "
        "column, const float (&values)[n]) {\n"
        "    if (n <= kVec && p.wide && column % n == 0) {\n"
        "        compute<n>(p, Index(batch), Index(row), Index(column), values);\n"
        "    } else {\n#pragma unroll\n        for (int i = 0; i < n; ++i)\n"
        "            compute<1>(p, Index(batch), Index(row), Index(column + i), values + i);\n    "
        "}\n}\n"
        "}  // namespace epilogue";
    return made;
}

void Epilogue::add_to(Source &source) const {
    if (rough_) source.line("#define INFINI_ROUGH " + std::to_string(rough_));
    source.include("functions.cuh").include("program/values.cuh").line(text_);
}

}  // namespace infini::cuda::program
