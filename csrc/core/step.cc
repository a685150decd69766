#include "step.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "call_key.h"
#include "description.h"
#include "generator.h"
#include "infini/ext.h"
#include "profiler.h"
#include "recorder.h"

namespace infinicore::detail {
namespace {

uint64_t elements(const Layout &layout) {
    uint64_t count = 1;
    for (int64_t size : layout.shape) count *= uint64_t(size);
    return count;
}

std::vector<InfiniTensor> contract_tensors(const Step &step) {
    std::vector<InfiniTensor> made(step.tensors.size());
    for (size_t i = 0; i < made.size(); ++i) {
        const Layout &layout = step.tensors[i];
        if (step.present[i])
            made[i] = {int(layout.dtype), int(layout.shape.size()), layout.shape.data(),
                       layout.strides.data()};
    }
    return made;
}

// An operator by its descriptor.
class DescribedStep final : public Step {
public:
    explicit DescribedStep(Call given) : row_(*given.row), run_(row_.runs[given.run]) {
        call = std::make_shared<const Call>(std::move(given));
    }

    void create() {
        const std::vector<InfiniTensor> given = contract_tensors(*this);
        check(described_.make(row_, runtime->target, given.data(), counts.data(),
                              call->attributes.values.data(), call->attributes.counts.data()),
              row_.name);
        attributes.assign(described_->attributes,
                          described_->attributes + described_->attribute_count);
        program = described_->program;
        workspace = described_->workspace;
        if (!run_.passed) {
            program = nullptr;  // the fuser does not support arrays
            return;
        }
        for (size_t i = 0; run_.passed[i]; ++i)
            if (run_.passed[i] == '+')
                scalars.push_back(std::bit_cast<InfiniScalar>(call->scalars.values[i].i));
        if (row_.run_count > 1) scalars.push_back({.i = &run_ - row_.runs});
    }

    void add_array(size_t count) { arrays_.push_back(count); }

    void launch(void *const *pointers, void *work, infinirtStream_t stream) const override {
        if (is(kRandom)) return launch_random(pointers, work, stream);
        if (!run_.passed || !checked_.load(std::memory_order_relaxed)) [[unlikely]] {
            call_function(pointers, work, stream, call->scalars.values.data());
            // The scalars are the same in every run, so they are not checked again. A lowered
            // operator has no plan of its own.
            checked_.store(described_->plan != nullptr, std::memory_order_relaxed);
            return;
        }
        launch_plan(pointers, work, stream, scalars.data());
    }

private:
    void launch_plan(void *const *pointers, void *work, infinirtStream_t stream,
                     const InfiniScalar *numbers) const {
        InfiniArguments given{pointers, numbers, arguments.size(), scalars.size(), work};
        InfiniKernel kernel{described_->plan, &given};
        check(infiniLaunchKernel(run_.name, &runtime->target, stream, &kernel), run_.name);
    }

    void launch_random(void *const *pointers, void *work, infinirtStream_t stream) const {
        std::vector<InfiniScalar> numbers = scalars;
        auto [seed, offset] = thread_generator().take(elements(tensors[0]));
        numbers.at(0).i = int64_t(seed);
        numbers.at(1).i = int64_t(offset);
        launch_plan(pointers, work, stream, numbers.data());
    }

    void call_function(void *const *pointers, void *work, infinirtStream_t stream,
                       const Value *values) const {
        const size_t count = std::strlen(run_.pointers);
        if (arrays_.empty())
            return check(
                run_.call(described_->descriptor, work, workspace, pointers, values, stream),
                run_.name);
        std::vector<void *> gathered(count);
        size_t at = 0, array = 0;
        for (size_t i = 0; i < count; ++i) {
            gathered[i] =
                run_.pointers[i] == 'a' ? const_cast<void **>(pointers + at) : pointers[at];
            at += run_.pointers[i] == 'a' ? arrays_[array++] : 1;
        }
        check(run_.call(described_->descriptor, work, workspace, gathered.data(), values, stream),
              run_.name);
    }

    const Row &row_;
    const RunRow &run_;
    std::vector<size_t> arrays_;  // sizes, in the order of the run function's pointers
    Description described_;
    mutable std::atomic<bool> checked_{false};
};

class ProgramStep final : public Step {
public:
    ~ProgramStep() override {
        if (plan_) runtime->target.operators->drop(plan_);
    }
    bool make(std::shared_ptr<const void> keeps) {
        keeps_ = std::move(keeps);
        const std::vector<InfiniTensor> described = contract_tensors(*this);
        InfiniOperation operation{kernel.empty() ? name.c_str() : kernel.c_str(),
                                  described.data(),
                                  attributes.data(),
                                  described.size(),
                                  attributes.size(),
                                  program,
                                  infiniGetModes()};
        return runtime->target.operators->plan(runtime->target.index, &operation, &plan_,
                                               &workspace) == INFINI_STATUS_SUCCESS;
    }
    void launch(void *const *pointers, void *work, infinirtStream_t stream) const override {
        InfiniArguments given{pointers, scalars.data(), arguments.size(), scalars.size(), work};
        InfiniKernel work_item{plan_, &given};
        check(infiniLaunchKernel(name.c_str(), &runtime->target, stream, &work_item), name.c_str());
    }

