#include "kernels/linalg/solver_plan.h"

#include <algorithm>

#include "kernel_loader.h"

namespace infini::cuda::solver {

SolverPlan::SolverPlan(const Library &library, const SolverWork &work, bool is_batched)
    : l_(library),
      given_(work),
      type_{work.dtype == INFINI_DTYPE_F64, work.is_complex},
      is_batched_(is_batched),
      rows_(work.x.shape().rows),
      columns_(work.x.shape().columns),
      lesser_(std::min(rows_, columns_)) {}

bool SolverPlan::prepare(Device &device) {
    const Borrowed borrowed(l_, device.index, kNoStream);
    if (!borrowed) return false;
    constexpr int64_t kMostBytes = int64_t(128) << 20;  // of copied matrices
    const int64_t bytes = rows_ * columns_ * int64_t(type_.bytes());
    count_ = std::clamp<int64_t>(kMostBytes / bytes, 1, given_.x.shape().batch.count);
    status_ = area(sizeof(int)), info_ = area(sizeof(int));
    a_ = elements(rows_, columns_);
    if (!lay_out(borrowed.session())) return false;
    work_.offset = workspace;
    workspace = std::max(workspace + size_t(round_up(int64_t(work_bytes_), 256)), given_.own_bytes);
    compile(device);
    return true;
}

Area SolverPlan::area(size_t each) {
    const Area made{workspace, each};
    workspace += size_t(round_up(int64_t(each) * count_, 256));
    return made;
}

bool SolverPlan::need_work(size_t device_bytes, size_t host_bytes) {
    work_bytes_ = std::max(work_bytes_, device_bytes);
    host_bytes_ = std::max(host_bytes_, host_bytes);
    return true;
}

Error SolverPlan::run(const Arguments &arguments, const Stream &stream) const {
    // The library may wait for the device.
    if (is_capturing(stream.device.index, stream.handle)) return run_own(arguments, stream);
    OutsideCapture outside;  // of other threads
    const Borrowed borrowed(l_, stream.device.index, stream.handle);
    INFINI_CUDA_TRY(borrowed.error());
    std::vector<char> host(host_bytes_);
    Call call{*this, arguments, stream, borrowed.session(), host.data()};
    const int64_t all = given_.x.shape().batch.count;
    for (call.first = 0; call.first < all; call.first += count_) {
        call.count = std::min(count_, all - call.first);
        if (finds_infinities_)
            INFINI_CUDA_TRY(
                fill_bytes(stream, call.at(status_), 0, size_t(call.count) * sizeof(int)));
        const Error outcome = factor(call);
        // Some of the library's functions report internal errors for cases that our own kernels
        // handle.
        if (outcome && call.first == 0) return run_own(arguments, stream);
        if (outcome) return outcome;
    }
    return infinirtSuccess;
}

// Created on first use, to avoid unnecessary compilation.
Error SolverPlan::run_own(const Arguments &arguments, const Stream &stream) const try {
    {
        std::lock_guard guard(own_lock_);
        if (!own_) {
            OutsideCapture outside;
            CompileTogether kernels;
            auto made = given_.own(stream.device, workspace);
            kernels.finish();
            own_ = std::move(made);
        }
    }
    return own_->run(arguments, stream);
} catch (const Refusal &refusal) {
    return fail(infinirtErrorInvalidValue, "%s", refusal.sentence.c_str());
}

SolverParams SolverPlan::Call::params(const SolverOperand &operand, const Area &columns,
                                      int64_t lead) const {
    SolverParams made = {};
    for (int i = 0; i < 2; ++i) {
        made.m[i] = operand.part[i];
        if (operand.pointer[i] >= 0) made.m[i].data = arguments.pointer<void>(operand.pointer[i]);
    }
    made.first = first, made.count = count;
    const ElementType &type = plan.type_;
    made.columns = at(columns), made.lead = lead;
    made.pitch =
        int64_t(columns.each / (operand.pointer[1] < 0 ? type.real_bytes() : type.bytes()));
    made.status = at<int>(plan.status_), made.info = info();
    made.least = plan.given_.least;
    return made;
}

Error SolverPlan::Call::move(const Compiled &kernel, const SolverOperand &operand,
                             const Area &columns, int64_t lead) const {
    return launch(kernel, params(operand, columns, lead));
}

Error SolverPlan::Call::launch(const Compiled &kernel, const SolverParams &params) const {
    const int64_t items = count * params.m->rows * params.m->columns;
    return kernel->launch(stream, stream.device.blocks_for(items, kSolverThreads), kSolverThreads,
                          params);
}

Source SolverPlan::source(const char *file, bool is_complex) const {
    Source made(file);
    made.type("T", given_.dtype).type("S", type_.is_double ? "double" : "float");
    made.constant("kThreads", kSolverThreads).constant("kComplex", is_complex);
    return made;
}

Compiled SolverPlan::load(Device &device, int64_t shape, bool finite) {
    finds_infinities_ = finds_infinities_ || finite;
    return device.compile(source("linalg/solver.cuh:load", type_.is_complex)
                              .constant("kTriangle", shape)
                              .constant("kFinite", finite));
}

Compiled SolverPlan::store(Device &device, const Storing &how) const {
    return device.compile(source("linalg/solver.cuh:store", how.is_complex)
                              .constant("kTriangle", how.shape)
                              .constant("kFinite", finds_infinities_)
                              .constant("kVerdict", how.with_verdict)
                              .constant("kLast", how.looks_at_last)
                              .constant("kConjugate", how.conjugates));
}

}  // namespace infini::cuda::solver
