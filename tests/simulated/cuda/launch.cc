#include "launch.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#include <cstdio>
#include <cstring>
#include <new>

#include "beside.h"
#include "hopper.h"

namespace simulated {

void *runtime_symbol(const char *name) {
    static void *const library = [] {
        void *found = open_runtime();
        if (!found) {
            fprintf(stderr, "simulated CUDA: %s\n", dlerror());
            abort();
        }
        return found;
    }();
    return dlsym(library, name);
}

namespace {

bool traced() {
    static const bool value = getenv("INFINI_SIMULATED_TRACE") != nullptr;
    return value;
}

double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

// A launch with its own copy of the parameters, stored after it.
struct Record : Work {
    Launch launch;

    unsigned char *parameters() { return reinterpret_cast<unsigned char *>(this) + kHead; }
    static constexpr size_t kHead = 128;
};
static_assert(sizeof(Record) <= Record::kHead);

// In the stream.
void run(void *data) {
    static const auto report =
        reinterpret_cast<void (*)(infinirtError_t)>(runtime_symbol("simulatedReportFailure"));
    auto *record = static_cast<Record *>(data);
    double start = traced() ? now() : 0;
    int error = run_grid(record->launch);
    if (traced()) {
        const Launch &l = record->launch;
        fprintf(stderr, "simulated CUDA: %s <<<(%u,%u,%u), (%u,%u,%u), %u>>> %.3f ms%s\n",
                l.function->module->name.c_str(), l.grid.x, l.grid.y, l.grid.z, l.block.x,
                l.block.y, l.block.z, l.dynamic_bytes, (now() - start) * 1e3,
                error ? " FAILED" : "");
    }
    if (error) report(static_cast<infinirtError_t>(error));
    record->done();
}

// The graph that is being captured keeps the record.
CUresult keep(CUstream stream, Work *work) {
    using GetInfo =
        infinirtError_t (*)(infinirtStream_t, infinirtStreamCaptureStatus *, unsigned long long *,
                            infinirtGraph_t *, const infinirtGraphNode_t **, size_t *);
    static const auto get_info =
        reinterpret_cast<GetInfo>(runtime_symbol("cudaStreamGetCaptureInfo_v2"));
    RUNTIME(UserObjectCreate);
    RUNTIME(GraphRetainUserObject);
    infinirtGraph_t graph = nullptr;
    infinirtUserObject_t object = nullptr;
    infinirtStreamCaptureStatus status;
    if (auto error = get_info(static_cast<infinirtStream_t>(stream), &status, nullptr, &graph,
                              nullptr, nullptr))
        return error;
    if (auto error = UserObjectCreate(&object, work, free, 1, infinirtUserObjectNoDestructorSync))
        return error;
    return GraphRetainUserObject(graph, object, 1, infinirtGraphUserObjectMove);
}

CUresult refuse(CUresult code, const Function &function, const char *why) {
    fprintf(stderr, "simulated CUDA: kernel %s (%s) is not launched: %s\n", function.name.c_str(),
            function.module->name.c_str(), why);
    return code;
}

CUresult check(const Launch &l) {
    const Function &function = *l.function;
    auto wrong = [&](const char *why) { return refuse(CUDA_ERROR_INVALID_VALUE, function, why); };
    const uint64_t threads = uint64_t(l.block.x) * l.block.y * l.block.z;
    if (!l.grid.x || !l.grid.y || !l.grid.z || !threads) return wrong("its grid is empty");
    if (l.grid.x > 0x7fffffffu || l.grid.y > 65535 || l.grid.z > 65535)
        return wrong("its grid is larger than 2147483647 x 65535 x 65535");
    if (threads > kMaxThreads || l.block.z > 64) return wrong("its blocks are too large");
    if (threads > function.most_threads)
        return refuse(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, function,
                      "its blocks are larger than its __launch_bounds__");
    size_t shared = function.module->shared_bytes + l.dynamic_bytes;
    if (l.dynamic_bytes > function.dynamic_allowed && shared > kShared)
        return wrong("its shared memory is more than 48 KiB, and cuFuncSetAttribute did not ask");
    if (shared > kSharedOptin) return wrong("its shared memory is more than 227 KiB");
    return CUDA_SUCCESS;
}

}  // namespace

void Work::done() {
    if (!kept) free(this);
}

CUresult enqueue(CUstream stream, infinirtHostFn_t function, Work *work) {
    RUNTIME(StreamIsCapturing);
    RUNTIME(LaunchHostFunc);
    auto queue = static_cast<infinirtStream_t>(stream);
    infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
    CUresult error = StreamIsCapturing(queue, &status);
    if (!error && status == infinirtStreamCaptureStatusActive) {
        error = keep(stream, work);
        work->kept = !error;
    }
    if (!error) error = LaunchHostFunc(queue, function, work);
    if (error) work->done();
    return error;
}

unsigned current_context() {
    static const auto ask = reinterpret_cast<unsigned (*)()>(runtime_symbol("simulatedContext"));
    return ask();
}

CUresult launch(const Launch &wanted, CUstream stream, const void *parameters) {
    static const bool named = [] {
        auto name =
            reinterpret_cast<void (*)(infinirtHostFn_t)>(runtime_symbol("simulatedNameKernels"));
        name(run);
        return true;
    }();
    (void)named;
    if (CUresult error = check(wanted)) return error;
    const size_t bytes = wanted.function->parameter_bytes;
    void *memory = aligned_alloc(64, (Record::kHead + bytes + 63) / 64 * 64);
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    auto *record = new (memory) Record;
    record->launch = wanted;
    record->launch.parameters = record->parameters();
    memcpy(record->parameters(), parameters, bytes);
    return enqueue(stream, run, record);
}

}  // namespace simulated