    std::string kernel;  // of the operator before the program; empty: none

private:
    std::shared_ptr<const void> keeps_;
    InfiniPlan *plan_ = nullptr;
};

}  // namespace

const Row *find_row(const std::string &name) {
    auto *end = kRows + kRowCount;
    auto *found = std::lower_bound(
        kRows, end, name, [](const Row &row, const std::string &n) { return row.name < n; });
    return found != end && found->name == name ? found : nullptr;
}

// A separate function, so that the usual launch needs no stack frame for it.
[[gnu::noinline]] static void launch_with_workspace(const Step &step, void *const *pointers,
                                                    infinirtStream_t stream) {
    ProfiledScope profiled(step, stream);
    std::shared_ptr<Memory> memory;
    if (step.workspace != 0) memory = step.runtime->allocator.allocate(step.workspace, stream);
    step.launch(pointers, memory ? memory->data() : nullptr, stream);
}

void Step::launch(void *const *pointers, infinirtStream_t stream) const {
    if (workspace < plain_workspace.load(std::memory_order_relaxed)) [[likely]]
        return launch(pointers, nullptr, stream);
    launch_with_workspace(*this, pointers, stream);
}

// ---- Describing ---------------------------------------------------------------------------------

std::shared_ptr<const Step> describe(const Row &row, int run,
                                     const std::vector<std::vector<const TensorImpl *>> &tensors,
                                     Values attributes, Values values) {
    const RunRow &running = row.runs[run];
    if (std::strchr(running.pointers, 'h'))
        throw std::runtime_error(std::string(row.name) +
                                 ": its result goes to the host, so it can't be recorded");
    auto made =
        std::make_shared<DescribedStep>(Call{&row, run, std::move(attributes), std::move(values)});
    made->name = row.name;
    made->traits = row.traits;

    std::vector<int> first;
    const TensorImpl *some = nullptr;
    for (const std::vector<const TensorImpl *> &group : tensors) {
        first.push_back(int(made->tensors.size()));
        made->counts.push_back(group.size());
        for (const TensorImpl *tensor : group) {
            made->present.push_back(tensor != nullptr);
            made->tensors.push_back(tensor ? layout_of(*tensor) : Layout{DataType::BYTE, {}, {}});
            if (!tensor) continue;
            if (some && tensor->device() != some->device())
                throw std::runtime_error(
                    std::string(row.name) + ": tensors lie on " + some->device().toString() +
                    " and " + tensor->device().toString() + ": expected one device for all");
            some = tensor;
        }
    }
    made->runtime = some ? &runtime_of(some->device()) : &current_runtime();
    for (size_t i = 0; running.pointers[i]; ++i) {
        const int tensor = running.tensors[i];
        const bool written = running.pointers[i] == 'w';
        const size_t count = running.pointers[i] == 'a' ? tensors.at(size_t(tensor)).size() : 1;
        if (running.pointers[i] == 'a') made->add_array(count);
        for (size_t k = 0; k < count; ++k)
            made->arguments.push_back({tensor < 0 ? -1 : first[size_t(tensor)] + int(k), written,
                                       !written || tensor < 0});
    }
    made->create();
    return made;
}

std::shared_ptr<const Step> plan_program(DeviceRuntime &runtime, std::string name,
                                         std::vector<Layout> tensors, std::vector<uint8_t> present,
                                         std::vector<InfiniAttribute> attributes,
                                         std::vector<InfiniScalar> scalars,
                                         std::vector<Step::Argument> arguments,
                                         const InfiniProgram *program,
                                         std::shared_ptr<const void> keeps, std::string kernel) {
    auto made = std::make_shared<ProgramStep>();
    made->name = std::move(name);
    made->kernel = std::move(kernel);
    made->tensors = std::move(tensors);
    made->present = std::move(present);
    made->attributes = std::move(attributes);
    made->scalars = std::move(scalars);
    made->arguments = std::move(arguments);
    made->program = program;
    made->runtime = &runtime;
    return made->make(std::move(keeps)) ? made : nullptr;
}

// ---- Performing ---------------------------------------------------------------------------------

void perform(const std::shared_ptr<const Step> &step,
             const std::vector<const TensorImpl *> &tensors) {
    if (Recorder *recorder = thread_state().recorder) {
        Node &node = recorder->nodes.emplace_back();
        node.step = step;
        for (const TensorImpl *tensor : tensors)
            node.locations.push_back(tensor ? Location{tensor->memory(), tensor->offset()}
                                            : Location{});
        return;
    }
    std::vector<void *> pointers;
    pointers.reserve(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i)
        pointers.push_back(tensors[i] ? address_of(*tensors[i], step->arguments[i]) : nullptr);
    step->launch(pointers.data(), stream_of(*step->runtime));
}

void run_operator(const char *name, std::initializer_list<Tensor> tensors) {
    const Row *row = find_row(name);
    if (!row) throw std::runtime_error(std::string(name) + ": no such operator");
    CallKey key;
    key.add(uint64_t(row - kRows) << 32 | infiniGetModes());
    for (const Tensor &tensor : tensors) key.add(*tensor);
    const uint64_t hash = key.hash();
    auto &cache = CallCache<const Step>::of_thread();
    const std::shared_ptr<const Step> *known = cache.find(key, hash);
    std::shared_ptr<const Step> step = known ? *known : nullptr;
    if (!step) {
        std::vector<std::vector<const TensorImpl *>> given;
        for (const Tensor &tensor : tensors) given.push_back({&*tensor});
        step = cache.insert(key, hash, describe(*row, 0, given, {}, {}));
    }
    std::vector<const TensorImpl *> arguments;
    for (size_t i = 0; row->runs[0].pointers[i]; ++i)
        arguments.push_back(&**(tensors.begin() + row->runs[0].tensors[i]));
    perform(step, arguments);
}

}  // namespace infinicore::detail
