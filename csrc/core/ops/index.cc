// Embedding rows of a vocabulary shard, and elements selected by value.
#include <cstdlib>
#include <cstring>

#include "../contract.h"
#include "../description.h"
#include "../layout.h"
#include "../step.h"
#include "infinicore/ops/argwhere.hpp"
#include "infinicore/ops/masked_select.hpp"
#include "infinicore/ops/vocab_parallel_embedding.hpp"
#include "steps.h"

namespace infinicore::op {

using namespace detail;

namespace {

// Runs an operator that allocates its result and reports it on the host.
void run_at_once(const char *name, const std::vector<Tensor> &tensors, void *const *pointers) {
    if (is_recording()) fail(name, "its result goes to the host, so it can't be recorded");
    const Row *row = find_row(name);
    for (const Tensor &tensor : tensors)
        if (tensor->device() != tensors[0]->device())
            fail(name, "tensors lie on " + tensors[0]->device().toString() + " and " +
                           tensor->device().toString() + ": expected one device for all");
    DeviceRuntime &runtime = runtime_of(tensors[0]->device());
    RuntimeScope scope(runtime);
    std::vector<Layout> layouts;
    for (const Tensor &tensor : tensors) layouts.push_back(layout_of(*tensor));
    std::vector<InfiniTensor> described;
    for (const Layout &layout : layouts)
        described.push_back({int(layout.dtype), int(layout.shape.size()), layout.shape.data(),
                             layout.strides.data()});
    const std::vector<size_t> counts(tensors.size(), 1);
    Description made;
    check(made.make(*row, runtime.target, described.data(), counts.data(), nullptr, nullptr), name);
    const infinirtStream_t stream = stream_of(runtime);
    std::shared_ptr<Memory> workspace;
    if (made->workspace) workspace = runtime.allocator.allocate(made->workspace, stream);
    check(row->runs[0].call(made->descriptor, workspace ? workspace->data() : nullptr,
                            made->workspace, pointers, nullptr, stream),
          name);
}

// A tensor in memory that an operator has allocated.
Tensor adopted(void *data, Shape shape, DataType dtype, Device device, Memory::Deleter release) {
    Strides strides = contiguous_strides(shape);
    const size_t bytes = extent_of("op", shape, strides, dtype).bytes();
    auto memory =
        std::make_shared<Memory>(static_cast<std::byte *>(data), bytes, device, std::move(release));
    return Tensor(std::make_shared<TensorImpl>(std::move(shape), std::move(strides), dtype,
                                               TensorData{0, std::move(memory)}));
}

}  // namespace

// The host's memory is freed with delete[] of int64_t.
void Argwhere::execute(void **found, size_t *count, Tensor x) {
    need_tensors("Argwhere::execute", {{"x", x}});
    void *const pointers[] = {found, count, x->data()};
    run_at_once("argwhere", {x}, pointers);
}

Tensor argwhere(Tensor x) {
    INFINI_NEED_TENSORS(x);
    void *found = nullptr;
    size_t count = 0;
    Argwhere::execute(&found, &count, x);
    const auto release = [](std::byte *data) { delete[] reinterpret_cast<int64_t *>(data); };
    Tensor made = adopted(found, {count, x->ndim()}, DataType::I64, Device::cpu(), release);
    return made->to(x->device());
}

// The memory is the device's: from malloc on the CPU, else freed with infinirtFree.
void MaskedSelect::execute(Tensor input, Tensor mask, void **data_ptr, size_t *dlen_ptr) {
    need_tensors("MaskedSelect::execute", {{"input", input}, {"mask", mask}});
    void *const pointers[] = {input->data(), mask->data(), data_ptr, dlen_ptr};
    run_at_once("masked_select", {input, mask}, pointers);
}

Tensor masked_select(Tensor input, Tensor mask) {
    INFINI_NEED_TENSORS(input, mask);
    void *found = nullptr;
    size_t count = 0;
    MaskedSelect::execute(input, mask, &found, &count);
    const Device device = input->device();
    const bool is_cpu = device.getType() == Device::Type::CPU;
    return adopted(found, {count}, input->dtype(), device, [is_cpu](std::byte *data) {
        is_cpu ? std::free(data) : void(infinirtFree(data));
    });
}

// weight[id - vocab_start] for ids from vocab_start up to vocab_end, zeros for others.
void vocab_parallel_embedding_(Tensor output, const Tensor &indices, const Tensor &weight,
                               int64_t vocab_start, int64_t vocab_end) {
    INFINI_NEED_TENSORS(output, indices, weight);
    need_rank("vocab_parallel_embedding_", "weight", weight, 2);
    const Tensor ids = cast_to(reshape(indices, {indices->numel()}), DataType::I64);
    const auto whole = [&](int64_t value) { return full(ids, DataType::I64, double(value)); };
    const Tensor is_own = make("less", {ids, whole(vocab_end)});
    const Tensor places = make("sub", {ids, whole(vocab_start)});
    // Out-of-range indices give zeros.
    const Tensor rows = make("where", {is_own, places, whole(-1)});
    Shape shape = indices->shape();
    shape.push_back(weight->shape()[1]);
    store("vocab_parallel_embedding_", "output", output,
          make("index_select", {weight, rows}, {integer(0)})->view(shape));
}

}  // namespace infinicore::op
