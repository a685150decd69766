#include "lowering.h"

#include <algorithm>
#include <cstring>

#include "programs.h"
#include "size_arithmetic.h"

namespace infini::op {
namespace {

constexpr uintptr_t kAlignment = 256;  // of temporaries
constexpr size_t kMostTensors = 8;     // of a step

int64_t bytes_of(int dtype) { return int64_t(infiniSizeOf(infiniDtype_t(dtype))); }

}  // namespace

// ---- Views --------------------------------------------------------------------------------------
// The other sizes and the strides of an empty tensor may have any value, so arithmetic with them
// may wrap.

int64_t View::numel() const {
    int64_t count = 1;
    for (int i = 0; i < ndim; ++i) count = times(count, size[i]);
    return count;
}

View View::sliced(int dim, int64_t begin, int64_t count) const {
    View view = *this;
    view.offset = plus(offset, times(times(begin, stride[dim]), bytes_of(dtype)));
    view.size[dim] = count;
    return view;
}

View View::flipped(int dim) const {
    View view = *this;
    const int64_t last = std::max<int64_t>(size[dim] - 1, 0);
    view.offset = plus(offset, times(times(last, stride[dim]), bytes_of(dtype)));
    view.stride[dim] = minus(0, stride[dim]);
    return view;
}

View View::transposed(int a, int b) const {
    View view = *this;
    std::swap(view.size[a], view.size[b]);
    std::swap(view.stride[a], view.stride[b]);
    return view;
}

View View::expanded(int dim) const {
    View view = *this;
    for (int i = view.ndim++; i > dim; --i)
        view.size[i] = view.size[i - 1], view.stride[i] = view.stride[i - 1];
    view.size[dim] = 1, view.stride[dim] = 1;
    return view;
}

View View::split(int dim, std::initializer_list<int64_t> sizes) const {
    View view = *this;
    for (size_t i = 1; i < sizes.size(); ++i) view = view.expanded(dim);
    int64_t step = stride[dim];
    int at = dim + int(sizes.size());
    for (auto each = sizes.end(); each != sizes.begin(); step = times(step, *each))
        view.size[--at] = *--each, view.stride[at] = step;
    return view;
}

std::optional<View> View::joined(int first, int count) const {
    int64_t length = 1, step = 1;
    bool begun = false;
    const bool empty = std::count(size + first, size + first + count, 0) > 0;
    for (int i = first + count - 1; i >= first; --i) {
        if (size[i] == 1) continue;
        if (begun && !empty && stride[i] != times(length, step)) return std::nullopt;
        if (!begun) step = stride[i], begun = true;
        length = times(length, size[i]);
    }
    View view = *this;
    view.ndim = ndim - count + 1;
    view.size[first] = length, view.stride[first] = step;
    for (int i = first + 1; i < view.ndim; ++i)
        view.size[i] = size[i + count - 1], view.stride[i] = stride[i + count - 1];
    return view;
}

View View::without_memory() const {
    View view = *this;
    view.pointer = kNoMemory;
    return view;
}

// ---- Attributes ---------------------------------------------------------------------------------

Attribute::Attribute(const std::vector<int64_t> &list)
    : c{{.i = int64_t(list.size())}, double(list.size()), nullptr, list.size()}, kept(list) {
    kept.push_back(0);  // so that an empty list has an address, too
}

Attribute::Attribute(const char *text)
    : c{{.i = 0}, 0, nullptr, std::strlen(text)}, kept(std::strlen(text) / 8 + 1) {
    std::memcpy(kept.data(), text, std::strlen(text));
}

// ---- Lowering -----------------------------------------------------------------------------------

View Lowering::argument(int tensor) const {
    View view{Shape(operation.tensor(tensor))};
    view.pointer = tensor;
    return view;
}

View Lowering::temporary(int dtype, const std::vector<int64_t> &sizes) {
    View view;
    view.dtype = dtype, view.ndim = int(sizes.size()), view.pointer = View::kWorkspace;
    view.offset = int64_t(planned_.temporaries);
    int64_t bytes = bytes_of(dtype);
    bool fits = true;
    for (int i = view.ndim - 1; i >= 0; --i) {
        view.size[i] = sizes[size_t(i)], view.stride[i] = bytes / bytes_of(dtype);
        fits = fits && !__builtin_mul_overflow(bytes, std::max<int64_t>(view.size[i], 1), &bytes);
    }
    constexpr int64_t kMostBytes = int64_t(1) << 60;
    if (!fits || bytes > kMostBytes - view.offset)
        fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "%s needs a workspace of more bytes than there are",
             operation.name());
    planned_.temporaries += (size_t(bytes) + kAlignment - 1) / kAlignment * kAlignment;
    return view;
}

