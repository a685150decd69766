// The text of a phase: structs, offsets of operands, passes and their folds.
#include <algorithm>

#include "kernels/program/compose.h"

namespace infini::cuda::program {

namespace {

const char *value_name(ValueType type) {
    switch (type) {
        case kFloat:
            return "float";
        case kDouble:
            return "double";
        case kInt64:
            return "int64_t";
        default:
            return "uint64_t";
    }
}

std::string named(const char *letter, int number) { return letter + std::to_string(number); }

}  // namespace

// ---- Shared by all kernels of a phase -----------------------------------------------------------

std::string Composer::prologue(int width) const {
    std::string text;
    std::set<std::string> seen;
    for (const Stage &stage : nest_.stages) {
        const InfiniStage &declared = program_.stages[stage.number];
        if (seen.insert(declared.functor).second) text += std::string(declared.source) + "\n";
    }
    text += std::string("using V = ") + value_name(nest_.type) + ";\n";
    text += "constexpr int kVec = " + std::to_string(width) + ";\n";
    text += "constexpr int kRowWidth = " + std::string(across() ? "kVec" : "1") + ";\n";
    text += "constexpr bool kAcross = " + std::string(across() ? "true" : "false") + ";\n";
    text += "struct Place {\n";
    for (size_t j = 0; j < operands_.size(); ++j) text += "    Index o" + std::to_string(j) + ";\n";
    text += "};\ntemplate <int n>\nstruct In {\n";
    for (int slot : operands_) {
        const Slot &s = nest_.slots[size_t(slot)];
        if (s.kind != Slot::kTensor || !read_[size_t(slot)] || !in_elements_[size_t(slot)])
            continue;
        const std::string type = device_type(s.dtype), name = named("l", number_[size_t(slot)]);
        text += access_[size_t(slot)] == Access::kUniform
                    ? "    " + type + " " + name + ";\n"
                    : "    Vec<" + type + ", n> " + name + ";\n";
    }
    text += "};\ntemplate <int n>\nstruct Held {\n";
    for (int slot : elements_)
        if (held_[size_t(slot)]) text += "    V " + named("e", number_[size_t(slot)]) + "[n];\n";
    text += "};\nstruct Rows {\n";
    for (size_t r = 0; r < rows_.size(); ++r)
        text += "    V r" + std::to_string(r) + "[kRowWidth];\n";
    text += "};\n";
    if (direction_ == Direction::kMap) {
        text += "INFINI_DEVICE Place locate(const Params &p, Index element) {\n    Place at{};\n" +
                offsets(nest_.kept, 'k', lane_dim()) + "    return at;\n}\n";
    } else {
        text += "INFINI_DEVICE Place begin(const Params &p, Index element) {\n    Place at{};\n" +
                offsets(nest_.kept, 'k', across() ? lane_dim() : -1) + "    return at;\n}\n";
        text += "INFINI_DEVICE Place locate(const Params &p, Place at, Index element) {\n" +
                offsets(nest_.folded, 'f', across() ? -1 : lane_dim()) + "    return at;\n}\n";
    }
    return text;
}

// Adds the offsets of `element` of a walk to the members of `at`.
std::string Composer::offsets(const Walk &walk, char letter, int lane) const {
    const std::string l(1, letter);
    std::string text = "    Index rest = element;\n";
    for (int i = walk.count - 1; i > 0; --i)
        text += "    const Index a" + std::to_string(i) + " = take(rest, p." + l + "d[" +
                std::to_string(i - 1) + "]);\n";
    if (walk.count) text += "    const Index a0 = rest;\n";
    for (int slot : operands_) {
        if (!(letter == 'k' ? moves_kept(slot) : moves_folded(slot))) continue;
        const std::string j = std::to_string(number_[size_t(slot)]);
        text += "    at.o" + j + " +=";
        std::string terms;
        for (int i = 0; i < walk.count; ++i) {
            const std::string a = "a" + std::to_string(i);
            if (i != lane)
                terms += " + " + a + " * p." + l + j + "[" + std::to_string(i) + "]";
            else if (access_[size_t(slot)] == Access::kDense)
                terms += " + " + a;
            else if (access_[size_t(slot)] == Access::kStrided)
                terms += " + " + a + " * p.i" + j;
        }
        text += (terms.empty() ? " 0" : terms.substr(2)) + ";\n";
    }
    return text;
}

void Composer::add_members(ParameterText &members, Launch &launch, int width) const {
    const char *index = wide_index_ ? "int64_t" : "int32_t";
    const size_t index_bytes = wide_index_ ? 8 : 4;
    auto put_index = [&](size_t at, int64_t number) {
        if (wide_index_)
            members.set(at, number);
        else
            members.set(at, int32_t(number));
    };
    for (int slot : operands_) {
        const Slot &s = nest_.slots[size_t(slot)];
        const std::string j = std::to_string(number_[size_t(slot)]);
        if (s.kind == Slot::kTensor) {
            const size_t at = members.add(std::string(device_type(s.dtype)) + " *", "b" + j, 8, 8);
            const int64_t start = s.pointer < 0 ? s.start : s.start * s.bytes;
            launch.pointers.push_back({uint32_t(at), alignment(slot, width), s.pointer, start});
        }
        auto add_strides = [&](char letter, const Walk &walk, const int64_t *strides) {
            const size_t at =
                members.add(index, letter + j, index_bytes, index_bytes, std::max(walk.count, 2));
            for (int i = 0; i < walk.count; ++i)
                put_index(at + size_t(i) * index_bytes, strides[i]);
        };
        if (moves_kept(slot)) add_strides('k', nest_.kept, s.kept);
        if (moves_folded(slot)) add_strides('f', nest_.folded, s.folded);
        if (access_[size_t(slot)] == Access::kStrided)
            put_index(members.add(index, "i" + j, index_bytes, index_bytes), lane_stride(s));
    }
    auto add_dividers = [&](const char *name, const Walk &walk) {
        if (walk.count < 2) return;
        const size_t bytes = wide_index_ ? 8 : sizeof(Divider);
        const size_t at = members.add(wide_index_ ? "WideDivider" : "Divider", name, bytes,
                                      wide_index_ ? 8 : 4, size_t(std::max(walk.count - 1, 2)));
        for (int i = 1; i < walk.count; ++i) {
            if (wide_index_)
                members.set(at + size_t(i - 1) * bytes, walk.size[i]);
            else
                members.set(at + size_t(i - 1) * bytes, Divider(uint32_t(walk.size[i])));
        }
    };
    add_dividers("kd", nest_.kept);
    add_dividers("fd", nest_.folded);
    const size_t bytes = nest_.value_bytes;
    for (int slot : shared_) {
        const Slot &s = nest_.slots[size_t(slot)];
        const size_t at =
            members.add(value_name(nest_.type), named("s", number_[size_t(slot)]), bytes, bytes);
        if (s.run_time) {
            launch.scalars.push_back({uint32_t(at), s.scalar, nest_.type, s.integer});
        } else {
            char value[8];
            store_shared(nest_.type, s.integer, s.whole, s.value, value);
            for (size_t i = 0; i < bytes; ++i) members.set(at + i, value[i]);
        }
    }
}

// ---- Passes -------------------------------------------------------------------------------------

Composer::Body Composer::held_body(size_t pass) const {
    Body body;
    body.stages = passes_[pass].stages;
    body.folding.assign(body.stages.size(), true);
    body.storing.assign(body.stages.size(), true);
    return body;
}

Composer::Body Composer::recomputed_body(size_t pass) const {
    const bool last = pass + 1 == passes_.size();
    std::vector<char> wanted(nest_.stages.size(), false);
    for (int s : passes_[pass].stages) wanted[size_t(s)] = nest_.stages[size_t(s)].folding;
    for (size_t s = 0; s < nest_.stages.size() && last; ++s)
        for (int slot : nest_.stages[s].outputs)
            if (!nest_.stages[s].rows && slot >= 0 &&
                nest_.slots[size_t(slot)].kind == Slot::kTensor)
                wanted[s] = true;
    // Also computes the temporaries that these read.
    for (size_t s = nest_.stages.size(); s-- > 0;) {
        if (!wanted[s]) continue;
        for (int slot : nest_.stages[s].inputs) {
            if (nest_.slots[size_t(slot)].kind != Slot::kElement) continue;
            for (size_t m = 0; m < s; ++m)
                for (int made : nest_.stages[m].outputs) wanted[m] |= made == slot;
        }
    }
    Body body;
    const std::vector<int> &mine = passes_[pass].stages;
    for (size_t s = 0; s < wanted.size(); ++s) {
        if (!wanted[s]) continue;
        body.stages.push_back(int(s));
        body.folding.push_back(std::find(mine.begin(), mine.end(), int(s)) != mine.end());
        body.storing.push_back(last);
    }
    return body;
}

// The tensors that a body reads and no earlier body has read.
std::vector<int> Composer::fetched(const Body &body, const std::set<int> &before) const {
    std::vector<int> found;
    for (int s : body.stages)
        for (int slot : nest_.stages[size_t(s)].inputs)
            if (nest_.slots[size_t(slot)].kind == Slot::kTensor && !before.count(slot) &&
                std::find(found.begin(), found.end(), slot) == found.end())
                found.push_back(slot);
    return found;
}

std::string Composer::pass_texts(bool recomputed) const {
    std::string text =
        "INFINI_DEVICE void before(const Params &p, const Place &base, Rows &rows, bool writes) "
        "{\n" +
        rows_text(before_) + (passes_.empty() ? spill_text() : "") + "}\n";
    std::set<int> read;
    for (size_t pass = 0; pass < passes_.size(); ++pass) {
        const Body body = recomputed ? recomputed_body(pass) : held_body(pass);
        const std::vector<int> fetch = fetched(body, read);
        if (!recomputed) read.insert(fetch.begin(), fetch.end());
        text += pass_text(pass, body, fetch, !recomputed);
    }
    return text;
}

void Composer::hold(int slot) {
    number(slot, false);
    held_[size_t(slot)] = true;
}

std::string Composer::map_text() const {
    if (passes_.empty()) return "";
    const Body body = held_body(0);
    return pass_text(0, body, fetched(body, {}), true);
}

std::string Composer::pass_text(size_t pass, const Body &body, const std::vector<int> &fetch,
                                bool held) const {
    const Pass &mine = passes_[pass];
    std::string text = "struct Pass" + std::to_string(pass) + " {\n";
    text +=
        std::string("    static constexpr bool kFirst = ") + (pass == 0 ? "true" : "false") + ";\n";
    text += folds_text(body);
    text +=
        "    template <int n>\n    static INFINI_DEVICE void fetch(const Params &p, const Place "
        "&at, "
        "In<n> &in) {\n" +
        fetch_text(fetch) + "    }\n";
    text +=
        "    template <int n>\n    static INFINI_DEVICE void body(const Params &p, const Place "
        "&at, "
        "Index element, const In<n> &in,\n            Held<n> &held, const Rows &rows, Folds "
        "&folds) "
        "{\n" +
        body_text(body, held) + "    }\n";
    std::string finish;
    for (int s : mine.stages) {
        const Stage &stage = nest_.stages[size_t(s)];
        for (size_t i = 0; i < stage.outputs.size(); ++i) {
            if (!stage.folds[i]) continue;
            const std::string r = std::to_string(number_[size_t(stage.folded[i])]);
            finish += "        for (int i = 0; i < kRowWidth; ++i) rows.r" + r + "[i] = V(folds.f" +
                      r + "[i]" + (is_arg(stage.folds[i]) ? ".index" : "") + ");\n";
        }
    }
    text +=
        "    static INFINI_DEVICE void finish(const Params &p, const Place &base, Rows &rows,\n"
        "            const Folds &folds, bool writes) {\n" +
        finish + rows_text(mine.rows) + (pass + 1 == passes_.size() ? spill_text() : "") +
        "    }\n";
    return text + "};\n";
}

std::string Composer::fetch_text(const std::vector<int> &slots) const {
    std::string text;
    for (int slot : slots) {
        const std::string j = std::to_string(number_[size_t(slot)]);
        const std::string from = "p.b" + j + " + at.o" + j;
        if (turned_[size_t(slot)]) continue;
        switch (access_[size_t(slot)]) {
            case Access::kDense:
                text += "        in.l" + j + " = load<n>(" + from + ");\n";
                break;
            case Access::kUniform:
                text += "        in.l" + j + " = *(" + from + ");\n";
                break;
            case Access::kStrided:
                text += "#pragma unroll\n        for (int i = 0; i < n; ++i) in.l" + j +
                        "[i] = p.b" + j + "[at.o" + j + " + i * p.i" + j + "];\n";
        }
    }
    return text;
}

// ---- Folds --------------------------------------------------------------------------------------

// If doubles are only used to hold the index, values are compared in their own type.
bool Composer::narrow_fold(const Stage &stage, size_t output) const {
    if (!is_arg(stage.folds[output]) || nest_.type != kDouble || !stage.copies) return false;
    const Slot &slot = nest_.slots[size_t(stage.inputs[0])];
    return slot.kind == Slot::kTensor && slot.dtype != INFINI_DTYPE_F64 && is_float(slot.dtype);
}

std::string Composer::fold_type(const Stage &stage, size_t output) const {
    const std::string v = narrow_fold(stage, output) ? "float" : "V";
    return is_arg(stage.folds[output]) ? "Arg<" + v + ">" : v;
}

std::string Composer::folds_text(const Body &body) const {
    std::string members, start, join, save, load;
    for (size_t b = 0; b < body.stages.size(); ++b) {
        const Stage &stage = nest_.stages[size_t(body.stages[b])];
        for (size_t i = 0; i < stage.outputs.size(); ++i) {
            if (!stage.folds[i] || !body.folding[b]) continue;
            const std::string number = std::to_string(number_[size_t(stage.folded[i])]);
            const std::string f = "f" + number, part = "part" + number;
            const std::string type = fold_type(stage, i), k = std::to_string(stage.folds[i]);
            members += "        " + type + " " + f + "[kRowWidth];\n";
            start += "            for (int i = 0; i < kRowWidth; ++i) start_fold<" + k + ">(" + f +
                     "[i]);\n";
            join += "            for (int i = 0; i < kRowWidth; ++i) join_fold<" + k + ">(" + f +
                    "[i], other." + f + "[i]);\n";
            save += "            for (int i = 0; i < kRowWidth; ++i) static_cast<" + type +
                    " *>(p." + part + ")[at + i] = " + f + "[i];\n";
            load += "            for (int i = 0; i < kRowWidth; ++i) " + f +
                    "[i] = static_cast<const " + type + " *>(p." + part + ")[at + i];\n";
        }
    }
    const std::string dependent = "        template <class P>\n";
    return "    static constexpr bool kFolds = " + std::string(members.empty() ? "false" : "true") +
           ";\n    struct Folds {\n" + members + "        INFINI_DEVICE void start() {\n" + start +
           "        }\n        INFINI_DEVICE void join(const Folds &other) {\n" + join +
           "        }\n" + dependent +
           "        INFINI_DEVICE void save(const P &p, int64_t at) const {\n" + save +
           "        }\n" + dependent +
           "        INFINI_DEVICE void load(const P &p, int64_t at) {\n" + load +
           "        }\n    };\n";
}

size_t Composer::partial_bytes(int pass) const {
    size_t bytes = 0;
    for (int s : passes_[size_t(pass)].stages)
        for (int fold : nest_.stages[size_t(s)].folds)
            if (fold) bytes += 16;
    return bytes;
}

void Composer::add_partials(ParameterText &members, Launch &launch, int64_t rows, int64_t splits,
                            const std::vector<int64_t> &starts) const {
    for (size_t pass = 0; pass < passes_.size(); ++pass) {
        int64_t at = starts[pass];
        for (int s : passes_[pass].stages) {
            const Stage &stage = nest_.stages[size_t(s)];
            for (size_t i = 0; i < stage.outputs.size(); ++i) {
                if (!stage.folds[i]) continue;
                const std::string f = std::to_string(number_[size_t(stage.folded[i])]);
                const size_t offset = members.add("void *", "part" + f, 8, 8);
                launch.pointers.push_back({uint32_t(offset), 1, kPartial, at});
                at += rows * splits * 16;
            }
        }
    }
}

}  // namespace infini::cuda::program
