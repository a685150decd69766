#include "call.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "call_key.h"
#include "infer.h"
#include "layout.h"
#include "object_pool.h"
#include "recorder.h"
#include "step.h"

namespace infinicore::detail {

bool memories_meet(Memory &a, Memory &b) {
    if (&a == &b) return true;
    if (!a.is_placed() || !b.is_placed()) return false;
    const std::byte *first = a.data_to_read(), *second = b.data_to_read();
    return first < second + b.size() && second < first + a.size();
}

namespace {

constexpr size_t kUsualTensors = 8;

struct CallOf {
    const Row &row;
    const RunRow &run;
    const CallRules &rules;
    const Given *tensors;
    const GivenValue *attributes, *scalars;
    const Given *bare;
    int op, run_index;
    size_t tensor_count, bare_count;
};

// What one call of a signature does.
struct KnownCall {
    struct Result {
        size_t tensor;
        std::shared_ptr<const TensorMetaData> meta;
        size_t bytes;
    };
    std::shared_ptr<const Step> step;
    std::vector<Result> results;
    std::vector<uint8_t> to_copy;  // inputs and results whose strides the operator does not take
};

// ---- Construction -------------------------------------------------------------------------------

size_t bytes_of_entry(char kind) {
    switch (kind) {
        case 'I':
        case 'F':
            return 4;
        case 's':
            return 1;
        default:
            return 8;
    }
}

bool is_list(char kind) { return std::strchr("ILFDs", kind); }

Values copied(const char *kinds, const GivenValue *given) {
    Values values;
    for (size_t i = 0; kinds[i]; ++i) {
        Value value = kinds[i] == '-' ? Value{} : given[i].value;
        values.counts.push_back(is_list(kinds[i]) ? given[i].count : 0);
        if (is_list(kinds[i]) && value.list) {
            // Strings end with a zero; a given but empty list has an address.
            const size_t bytes = given[i].count * bytes_of_entry(kinds[i]);
            auto copy = std::make_shared<std::vector<std::byte>>(bytes + 8);
            std::memcpy(copy->data(), value.list, bytes);
            value.list = copy->data();
            values.kept.push_back(std::move(copy));
        }
        values.values.push_back(value);
    }
    return values;
}

Operand operand_of(const TensorImpl &tensor) {
    return {int(tensor.dtype()), {tensor.shape().begin(), tensor.shape().end()}};
}

void check_given(const CallOf &call) {
    const InferenceRules &rules = kInferenceRules[call.op];
    for (int i = 0; i < rules.tensor_count; ++i) {
        const DeclaredTensor &tensor = rules.tensors[i];
        const bool is_bare = size_t(tensor.place) >= call.tensor_count;
        if (is_bare || tensor.optional || call.tensors[tensor.place].count() ||
            call.tensors[tensor.place].is_made())
            continue;
        fail(call.row.name, std::string(tensor.name) + " is empty: expected a tensor");
    }
}

// Contiguous, as the letter requires.
bool fits(const TensorImpl &tensor, char layout) {
    if (layout == '.' || tensor.numel() == 0) return true;
    if (layout == '1')
        return tensor.ndim() == 0 || tensor.shape().back() == 1 || tensor.strides().back() == 1;
    return tensor.is_contiguous();
}

Tensor expanded(const TensorImpl &tensor, const Dims &shape) {
    Strides strides(shape.size(), 0);
    const size_t ahead = shape.size() - tensor.ndim();
    for (size_t i = 0; i < tensor.ndim(); ++i)
        if (tensor.shape()[i] == size_t(shape[ahead + i])) strides[ahead + i] = tensor.strides()[i];
    return Tensor(make_pooled<TensorImpl>(Shape(shape.begin(), shape.end()), std::move(strides),
                                          tensor.dtype(),
                                          TensorData{tensor.offset(), tensor.memory()}));
}

DeviceRuntime &runtime_of_call(const CallOf &call) {
    for (size_t i = 0; i < call.tensor_count; ++i)
        if (const TensorImpl *tensor = call.tensors[i].get()) return runtime_of(tensor->device());
    return current_runtime();
}

const DeclaredTensor *declared_at(const CallOf &call, size_t place) {
    const InferenceRules &rules = kInferenceRules[call.op];
    for (int i = 0; i < rules.tensor_count; ++i)
        if (size_t(rules.tensors[i].place) == place) return &rules.tensors[i];
    return nullptr;
}

// For a tensor without a descriptor, which is not checked elsewhere.
void check_bare(const CallOf &call, const TensorImpl &tensor, const DeclaredTensor *declared,
                const Device &device) {
    const std::string name = declared ? declared->name : "a tensor";
    if (tensor.device() != device)
        fail(call.row.name,
             name + " lies on " + tensor.device().toString() + ": expected " + device.toString());
    if (!tensor.is_contiguous()) fail(call.row.name, name + " has gaps: expected none");
    if (declared && declared->dtypes && !(declared->dtypes >> uint32_t(tensor.dtype()) & 1))
        fail(call.row.name, name + " is of type " + toString(tensor.dtype()) +
                                ": expected another, see the operator");
}

// Every rejected call is a std::runtime_error in C++.
std::vector<InferredTensor> infer_results(const CallOf &call,
                                          std::vector<std::vector<Operand>> operands,
                                          const Values &attributes, const Values &scalars) {
    try {
        return infer(call.row, call.run_index, std::move(operands), attributes, scalars);
    } catch (const std::invalid_argument &error) {
        throw std::runtime_error(error.what());
    }
}

std::shared_ptr<KnownCall> make_call(const CallOf &call) {
    check_given(call);
    auto made = std::make_shared<KnownCall>();
    Values attributes = copied(call.row.attributes, call.attributes);
    Values scalars = copied(call.run.scalars, call.scalars);
    std::vector<std::vector<Operand>> operands(call.tensor_count + std::strlen(call.run.pointers));
    std::vector<std::vector<const TensorImpl *>> given(call.tensor_count);
    for (size_t i = 0; i < call.tensor_count; ++i) {
        const Given &each = call.tensors[i];
        for (size_t k = 0; k < each.count(); ++k) {
            const TensorImpl *tensor = &*each.tensor(k);
            operands[i].push_back(operand_of(*tensor));
            given[i].push_back(tensor);
            if (!fits(*tensor, call.rules.layouts[i]) && !each.is_list())
                made->to_copy.push_back(uint8_t(i));
        }
        if (!each.is_list() && given[i].empty()) given[i].push_back(nullptr);
    }
    const Device device = runtime_of_call(call).device;
    for (size_t i = 0, next = 0; call.run.pointers[i]; ++i)
        if (call.run.tensors[i] < 0 && call.bare)
            if (const TensorImpl *tensor = call.bare[next++].get()) {
                const size_t place = call.tensor_count + i;
                check_bare(call, *tensor, declared_at(call, place), device);
                operands[place].push_back(operand_of(*tensor));
            }

    std::vector<Tensor> kept;
    for (const InferredTensor &each :
         infer_results(call, std::move(operands), attributes, scalars)) {
        if (size_t(each.place) >= call.tensor_count) continue;  // bare ones are given
        auto &place = given[size_t(each.place)];
        if (each.dtype < 0) {
            kept.push_back(expanded(*place.at(0), each.shape));
        } else {
            Shape shape(each.shape.begin(), each.shape.end());
            Strides strides = contiguous_strides(shape);
            const Extent extent = extent_of(call.row.name, shape, strides, DataType(each.dtype));
            auto meta = std::make_shared<const TensorMetaData>(std::move(shape), std::move(strides),
                                                               DataType(each.dtype));
            auto nothing = std::make_shared<Memory>(nullptr, 0, device, Memory::Deleter{});
            kept.push_back(Tensor(std::make_shared<TensorImpl>(meta, TensorData{0, nothing})));
            made->results.push_back({size_t(each.place), std::move(meta), extent.bytes()});
        }
        place = {&*kept.back()};
    }
    if (made->to_copy.empty())
        made->step =
            describe(call.row, call.run_index, given, std::move(attributes), std::move(scalars));
    return made;
}

// ---- Overlaps -----------------------------------------------------------------------------------

// Would writing `out` change elements of `other` that the operator has yet to read?
bool spoils(const TensorImpl &out, const TensorImpl &other, bool may_lie_over) {
    Memory &here = *out.memory(), &there = *other.memory();
    if (!memories_meet(here, there)) [[likely]]
        return false;
    std::ptrdiff_t apart = std::ptrdiff_t(other.offset()) - std::ptrdiff_t(out.offset());
    if (&here != &there) apart += there.data_to_read() - here.data_to_read();
    if (apart == 0 && out.dtype() == other.dtype() && out.shape() == other.shape() &&
        out.strides() == other.strides())
        return !may_lie_over;
    const Extent a = extent_of("op", out.shape(), out.strides(), out.dtype());
    const Extent b = extent_of("op", other.shape(), other.strides(), other.dtype());
    return a.low < apart + b.high && apart + b.low < a.high;
}

bool is_covered(const CallOf &call, size_t out) {
    const TensorImpl *written = call.tensors[out].get();
    if (!written) return false;
    for (size_t i = 0; i < call.tensor_count; ++i) {
        if (call.rules.roles[i] != 'i') continue;
        const bool may_lie_over = call.rules.is_map || call.rules.over[out] == char('A' + i);
        for (size_t k = 0; k < call.tensors[i].count(); ++k)
            if (spoils(*written, *call.tensors[i].get(k), may_lie_over)) return true;
    }
    return false;
}

// Calls with copies of some tensors. Results are copied back.
void call_with_copies(const CallOf &call, const std::vector<uint8_t> &copied) {
    std::vector<Given> tensors(call.tensors, call.tensors + call.tensor_count);
    std::vector<Tensor> copies(call.tensor_count);
    for (uint8_t place : copied) {
        const Tensor &tensor = call.tensors[place].tensor();
        Tensor &copy = copies[place];
        copy = Tensor::empty(tensor->shape(), tensor->dtype(), tensor->device());
        if (call.rules.roles[place] != 'o') copy->copy_from(tensor);
        tensors[place] = copy;
    }
    detail::call(call.op, call.run_index, tensors.data(), call.attributes, call.scalars, call.bare);
    for (uint8_t place : copied)
        if (call.rules.roles[place] != 'i') call.tensors[place].tensor()->copy_from(copies[place]);
}

// ---- Running ------------------------------------------------------------------------------------

void note(Recorder &recorder, const Given &given) {
    for (size_t k = 0; k < given.count(); ++k) {
        const Tensor &tensor = given.tensor(k);
        // Views of results are not inputs, and holding them would make them outputs.
        const auto *open = dynamic_cast<const OpenMemory *>(tensor->memory().get());
        if (!open || open->recording != recorder.number) recorder.note_given(tensor);
    }
}

// The tensors of the run function's pointers, in order.
template <class Each>
void for_each_place(const CallOf &call, const Each &each) {
    size_t next = 0;
    for (size_t i = 0; call.run.pointers[i]; ++i) {
        const int tensor = call.run.tensors[i];
        const Given &given = tensor >= 0 ? call.tensors[tensor] : call.bare[next++];
        if (!given.is_list()) {
            each(given.get());
            continue;
        }
        for (size_t k = 0; k < given.count(); ++k) each(given.get(k));
    }
}

void record(Recorder &recorder, const CallOf &call, const KnownCall &known) {
    Node node;
    node.step = known.step;
    for_each_place(call, [&](const TensorImpl *tensor) {
        node.locations.push_back(tensor ? Location{tensor->memory(), tensor->offset()}
                                        : Location{});
    });
    if (!recorder.traced) {
        for (size_t i = 0; i < call.tensor_count; ++i) note(recorder, call.tensors[i]);
        for (size_t i = 0; i < call.bare_count; ++i) note(recorder, call.bare[i]);
    }
    recorder.nodes.push_back(std::move(node));
}

void launch(const CallOf &call, const KnownCall &known) {
    const Step &step = *known.step;
    constexpr size_t kUsual = 24;
    void *usual[kUsual];
    std::vector<void *> many(step.arguments.size() > kUsual ? step.arguments.size() : 0);
    void **pointers = many.empty() ? usual : many.data(), **next = pointers;
    const Step::Argument *argument = step.arguments.data();
    for_each_place(call, [&](const TensorImpl *tensor) {
        *next++ = tensor ? address_of(*tensor, *argument) : nullptr;
        ++argument;
    });
    step.launch(pointers, stream_of(*step.runtime));
}

// Allocates the results that were not given.
[[gnu::noinline]] void perform_with_results(CallOf call, const KnownCall &known) {
    Recorder *recorder = thread_state().recorder;
    std::vector<Given> many;
    std::array<Given, kUsualTensors> usual;
    Given *tensors = usual.data();
    if (call.tensor_count > kUsualTensors) [[unlikely]] {
        many.resize(call.tensor_count);
        tensors = many.data();
    }
    std::copy_n(call.tensors, call.tensor_count, tensors);
    for (const KnownCall::Result &result : known.results) {
        Tensor tensor(make_pooled<TensorImpl>(
            result.meta, TensorData{0, new_memory(*known.step->runtime, result.bytes)}));
        if (recorder && !recorder->traced) recorder->note_made(tensor);
        tensors[result.tensor] = call.tensors[result.tensor].make(std::move(tensor));
    }
    call.tensors = tensors;
    recorder ? record(*recorder, call, known) : launch(call, known);
}

[[gnu::noinline]] void perform_with_copies(const CallOf &call, const KnownCall &known) {
    std::vector<uint8_t> copied = known.to_copy;
    for (size_t i = 0; i < call.tensor_count; ++i)
        if (call.rules.roles[i] != 'i' && is_covered(call, i)) copied.push_back(uint8_t(i));
    std::sort(copied.begin(), copied.end());
    copied.erase(std::unique(copied.begin(), copied.end()), copied.end());
    call_with_copies(call, copied);
}

void perform_call(const CallOf &call, const KnownCall &known) {
    bool has_copies = !known.to_copy.empty();
    for (size_t i = 0; i < call.tensor_count; ++i)
        has_copies |= call.rules.roles[i] != 'i' && is_covered(call, i);
    if (has_copies) [[unlikely]]
        return perform_with_copies(call, known);
    if (!known.results.empty()) return perform_with_results(call, known);
    Recorder *recorder = thread_state().recorder;
    recorder ? record(*recorder, call, known) : launch(call, known);
}

CallKey key_of(const CallOf &call) {
    CallKey key;
    key.add(uint64_t(call.op) | uint64_t(call.run_index) << 32 | uint64_t(infiniGetModes()) << 48);
    for (size_t i = 0; i < call.tensor_count; ++i) {
        const Given &given = call.tensors[i];
        if (given.is_list() || !given.count()) key.add(given.count() << 1 | given.is_made());
        for (size_t k = 0; k < given.count(); ++k) key.add(*given.tensor(k));
    }
    for (size_t i = 0; i < call.bare_count; ++i) {
        key.add(call.bare[i].count());
        if (const TensorImpl *tensor = call.bare[i].get()) key.add(*tensor);
    }
    const auto add_values = [&](const char *kinds, const GivenValue *given) {
        for (size_t i = 0; kinds[i]; ++i) {
            if (kinds[i] == '-') continue;
            if (!is_list(kinds[i])) {
                key.add(uint64_t(given[i].value.i));
                continue;
            }
            key.add(given[i].count << 1 | (given[i].value.list != nullptr));
            key.add(given[i].value.list, given[i].count * bytes_of_entry(kinds[i]));
        }
    };
    add_values(call.row.attributes, call.attributes);
    add_values(call.run.scalars, call.scalars);
    return key;
}

}  // namespace

void call(int op, int run, const Given *tensors, const GivenValue *attributes,
          const GivenValue *scalars, const Given *bare) {
    const Row &row = kRows[op];
    const RunRow &running = row.runs[run];
    size_t bare_count = 0;
    for (size_t i = 0; bare && running.pointers[i]; ++i) bare_count += running.tensors[i] < 0;
    const CallRules &rules = kCallRules[op];
    const CallOf made{row,       running, rules, tensors, attributes,
                      scalars,   bare,    op,    run,     size_t(rules.tensor_count),
                      bare_count};
    if (rules.is_varied) return perform_call(made, *make_call(made));
    const CallKey key = key_of(made);
    const uint64_t hash = key.hash();
    auto &cache = CallCache<KnownCall>::of_thread();
    if (const auto *known = cache.find(key, hash)) [[likely]]
        return perform_call(made, **known);
    perform_call(made, *cache.insert(key, hash, make_call(made)));
}

}  // namespace infinicore::detail