View Lowering::joined(const View &view, int first, int count) {
    if (auto found = view.joined(first, count)) return *found;
    const View dense = temporary(view.dtype, {view.size, view.size + view.ndim});
    step(Op::Rearrange, {dense, view});
    return *dense.joined(first, count);
}

View Lowering::converted(const View &view, int dtype) {
    if (view.dtype == dtype) return view;
    const View made = temporary(dtype, {view.size, view.size + view.ndim});
    step(Op::Cast, {made, view});
    return made;
}

void Lowering::step(Op op, const Tensors &tensors, const Attributes &attributes,
                    const Numbers &scalars) {
    append(info_of(op).name, nullptr, info_of(op).lower, tensors, attributes, scalars);
}

bool Lowering::step_with(Op kernel, const InfiniProgram &epilogue, const Tensors &tensors,
                         const Numbers &scalars) try {
    append(info_of(kernel).name, &epilogue, nullptr, tensors, {}, scalars);
    return true;
} catch (const Failure &failure) {
    if (failure.status != INFINI_STATUS_NOT_IMPLEMENTED) throw;
    return false;
}

void Lowering::append(const char *name, const InfiniProgram *program, Lower lower,
                      const Tensors &tensors, const Attributes &attributes,
                      const Numbers &scalars) {
    std::vector<InfiniTensor> described;
    std::vector<InfiniAttribute> numbers;
    PlannedStep appended;
    for (const View &view : tensors) {
        described.push_back({view.dtype, view.ndim, view.size, view.stride});
        appended.locations.push_back({view.pointer, view.offset});
    }
    for (const Attribute &attribute : attributes) {
        numbers.push_back(attribute.c);
        if (!attribute.kept.empty()) numbers.back().list = attribute.kept.data();
    }
    for (double scalar : scalars) appended.scalars.push_back({.f = scalar});
    InfiniOperation one{name,           described.data(), numbers.data(),   described.size(),
                        numbers.size(), program,          operation.c.modes};
    if (!program) one.program = find_program(one);
    appended.planned = plan(target_, one, lower);
    planned_.workspace = std::max(planned_.workspace, appended.planned->workspace);
    planned_.steps.push_back(std::move(appended));
}

void Lowering::finish() {
    // An empty step, so that a run checks its stream.
    if (planned_.steps.empty()) step(Op::Rearrange, {argument(0), argument(0)});
    if (planned_.temporaries > 0) planned_.workspace += planned_.temporaries + kAlignment - 1;
}

// ---- Running ------------------------------------------------------------------------------------

infiniStatus_t launch_steps(const char *function, const InfiniTarget &target,
                            const Planned &planned, const InfiniArguments &arguments,
                            void *stream) {
    auto *workspace = static_cast<char *>(arguments.workspace);
    if (planned.temporaries > 0)
        workspace += -reinterpret_cast<uintptr_t>(workspace) & (kAlignment - 1);
    for (const PlannedStep &step : planned.steps) {
        void *pointers[kMostTensors];
        size_t count = 0;
        for (const PlannedStep::Location &location : step.locations) {
            char *base = workspace;
            if (location.pointer >= 0)
                base = static_cast<char *>(arguments.pointers[location.pointer]);
            const bool there = base && location.pointer != View::kNoMemory;
            pointers[count++] = there ? base + location.offset : nullptr;
        }
        const InfiniArguments given{pointers, step.scalars.data(), count, step.scalars.size(),
                                    workspace + planned.temporaries};
        if (infiniStatus_t status = launch(function, target, *step.planned, given, stream))
            return status;
    }
    return INFINI_STATUS_SUCCESS;
}

}  // namespace infini::op
