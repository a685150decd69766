#include "refusals.h"

#include <cstring>

namespace infini::vendor_runtime {
namespace {

struct Entry {
    const char *operation, *reason;
};

constexpr const char *kMarlin =
    "its weights are in Marlin's order, which is made for NVIDIA's tensor cores; the vendors' "
    "libraries take 4-bit weights row by row";
constexpr const char *kGguf =
    "blocks of GGUF have their scales between the codes, and the vendors' libraries take scales in "
    "a tensor of their own";
constexpr const char *kMxfp4 =
    "no public document says how the vendors' libraries pack 4-bit floating-point weights with a "
    "power of two for 32 of them";
constexpr const char *kRunTime =
    "how many experts it chooses is said when it runs, and the vendors' functions want it in the "
    "shape of a result";

constexpr Entry kEntries[] = {
    {"awq_marlin_gemm", kMarlin},
    {"awq_marlin_repack", kMarlin},
    {"gptq_marlin_gemm", kMarlin},
    {"gptq_marlin_repack", kMarlin},
    {"linear_gguf", kGguf},
    {"dequantize_gguf", kGguf},
    {"linear_mxfp4", kMxfp4},
    {"mxfp4_dequantize", kMxfp4},
    {"fused_moe_mxfp4", kMxfp4},
    {"topksoftmax", kRunTime},
    {"topkrouter", kRunTime},
    {"dequantize_awq",
     "its words hold eight columns in AWQ's order, which no function of the vendors' libraries "
     "unpacks"},
    {"dequantize_gptq",
     "its words hold eight rows in GPTQ's order, with a group for each row, which no function of "
     "the vendors' libraries unpacks"},
    {"per_tensor_quant_int8",
     "its codes are rounded away from zero at ties, and the vendors' libraries do not say how they "
     "round"},
    {"per_channel_quant_int8",
     "its codes are rounded away from zero at ties, and the vendors' libraries do not say how they "
     "round"},
    {"random_sample",
     "it draws by running sums in the order of probabilities, and the vendors' functions draw by "
     "generators of their own"},
};

}  // namespace

const char *common_reason(const char *operation) {
    for (const Entry &entry : kEntries)
        if (strcmp(entry.operation, operation) == 0) return entry.reason;
    return nullptr;
}

}  // namespace infini::vendor_runtime
