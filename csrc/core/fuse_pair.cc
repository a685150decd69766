#include "fuse_pair.h"

#include <algorithm>

namespace infinicore::detail {

bool is_epilogue(const Step &step) {
    return step.program && step.program->flags & INFINI_PROGRAM_EPILOGUE;
}

namespace {

// Of gemm: the product, and the factors, which are read throughout.
constexpr int kKernelTensors = 3;

// A kernel that takes an epilogue, if the back end can: it must not read its result.
bool takes_epilogue(const Step &step) {
    return !step.program && step.is(kTakesEpilogue) && step.scalars.size() == 2 &&
           step.scalars[1].f == 0 && step.arguments.size() == kKernelTensors;
}

// Programs that can be fused; steps that need a kernel of their own are not among them.
bool can_lead(const Step &step) {
    if (step.is(kRandom)) return false;
    const InfiniProgram *program = program_of(step);
    return program ? !(program->flags & INFINI_PROGRAM_BLAS) : takes_epilogue(step);
}

bool can_follow(const Step &step) {
    const InfiniProgram *program = program_of(step);
    return !step.is(kRandom) && program &&
           !(program->flags & (INFINI_PROGRAM_BLAS | INFINI_PROGRAM_EPILOGUE));
}

bool same_location(const Location &a, const Location &b) {
    return a.memory == b.memory && a.offset == b.offset;
}

// Whether a tensor was made by a cast.
bool is_rounded(const Step &step, int tensor) {
    return step.rounded.empty() ? step.is(kRounds) : step.rounded[size_t(tensor)];
}

// Whether a value is the same whether or not it was stored in a tensor. Floats may be rounded
// differently, except where a cast asks for the rounding.
bool survives(const Step &step, int tensor, Computing computing) {
    const bool is_cast = is_rounded(step, tensor);
    switch (step.tensors[size_t(tensor)].dtype) {
        case DataType::F16:
        case DataType::BF16:
            return !is_cast && (computing == Computing::Float || computing == Computing::Double);
        case DataType::F32:
            return computing == Computing::Float || (computing == Computing::Double && !is_cast);
        case DataType::F64:
            return computing == Computing::Float || computing == Computing::Double;
        case DataType::I64:
            return computing == Computing::Int;
        case DataType::U64:
            return computing == Computing::Uint;
        case DataType::BOOL:
            return is_plain_copy(step) || (step.program && gives_truth(*step.program, tensor));
        default:
            return false;
    }
}

Computing computing_of(const Step &step) {
    return computing_of(step.tensors, step.present, step.program ? step.program->flags : 0);
}

// The tensors of a map, iterated over in another way.
bool reindex(std::vector<Layout> &tensors, const std::vector<uint8_t> &present,
             const Reindexing &reindexing) {
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (!present[i]) continue;
        auto seen = reindexing(tensors[i]);
        if (!seen) return false;
        tensors[i] = std::move(*seen);
    }
    return true;
}

}  // namespace

std::vector<Use> uses_of(const Node &node) {
    std::vector<Use> uses;
    if (!node.step) return uses;
    const Step &step = *node.step;
    const InfiniProgram *program = program_of(step);
    const bool blas = program && program->flags & INFINI_PROGRAM_BLAS;
    for (size_t i = 0; i < node.locations.size(); ++i) {
        if (!node.locations[i].memory) continue;
        const Step::Argument &argument = step.arguments[i];
        const bool known = argument.tensor >= 0 && !blas;
        const Layout *layout = known ? &step.tensors[size_t(argument.tensor)] : nullptr;
        // A kernel may read what it writes; for a program this is known.
        const bool reads =
            argument.read || argument.tensor < 0 ||
            (program ? reads_pointer(*program, int(i)) : argument.written && !takes_epilogue(step));
        uses.push_back({int(i), range_of(node.locations[i], layout), reads,
                        argument.written || argument.tensor < 0});
    }
    return uses;
}

