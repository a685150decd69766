// Shared by the tables of vendors whose libraries have CUDA's names or numbers.
#pragma once

#include "../vendor.h"

namespace infini::cuda {

inline constexpr const char *kNvidiaDevices[] = {"NVIDIA", "Tesla", "GeForce", "Quadro", nullptr};

inline constexpr Rename kCudaRenames[] = {{Part::kDriver, "LaunchKernelEx", nullptr},
                                          {Part::kBlas, "Create", "cublasCreate_v2"},
                                          {Part::kBlas, "SetStream", "cublasSetStream_v2"},
                                          {Part::kRuntime, nullptr, nullptr}};

inline constexpr GemmNumbers kCublasNumbers = {
    .as_is = 0,
    .transposed = 1,
    .algorithm = -1,
    .f32 = 0,
    .f64 = 1,
    .f16 = 2,
    .bf16 = 14,
    .compute_f32 = 68,
    .compute_f64 = 70,
};

}  // namespace infini::cuda
