// One aclnn function, called in its two steps.
#pragma once

#include "backends/ascend/objects.h"
#include "backends/vendor_runtime/rows.h"

namespace infini::vendor_runtime::ascend {

class Function {
public:
    explicit Function(const char *name)
        : name_(name),
          size_(need_symbol((std::string(name) + "GetWorkspaceSize").c_str())),
          run_(need<Run>(name)) {}

    // Only the first step: the workspace size. The call has all arguments except the last two.
    int bytes(Call call, uint64_t *bytes) const {
        aclOpExecutor *executor = nullptr;
        return prepare(call, bytes, &executor);
    }

    // Both steps, with the given workspace if it is large enough.
    int run(Call call, void *stream, void *given, size_t given_bytes, const OwnWorkspace &own,
            const char **called) const {
        *called = name_;
        uint64_t bytes = 0;
        aclOpExecutor *executor = nullptr;
        if (int code = prepare(call, &bytes, &executor)) return code;
        void *memory = bytes <= given_bytes ? given : own.get(stream, bytes);
        if (bytes && !memory) return kExplained;
        return run_(memory, bytes, executor, stream);
    }

    const char *name() const { return name_; }

private:
    int prepare(Call &call, uint64_t *bytes, aclOpExecutor **executor) const {
        call.pointer(bytes);
        call.pointer(executor);
        return call(size_);
    }

    const char *name_;
    void *size_;
    Run run_;
};

}  // namespace infini::vendor_runtime::ascend