std::vector<Between> find_between(const Party &first, const Party &second) {
    const Step &a = *first.node.step, &b = *second.node.step;
    if (a.runtime != b.runtime || !can_lead(a) || !can_follow(b)) return {};
    auto tensor_of = [](const Step &step, const Use &use) {
        return step.arguments[size_t(use.argument)].tensor;
    };
    auto is_it = [&](const Use &of_b, const Use &of_a) {
        return same_location(second.node.locations[size_t(of_b.argument)],
                             first.node.locations[size_t(of_a.argument)]);
    };
    std::vector<Between> found;
    for (const Use &written : first.uses) {
        if (!written.writes) continue;
        Between between{tensor_of(a, written), {}, false, written.range};
        for (const Use &use : second.uses) {
            const bool touches = use.range.overlaps(written.range);
            // Arguments that differ in a trace may be the same tensor in a call.
            if (!touches && use.range.may_be(written.range)) return {};
            if (!touches) continue;
            if (tensor_of(a, written) < 0 || tensor_of(b, use) < 0 || !is_it(use, written))
                return {};
            const Layout &mine = a.tensors[size_t(tensor_of(a, written))];
            const Layout &its = b.tensors[size_t(tensor_of(b, use))];
            if (use.writes && (use.reads || !same_elements(mine, its))) return {};
            if (use.writes)
                between.overwritten = true;
            else
                between.inputs.push_back(tensor_of(b, use));
        }
        if (!between.inputs.empty())
            found.push_back(std::move(between));
        else if (between.overwritten)  // and not read: two writers of one tensor
            return {};
    }
    // What the second overwrites of the first's inputs may only be overwritten element by element.
    const InfiniProgram *leading = program_of(a), *following = program_of(b);
    const bool by_element = leading && leading->phase_count == 1 && following->phase_count == 1;
    for (const Use &written : second.uses) {
        if (!written.writes) continue;
        for (const Use &read : first.uses) {
            const bool touches = read.range.overlaps(written.range);
            const bool may_touch = touches || read.range.may_be(written.range);
            if (!may_touch || (read.writes && !read.reads)) continue;
            const bool is_factor = is_epilogue(a) && read.argument < kKernelTensors;
            if (!by_element || is_factor || (touches && !is_it(written, read)) ||
                read.range.may_be_part(written.range) || tensor_of(a, read) < 0 ||
                tensor_of(b, written) < 0)
                return {};
            if (!same_elements(a.tensors[size_t(tensor_of(a, read))],
                               b.tensors[size_t(tensor_of(b, written))]))
                return {};
        }
    }
    return found;
}

namespace {

// Gives the tensors between the two a common shape, that of one of the two.
bool align(const Step &a, const InfiniProgram &leading, std::vector<Layout> &of_a, const Step &b,
           std::vector<Layout> &of_b, const std::vector<Between> &between, bool spread) {
    const InfiniProgram &following = *program_of(b);
    auto are_same = [&] {
        for (const Between &each : between)
            for (int input : each.inputs)
                if (!same_elements(of_b[size_t(input)], of_a[size_t(each.output)])) return false;
        return true;
    };
    if (spread || are_same()) return true;
    const Layout mine = of_a[size_t(between[0].output)];
    const Layout its = of_b[size_t(between[0].inputs[0])];
    if (can_reindex(following) && space_of(following, of_b, 0) == its.shape) {
        const auto change = reindexing(its, mine);
        return change && reindex(of_b, b.present, *change) && are_same();
    }
    if (program_of(a) && !is_epilogue(a) && can_reindex(leading) &&
        space_of(leading, of_a, 0) == mine.shape) {
        const auto change = reindexing(mine, its);
        return change && reindex(of_a, a.present, *change) && are_same();
    }
    return false;
}

// Whether the second, after reindexing, still writes element by element what the first accesses.
bool write_in_step(const Party &first, const std::vector<Layout> &of_a, const Party &second,
                   const std::vector<Layout> &of_b) {
    for (const Use &written : second.uses)
        for (const Use &use : first.uses) {
            const bool touches = use.range.overlaps(written.range);
            if (!written.writes || (!touches && !use.range.may_be(written.range))) continue;
            const int mine = first.node.step->arguments[size_t(use.argument)].tensor;
            const int its = second.node.step->arguments[size_t(written.argument)].tensor;
            if (mine < 0 || its < 0 || !same_elements(of_a[size_t(mine)], of_b[size_t(its)]))
                return false;
        }
    return true;
}

}  // namespace

