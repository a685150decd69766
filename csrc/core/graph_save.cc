// Writes a graph to a file.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

#include "graph_file.h"
#include "graph_state.h"

namespace infinicore::graph {

using detail::Layout;
using detail::Node;
using detail::RunRow;
using detail::Step;
using detail::Value;
using detail::Values;

namespace {

constexpr size_t kTensorAlignment =
    256;  // of tensors in their memory: it decides which kernels run

// ---- Contents -----------------------------------------------------------------------------------

struct Range {
    size_t begin, end;
};

// The bytes of a layout as ranges; adjacent ranges are joined.
template <class Take>
void each_piece(const Shape &shape, const Strides &strides, size_t element, std::ptrdiff_t at,
                size_t dim, const Take &take) {
    size_t run = element;
    size_t rest = shape.size();
    while (rest > dim && strides[rest - 1] * std::ptrdiff_t(element) == std::ptrdiff_t(run))
        run *= shape[--rest];
    if (rest == dim) return take(Range{size_t(at), size_t(at) + run});
    for (size_t i = 0; i < shape[dim]; ++i)
        each_piece(shape, strides, element,
                   at + std::ptrdiff_t(i) * strides[dim] * std::ptrdiff_t(element), dim + 1, take);
}

void add_ranges(std::vector<Range> &ranges, const TensorImpl &tensor) {
    if (tensor.numel() == 0) return;
    // In the order of memory, whatever the order of the dimensions is; those that repeat the same
    // elements add nothing.
    const auto element = std::ptrdiff_t(tensor.element_size());
    auto begin = std::ptrdiff_t(tensor.offset());
    std::vector<std::pair<Stride, Size>> dims;
    for (size_t d = 0; d < tensor.ndim(); ++d) {
        const Stride stride = tensor.strides()[d];
        const Size size = tensor.shape()[d];
        if (stride == 0 || size == 1) continue;
        if (stride < 0) begin += stride * std::ptrdiff_t(size - 1) * element;
        dims.emplace_back(std::abs(stride), size);
    }
    std::sort(dims.begin(), dims.end(), std::greater<>());
    Shape shape;
    Strides strides;
    for (auto [stride, size] : dims) shape.push_back(size), strides.push_back(stride);
    each_piece(shape, strides, size_t(element), begin, 0,
               [&](Range range) { ranges.push_back(range); });
}

// Sorted, without overlaps.
std::vector<Range> merged(std::vector<Range> ranges) {
    std::sort(ranges.begin(), ranges.end(),
              [](const Range &a, const Range &b) { return a.begin < b.begin; });
    std::vector<Range> made;
    for (const Range &range : ranges)
        if (!made.empty() && range.begin <= made.back().end)
            made.back().end = std::max(made.back().end, range.end);
        else
            made.push_back(range);
    return made;
}

Tensor bytes_of(const std::shared_ptr<Memory> &memory, Range range) {
    return Tensor(std::make_shared<TensorImpl>(Shape{range.end - range.begin}, Strides{1},
                                               DataType::U8, TensorData{range.begin, memory}));
}

// ---- Writing ------------------------------------------------------------------------------------

class Writer {
public:
    explicit Writer(const std::string &path) : path_(path), partial_(path + ".partial") {
        file_.open(partial_, std::ios::binary | std::ios::trunc);
        check();
    }
    ~Writer() {
        if (!partial_.empty()) std::remove(partial_.c_str());
    }

