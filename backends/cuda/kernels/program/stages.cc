// The text of a phase: its stages, which call the functors.
#include <algorithm>

#include "kernels/program/compose.h"

namespace infini::cuda::program {

std::string Composer::row_place(int slot) const {
    const std::string j = std::to_string(number_[size_t(slot)]);
    std::string place = "p.b" + j + "[base.o" + j;
    if (across() && access_[size_t(slot)] == Access::kDense) place += " + i";
    if (across() && access_[size_t(slot)] == Access::kStrided) place += " + i * p.i" + j;
    return place + "]";
}

std::string Composer::value(int slot, bool held, bool by_row) const {
    const Slot &s = nest_.slots[size_t(slot)];
    const std::string j = std::to_string(number_[size_t(slot)]);
    switch (s.kind) {
        case Slot::kShared:
            return "p.s" + j;
        case Slot::kRow:
            return by_row ? "rows.r" + j + "[i]" : "rows.r" + j + "[kAcross ? i : 0]";
        case Slot::kElement:
            return held && held_[size_t(slot)] ? "held.e" + j + "[i]" : "e" + j;
        case Slot::kPosition: {
            const std::string at = by_row ? "base" : "at";
            std::string text = "convert<V>(int64_t(" + at + ".o" + j;
            const bool moves = by_row ? across() : true;
            if (moves && access_[size_t(slot)] == Access::kDense) text += " + i";
            if (moves && access_[size_t(slot)] == Access::kStrided) text += " + i * p.i" + j;
            return text + "))";
        }
        default:
            if (by_row) return "convert<V>(" + row_place(slot) + ")";
            if (access_[size_t(slot)] == Access::kUniform) return "convert<V>(in.l" + j + ")";
            return "convert_at<V>(in.l" + j + ", i)";
    }
}

// The inputs and the call; results are stored in y.
std::string Composer::call(const Stage &stage, const std::string &indent, bool held,
                           bool by_row) const {
    std::string inputs;
    for (int slot : stage.inputs)
        inputs += (inputs.empty() ? "" : ", ") + value(slot, held, by_row);
    const size_t count = std::max<size_t>(1, stage.inputs.size());
    return indent + "const V x[" + std::to_string(count) + "] = {" + inputs + "};\n" + indent +
           "V y[" + std::to_string(stage.outputs.size()) + "];\n" + indent +
           program_.stages[stage.number].functor + "<V>::eval(x, y);\n";
}

std::string Composer::body_text(const Body &body, bool held) const {
    std::string arrays, locals, loop, after;
    for (size_t b = 0; b < body.stages.size(); ++b) {
        const Stage &stage = nest_.stages[size_t(body.stages[b])];
        const std::string indent(16, ' ');
        std::string results;
        for (size_t i = 0; i < stage.outputs.size(); ++i) {
            const std::string y = "y[" + std::to_string(i) + "];\n";
            const int slot = stage.outputs[i];
            if (slot >= 0 && nest_.slots[size_t(slot)].kind == Slot::kElement) {
                const std::string name = value(slot, held, false);
                if (!(held && held_[size_t(slot)])) locals += "            V " + name + ";\n";
                results += indent + name + " = " + y;
            } else if (slot >= 0 && body.storing[b]) {
                const std::string j = std::to_string(number_[size_t(slot)]), w = "w" + j;
                const std::string type = device_type(nest_.slots[size_t(slot)].dtype);
                arrays += "        V " + w + "[n];\n";
                results += indent + w + "[i] = " + y;
                if (access_[size_t(slot)] == Access::kDense)
                    after += "        store(p.b" + j + " + at.o" + j + ", narrow<" + type +
                             ", n>(" + w + "));\n";
                else
                    after += "#pragma unroll\n        for (int i = 0; i < n; ++i) p.b" + j +
                             "[at.o" + j +
                             (access_[size_t(slot)] == Access::kStrided ? " + i * p.i" + j : "") +
                             "] = convert<" + type + ">(" + w + "[i]);\n";
            }
            if (stage.folds[i] && body.folding[b]) {
                const std::string f = std::to_string(number_[size_t(stage.folded[i])]);
                const bool narrow = narrow_fold(stage, i);
                arrays += std::string("        ") + (narrow ? "float" : "V") + " t" + f + "[n];\n";
                if (narrow) {
                    const int from = stage.inputs[0];
                    const std::string j = std::to_string(number_[size_t(from)]);
                    const bool uniform = access_[size_t(from)] == Access::kUniform;
                    results += indent + "t" + f + "[i] = convert<float>(in.l" + j +
                               (uniform ? ");\n" : "[i]);\n");
                } else {
                    results += indent + "t" + f + "[i] = " + y;
                }
                const std::string k = std::to_string(stage.folds[i]);
                after +=
                    is_arg(stage.folds[i])
                        ? "        fold_arg<" + k + ">(folds.f" + f + ", t" + f + ", element);\n"
                        : "        fold_values<" + k + ">(folds.f" + f + ", t" + f + ");\n";
            }
        }
        loop += "            {\n" + call(stage, indent, held, false) + results + "            }\n";
    }
    return arrays + "#pragma unroll\n        for (int i = 0; i < n; ++i) {\n" + locals + loop +
           "        }\n" + after;
}

std::string Composer::rows_text(const std::vector<int> &stages) const {
    if (stages.empty()) return "";
    std::string loop;
    for (int s : stages) {
        const Stage &stage = nest_.stages[size_t(s)];
        const std::string indent(16, ' ');
        loop += "            {\n" + call(stage, indent, false, true);
        for (size_t i = 0; i < stage.outputs.size(); ++i) {
            const int slot = stage.outputs[i];
            if (slot < 0) continue;
            const std::string y = "y[" + std::to_string(i) + "]";
            if (nest_.slots[size_t(slot)].kind == Slot::kTensor)
                loop += indent + "if (writes) " + row_place(slot) + " = convert<" +
                        device_type(nest_.slots[size_t(slot)].dtype) + ">(" + y + ");\n";
            else
                loop += indent + value(slot, false, true) + " = " + y + ";\n";
        }
        loop += "            }\n";
    }
    return "#pragma unroll\n        for (int i = 0; i < kRowWidth; ++i) {\n" + loop + "        }\n";
}

std::string Composer::spill_text() const {
    std::string text;
    for (const LoopNest::Spill &spill : nest_.spills)
        text += "        for (int i = 0; i < kRowWidth; ++i)\n            if (writes) " +
                row_place(spill.slot) + " = rows.r" + std::to_string(number_[size_t(spill.row)]) +
                "[i];\n";
    return text;
}

}  // namespace infini::cuda::program