std::optional<Node> join(const Party &first, const Party &second,
                         const std::vector<Between> &between) {
    const Step &a = *first.node.step, &b = *second.node.step;
    const bool kernel = !program_of(a) || is_epilogue(a);
    const InfiniProgram &leading = program_of(a) ? *program_of(a) : *infiniKernelResult();
    const InfiniProgram &following = *program_of(b);
    // Copies have kernels of their own, which are faster when there are only copies; row kernels
    // are faster when the reduced dimension is contiguous.
    if (is_plain_copy(a) && (is_plain_copy(b) || !is_map(following))) return std::nullopt;
    const Computing computing = computing_of(a);
    if (computing == Computing::Unknown) return std::nullopt;
    if (computing != computing_of(b) && !is_plain_copy(b)) return std::nullopt;
    if (kernel && (!is_map(following) || computing != Computing::Float)) return std::nullopt;
    // A scalar may be broadcast, which costs nothing.
    bool spread = is_uniform(leading);
    std::vector<InfiniLink> links;
    std::vector<int> inputs;
    for (const Between &each : between) {
        if (!is_plain_copy(b) && !survives(a, each.output, computing)) return std::nullopt;
        spread = spread && !each.keep;
        links.push_back({each.output, each.inputs.data(), int(each.inputs.size()), each.keep});
        inputs.insert(inputs.end(), each.inputs.begin(), each.inputs.end());
    }
    std::vector<Layout> of_a = a.tensors, of_b = b.tensors;
    if (!align(a, leading, of_a, b, of_b, between, spread)) return std::nullopt;
    const bool is_reindexed = of_a != a.tensors || of_b != b.tensors;
    if (is_reindexed && !write_in_step(first, of_a, second, of_b)) return std::nullopt;

    // A map goes into the phase that reads the tensor; or else the second, a map, is appended.
    const int phase = reading_phase(following, inputs);
    if (phase < 0) return std::nullopt;
    const bool front = is_map(leading);
    const InfiniProgram &frame = front ? following : leading;
    for (const Between &each : between) {
        const Sizes &shape = of_a[size_t(each.output)].shape;
        if (front && !spread &&
            (space_of(leading, of_a, 0) != shape || space_of(following, of_b, phase) != shape))
            return std::nullopt;
        if (!front && space_of(following, of_b, 0) != shape) return std::nullopt;
    }
    const InfiniJoin joining{links.data(),
                             int(links.size()),
                             int(of_a.size()),
                             int(a.arguments.size()),
                             int(a.attributes.size()),
                             int(a.scalars.size())};
    std::unique_ptr<InfiniFused, void (*)(InfiniFused *)> fused(
        infiniFuse(&leading, &following, &joining), infiniDropFused);
    if (!fused) return std::nullopt;

    Draft draft;
    draft.name = a.name + "+" + b.name;
    if (kernel) {
        draft.kernel = a.name.substr(0, a.name.find('+'));
        draft.kernel_tensors = kKernelTensors;
        draft.kernel_scalars = 2;
    }
    draft.program = infiniFusedProgram(fused.get());
    for (int p = 0; p < frame.phase_count; ++p)
        draft.spaces.push_back(space_of(frame, front ? of_b : of_a, p));
    draft.computing = computing;
    auto append = [](auto &to, const auto &from) { to.insert(to.end(), from.begin(), from.end()); };
    append(draft.tensors, of_a), append(draft.tensors, of_b);
    append(draft.locations, first.node.locations), append(draft.locations, second.node.locations);
    append(draft.attributes, a.attributes), append(draft.attributes, b.attributes);
    append(draft.scalars, a.scalars), append(draft.scalars, b.scalars);
    for (size_t i = 0; i < of_a.size(); ++i) draft.rounded.push_back(is_rounded(a, int(i)));
    for (size_t i = 0; i < of_b.size(); ++i) {
        bool rounded = is_rounded(b, int(i));
        // A copy's are those of what it copies.
        if (is_plain_copy(b))
            for (const Between &each : between) rounded |= is_rounded(a, each.output);
        draft.rounded.push_back(rounded);
    }
    draft.runtime = a.runtime;
    draft.parts = {first.node.step, second.node.step};
    return make_node(draft);
}

}  // namespace infinicore::detail
