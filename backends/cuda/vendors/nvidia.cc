// NVIDIA: the reference names.
#include "vendor.h"

namespace infini::cuda {
namespace {

constexpr const char *kRuntime[] = {"libcudart.so.13", "libcudart.so.12", nullptr};
constexpr const char *kDriver[] = {"libcuda.so.1", nullptr};
constexpr const char *kCompiler[] = {"libnvrtc.so.13", "libnvrtc.so.12", nullptr};
constexpr const char *kCompilerParts[] = {"libnvrtc-builtins.so*", nullptr};
constexpr const char *kBlas[] = {"libcublasLt.so.13", "libcublasLt.so.12", nullptr};
constexpr const char *kDnn[] = {"libcudnn.so.9", nullptr};
constexpr const char *kSolver[] = {"libcusolver.so.12", "libcusolver.so.11", nullptr};
constexpr const char *kFourier[] = {"libcufft.so.12", "libcufft.so.11", nullptr};
constexpr const char *kCollectives[] = {"libnccl.so.2", nullptr};

constexpr const char *kToolkits[] = {"CUDA_HOME", "CUDA_PATH", "/usr/local/cuda",
                                     "NCCL_HOME", "NCCL_ROOT", nullptr};
constexpr const char *kFolders[] = {"lib64", "lib", "targets/*-linux/lib", nullptr};
constexpr const char *kWheels[] = {"nvidia/*/lib", nullptr};

// Vendors whose libraries have the names above.
constexpr const char *kForeign[] = {"/corex", "Iluvatar", "PPU", "denglin", nullptr};

// Skips headers that only host code and textures need, so that the compiler starts faster.
constexpr CompileOption kOptions[] = {
    {"-std=c++20", 0}, {"-default-device", 0}, {"-minimal", 12040}, {nullptr, 0}};

}  // namespace

const Vendor vendor = {
    .kind = "nvidia",
    .vendor = "NVIDIA",
    .libraries =
        {
            {"cuda", kRuntime, nullptr, 0, "the CUDA runtime"},
            {"cu", kDriver, nullptr, kUnrelated, "the NVIDIA driver"},
            {"nvrtc", kCompiler, kCompilerParts, 0, "the run-time compiler NVRTC"},
            {"cublasLt", kBlas, nullptr, 0, "cuBLASLt"},
            {"cudnn", kDnn, nullptr, kUnrelated, "cuDNN"},
            {"cusolverDn", kSolver, nullptr, 1, "cuSOLVER"},
            {"cufft", kFourier, nullptr, 1, "cuFFT"},
            {"nccl", kCollectives, nullptr, kUnrelated, "NCCL"},
        },
    .toolkit_paths = kToolkits,
    .folders = kFolders,
    .wheel_folders = kWheels,
    .foreign = kForeign,
    .forwards = true,
    .warp = 32,
    .has_ptx = true,
    .architecture = "--gpu-architecture=sm_%d%d",
    .architecture_special = "--gpu-architecture=sm_%d%da",
    .compile_options = kOptions,
};

}  // namespace infini::cuda
