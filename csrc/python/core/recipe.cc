#include "recipe.h"

#include <algorithm>

#include "numbers.h"
#include "object_pool.h"

namespace infini::python {

using infinicore::TensorData;
using infinicore::detail::Location;
using infinicore::detail::make_pooled;
using infinicore::detail::OpenMemory;
using infinicore::detail::stream_of;

// ---- Construction -------------------------------------------------------------------------------

Source Recipe::source_of(const Location &place, const std::vector<Tensor> &metas) {
    if (!place.memory) return {};
    auto *open = dynamic_cast<OpenMemory *>(place.memory.get());
    auto offset = std::ptrdiff_t(place.offset);
    if (!open || !open->traced) {
        auto at = std::find(constants_.begin(), constants_.end(), place.memory);
        if (at == constants_.end()) at = constants_.insert(at, place.memory);
        return {Source::Constant, int(at - constants_.begin()), offset};
    }
    switch (open->role) {
        case OpenMemory::Role::Argument:
            return {Source::Argument, open->index,
                    offset - std::ptrdiff_t(metas[size_t(open->index)]->offset())};
        case OpenMemory::Role::Number: {
            for (size_t i = 0; i < numbers_.size(); ++i)
                if (numbers_[i].index == open->index && numbers_[i].dtype == open->dtype)
                    return {Source::Number, int(i), offset};
            numbers_.push_back({open->index, open->dtype});
            return {Source::Number, int(numbers_.size()) - 1, offset};
        }
        case OpenMemory::Role::Result:
            break;
    }
    if (open->index < 0) {
        open->index = int(fresh_.size());
        fresh_.push_back(open->size());
    }
    return {Source::Fresh, open->index, offset};
}

bool Recipe::add_result(nb::handle object, const std::vector<Tensor> &metas) {
    Result result;
    if (!is_tensor(object.ptr())) {
        // A plain value depends only on the layouts, as the steps do. Others may hold tensors.
        PyObject *value = object.ptr();
        if (value != Py_None && !PyLong_Check(value) && !PyFloat_Check(value) &&
            !PyUnicode_Check(value) && !is_dtype(object))
            return false;
        result.value = nb::borrow(object);
        results_.push_back(std::move(result));
        return true;
    }
    const Tensor &tensor = tensor_of(object.ptr());
    result.source = source_of({tensor->memory(), tensor->offset()}, metas);
    if (result.source.kind == Source::Constant || result.source.kind == Source::Number)
        return false;
    result.meta = tensor->meta();
    if (result.source.kind == Source::Argument) {
        const Tensor &meta = metas[size_t(result.source.index)];
        result.is_argument = result.source.offset == 0 && meta->dtype() == tensor->dtype() &&
                             meta->shape() == tensor->shape() &&
                             meta->strides() == tensor->strides();
    }
    results_.push_back(std::move(result));
    return true;
}

std::vector<Recipe::Work> Recipe::work_of(const std::vector<Node> &nodes,
                                          const std::vector<Tensor> &metas) {
    std::vector<Work> made;
    for (const Node &node : nodes) {
        Work &work = made.emplace_back();
        work.step = node.step;
        for (const Location &place : node.locations)
            work.locations.push_back(source_of(place, metas));
    }
    return made;
}

bool Recipe::make(Recorder &recorder, const std::vector<Tensor> &metas, nb::handle result) {
    std::vector<nb::object> leaves;
    if (nb::isinstance<nb::tuple>(result) || nb::isinstance<nb::list>(result)) {
        container_ = nb::borrow(nb::handle((PyObject *)Py_TYPE(result.ptr())));
        const bool is_exact = PyTuple_CheckExact(result.ptr()) || PyList_CheckExact(result.ptr());
        if (!is_exact && !nb::hasattr(container_, "_make")) return false;  // made in another way
        for (nb::handle each : result) leaves.push_back(nb::borrow(each));
    } else {
        container_ = nb::none();
        leaves.push_back(nb::borrow(result));
    }
    std::vector<const Memory *> given;
    for (const nb::object &leaf : leaves)
        if (is_tensor(leaf.ptr())) given.push_back(tensor_of(leaf.ptr())->memory().get());
    auto needed = [&](const Memory *memory) {
        auto *open = dynamic_cast<const OpenMemory *>(memory);
        return !open || open->role != OpenMemory::Role::Result ||
               std::find(given.begin(), given.end(), memory) != given.end();
    };
    std::vector<Node> nodes;
    {
        Unlocked released;  // as in steps.cc
        nodes = infinicore::detail::fuse(recorder.nodes, needed);
    }
    for (const Node &node : nodes) {
        if (runtime_ && runtime_ != node.step->runtime) return false;  // several devices
        runtime_ = node.step->runtime;
        most_locations_ = std::max(most_locations_, node.locations.size());
    }
    work_ = work_of(nodes, metas);
    for (const nb::object &leaf : leaves)
        if (!add_result(leaf, metas)) return false;
    fresh_count_ = fresh_.size();
    recorded_ = work_of(recorder.nodes, metas);
    if (!runtime_ && !metas.empty()) runtime_ = &infinicore::detail::runtime_of(metas[0]->device());
    if (!runtime_) runtime_ = &infinicore::detail::current_runtime();
    return true;
}

// ---- Running ------------------------------------------------------------------------------------

std::shared_ptr<Memory> Recipe::written(const WrittenNumber &number,
                                        const CallArguments &arguments) const {
    return number_memory(*runtime_, arguments.numbers[size_t(number.index)], number.dtype);
}

void Recipe::record(const CallArguments &arguments, Memories &memories) const {
    Recorder &recorder = *infinicore::detail::thread_state().recorder;
    for (size_t bytes : fresh_) memories.push_back(recorder.allocate(bytes, runtime_->device));
    for (const WrittenNumber &number : numbers_) {
        memories.push_back(written(number, arguments));
        recorder.constants.push_back(memories[memories.size() - 1]);
    }
    recorder.constants.insert(recorder.constants.end(), constants_.begin(), constants_.end());
    for (const Work &work : recorded_) {
        Node &node = recorder.nodes.emplace_back();
        node.step = work.step;
        for (const Source &source : work.locations) {
            Location &place = node.locations.emplace_back();
            switch (source.kind) {
                case Source::Absent:
                    break;
                case Source::Argument: {
                    const Tensor &tensor = tensor_of(arguments.tensors[size_t(source.index)]);
                    place = {tensor->memory(),
                             size_t(std::ptrdiff_t(tensor->offset()) + source.offset)};
                    break;
                }
                case Source::Number:
                    place = {memories[fresh_.size() + size_t(source.index)], size_t(source.offset)};
                    break;
                case Source::Fresh:
                    place = {memories[size_t(source.index)], size_t(source.offset)};
                    break;
                case Source::Constant:
                    place = {constants_[size_t(source.index)], size_t(source.offset)};
            }
        }
    }
}

nb::object Recipe::run(const CallArguments &arguments) const {
    Memories memories;
    if (infinicore::detail::thread_state().recorder) [[unlikely]] {
        record(arguments, memories);
        return build(arguments, memories);
    }
    infinirtStream_t stream = stream_of(*runtime_);
    for (size_t i = 0; i < fresh_count_; ++i)
        memories.push_back(runtime_->allocator.allocate(fresh_[i], stream));
    for (const WrittenNumber &number : numbers_) memories.push_back(written(number, arguments));

    constexpr size_t kUsual = 16;
    void *usual[kUsual];
    std::vector<void *> many(most_locations_ > kUsual ? most_locations_ : 0);
    void **pointers = many.empty() ? usual : many.data();
    {
        // The work may run in this thread, or wait for streams that call Python.
        Unlocked released;
        for (const Work &work : work_) {
            for (size_t i = 0; i < work.locations.size(); ++i) {
                const Source &source = work.locations[i];
                std::byte *base = nullptr;
                switch (source.kind) {
                    case Source::Absent:
                        pointers[i] = nullptr;
                        continue;
                    case Source::Argument:
                        base = tensor_of(arguments.tensors[size_t(source.index)])->data_to_write();
                        break;
                    case Source::Number:
                        base = memories[fresh_count_ + size_t(source.index)]->data();
                        break;
                    case Source::Fresh:
                        base = memories[size_t(source.index)]->data();
                        break;
                    case Source::Constant:
                        base = constants_[size_t(source.index)]->data();
                }
                pointers[i] = base + source.offset;
            }
            work.step->launch(pointers, stream);
        }
    }
    return build(arguments, memories);
}

nb::object Recipe::build_one(const Result &result, const CallArguments &arguments,
                             const Memories &memories) const {
    if (result.value.is_valid()) return result.value;
    if (result.source.kind == Source::Fresh)
        return wrap(Tensor(make_pooled<TensorImpl>(
            result.meta,
            TensorData{size_t(result.source.offset), memories[size_t(result.source.index)]})));
    PyObject *given = arguments.tensors[size_t(result.source.index)];
    if (result.is_argument) return nb::borrow(given);
    const Tensor &tensor = tensor_of(given);
    return wrap(Tensor(make_pooled<TensorImpl>(
        result.meta, TensorData{size_t(std::ptrdiff_t(tensor->offset()) + result.source.offset),
                                tensor->memory()})));
}

nb::object Recipe::build(const CallArguments &arguments, const Memories &memories) const {
    if (container_.is_none()) return build_one(results_[0], arguments, memories);
    nb::list items;
    for (const Result &result : results_) items.append(build_one(result, arguments, memories));
    if (container_.ptr() == (PyObject *)&PyList_Type) return items;
    if (container_.ptr() == (PyObject *)&PyTuple_Type) return nb::tuple(items);
    return container_.attr("_make")(items);  // a named tuple
}

}  // namespace infini::python