    void bytes(const void *data, size_t count) {
        file_.write(static_cast<const char *>(data), std::streamsize(count));
    }
    void number(uint64_t value) { bytes(&value, sizeof value); }
    void text(const std::string &value) {
        number(value.size());
        bytes(value.data(), value.size());
    }
    template <class List>
    void list(const List &values) {
        number(values.size());
        for (auto value : values) number(uint64_t(value));
    }
    // A file of this name is either complete or absent.
    void finish() {
        file_.close();
        check();
        if (std::rename(partial_.c_str(), path_.c_str())) fail();
        partial_.clear();
    }

private:
    void check() {
        if (!file_) fail();
    }
    [[noreturn]] void fail() {
        throw std::runtime_error("Graph.save: " + path_ + ": " + std::strerror(errno));
    }
    std::string path_, partial_;
    std::ofstream file_;
};

class Saver {
public:
    Saver(const Graph::State &state, const std::string &path) : state_(state), file_(path) {
        {
            std::lock_guard lock(state.naming);
            inputs_ = state.inputs, outputs_ = state.outputs;
        }
        for (size_t n = 0; n < state.recorded.size(); ++n) require_operator(n);
        for (const Node &node : state.recorded)
            for (size_t p = 0; p < node.locations.size(); ++p)
                if (node.locations[p].memory) add(node.locations[p].memory);
        for (const auto *list : {&inputs_, &outputs_})
            for (const NamedTensor &each : *list) add(each.tensor->memory());
        for (const Node &node : state.recorded) find_ranges(node);
        for (const NamedTensor &input : inputs_)
            add_ranges(entry(input.tensor->memory()).needed, *input.tensor);
    }

    void save() {
        file_.bytes(kMagic, 8);
        file_.number(kVersion);
        file_.number(memories_.size());
        for (size_t i = 0; i < memories_.size(); ++i) write_memory(memories_[i]);
        file_.number(state_.recorded.size());
        for (const Node &node : state_.recorded) write(node);
        for (const auto *list : {&inputs_, &outputs_}) {
            file_.number(list->size());
            for (const NamedTensor &each : *list) {
                file_.text(each.name);
                write(detail::layout_of(*each.tensor), each.tensor->memory(),
                      each.tensor->offset());
            }
        }
        file_.finish();
    }

private:
    struct Saved {
        std::shared_ptr<Memory> memory;
        std::vector<Range> needed;  // bytes that steps read, or that inputs refer to
        size_t begin = 0;           // of what the file has of it
        size_t size = 0;
        Kind kind = Kind::Inside;
    };

    void require_operator(size_t n) const {
        const Node &node = state_.recorded[n];
        const std::string what = "Graph.save: step " + std::to_string(n) +
                                 (node.step ? " (" + node.step->name + ")" : std::string());
        if (!node.step || !node.step->call)
            throw std::invalid_argument(
                what +
                " is no operator, but the program's own work or a collective: expected "
                "operators, which can be described in a file");
        const std::string reason = unsafe_reason(*node.step->call->row, node.step->call->run);
        if (!reason.empty()) throw std::invalid_argument(what + ": " + reason);
        if (node.step->runtime != state_.recorded[0].step->runtime)
            throw std::invalid_argument(what + " runs on " + node.step->runtime->device.toString() +
                                        ": expected one device for the whole graph");
    }

    void add(const std::shared_ptr<Memory> &memory) {
        if (!numbers_.try_emplace(memory.get(), memories_.size()).second) return;
        Saved &made = memories_.emplace_back();
        made.memory = memory;
        made.size = memory->size();
        if (state_.is_own(memory.get())) return;
        const auto &constants = state_.constants;
        made.kind = std::find(constants.begin(), constants.end(), memory) != constants.end()
                        ? Kind::Constant
                        : Kind::Client;
    }

    Saved &entry(const std::shared_ptr<Memory> &memory) {
        return memories_[numbers_.at(memory.get())];
    }

    void find_ranges(const Node &node) {
        for (size_t p = 0; p < node.locations.size(); ++p) {
            const auto &[memory, offset] = node.locations[p];
            if (!memory || entry(memory).kind == Kind::Inside) continue;
            const Layout &layout = node.step->tensors[size_t(node.step->arguments[p].tensor)];
            const TensorImpl view(Shape(layout.shape.begin(), layout.shape.end()),
                                  Strides(layout.strides.begin(), layout.strides.end()),
                                  layout.dtype, TensorData{offset, memory});
            add_ranges(entry(memory).needed, view);
        }
    }

