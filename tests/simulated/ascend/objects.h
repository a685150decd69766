// Objects of the simulated libopapi.so, and helpers of its functions.
#pragma once

#include <functional>
#include <vector>

#include "accelerator/tensors.h"
#include "facts.h"

struct aclTensor {
    std::vector<int64_t> size, stride;
    int type;
    void *data;
};
struct aclScalar {
    double value;
};
struct aclTensorList {
    std::vector<const aclTensor *> tensors;  // its own
};
struct aclIntArray {
    std::vector<int64_t> values;
};
// Holds everything it needs: tensors may be destroyed before it runs.
struct aclOpExecutor {
    std::function<int()> work;
    uint64_t workspace;
};

namespace ascend {

constexpr int kBadParameter = 161002, kNullPointer = 161001, kInner = 561103;
constexpr uint64_t kWorkspace = 512;

int dtype_of(int type);  // infiniDtype_t; 0: none
simulated::Strided strided(const aclTensor &tensor);

// The first step: an executor for `work`, which returns whether it could.
int prepare(const char *function, std::function<bool(int device)> work, uint64_t *bytes,
            aclOpExecutor **executor);
// The second.
int run(const char *function, void *workspace, uint64_t bytes, aclOpExecutor *executor,
        void *stream);

}  // namespace ascend