    void write_memory(Saved &saved) {
        std::vector<Range> ranges;
        if (saved.kind != Kind::Inside) {
            ranges = merged(std::move(saved.needed));
            if (!ranges.empty()) {
                saved.begin = ranges.front().begin / kTensorAlignment * kTensorAlignment;
                saved.size = ranges.back().end - saved.begin;
            }
        }
        file_.number(saved.size);
        file_.number(uint64_t(saved.kind));
        file_.number(ranges.size());
        if (ranges.empty()) return;
        const Range whole{saved.begin, saved.begin + saved.size};
        const Tensor host = bytes_of(saved.memory, whole)->to(Device(Device::Type::CPU, 0));
        context::syncStream();
        for (const Range &range : ranges) {
            file_.number(range.begin - saved.begin);
            file_.number(range.end - range.begin);
            file_.bytes(host->data() + (range.begin - saved.begin), range.end - range.begin);
        }
    }

    void write(const char *kinds, const Values &values) {
        for (size_t i = 0; kinds[i]; ++i) {
            const Value &value = values.values[i];
            const size_t bytes = element_bytes(kinds[i]);
            if (!bytes) {
                file_.number(kinds[i] == '-' ? 0 : uint64_t(value.i));
                continue;
            }
            file_.number(value.list ? values.counts[i] : kAbsent);
            if (value.list) file_.bytes(value.list, values.counts[i] * bytes);
        }
    }

    void write(const Layout &layout, const std::shared_ptr<Memory> &memory, size_t offset) {
        file_.number(1);
        file_.number(uint64_t(layout.dtype));
        file_.list(layout.shape);
        file_.list(layout.strides);
        write_place(memory, offset);
    }

    void write_place(const std::shared_ptr<Memory> &memory, size_t offset) {
        file_.number(memory ? numbers_.at(memory.get()) : kAbsent);
        if (!memory) return file_.number(0);
        // An empty tensor may be at any address.
        const Saved &saved = entry(memory);
        file_.number(std::clamp(offset, saved.begin, saved.begin + saved.size) - saved.begin);
    }

    void write(const Node &node) {
        const Step &step = *node.step;
        const RunRow &run = step.call->row->runs[step.call->run];
        file_.text(step.call->row->name);
        file_.number(uint64_t(step.call->run));
        write(step.call->row->attributes, step.call->attributes);
        write(run.scalars, step.call->scalars);
        // A tensor without a pointer of its own has no memory.
        std::vector<size_t> place_of(step.tensors.size(), node.locations.size());
        for (size_t p = 0; p < step.arguments.size(); ++p)
            place_of[size_t(step.arguments[p].tensor)] = p;
        size_t next = 0;
        for (size_t count : step.counts) {
            file_.number(count);
            for (size_t k = 0; k < count; ++k, ++next) {
                if (!step.present[next]) {
                    file_.number(0);
                    continue;
                }
                const size_t p = place_of[next];
                const bool is_placed = p < node.locations.size();
                write(step.tensors[next], is_placed ? node.locations[p].memory : nullptr,
                      is_placed ? node.locations[p].offset : 0);
            }
        }
    }

    const Graph::State &state_;
    std::vector<NamedTensor> inputs_, outputs_;  // with their current names
    Writer file_;
    std::vector<Saved> memories_;
    std::unordered_map<const Memory *, size_t> numbers_;
};

}  // namespace

void Graph::save(const std::string &path) const {
    if (state_->recorded.empty())
        throw std::invalid_argument("Graph.save: the graph has no steps: expected one at least");
    Saver saver(*state_, path);
    detail::DeviceScope scope(*state_->recorded[0].step->runtime);
    saver.save();
}

}  // namespace infinicore::graph
