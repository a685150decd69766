// Alibaba T-Head (PPU): CUDA's names, in the vendor's own folder.
#include "cuda_names.h"

namespace infini::cuda {
namespace {

constexpr const char *kRuntime[] = {"libcudart.so", "libcudart.so.13", "libcudart.so.12", nullptr};
constexpr const char *kDriver[] = {"libcuda.so.1", nullptr};
constexpr const char *kCompiler[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", nullptr};
constexpr const char *kBlas[] = {"libcublas.so", nullptr};
constexpr const char *kCollectives[] = {"libnccl.so.2", "libnccl.so", nullptr};

constexpr const char *kToolkits[] = {
    "THEAD_CUDA_ROOT", "PPU_CUDA_ROOT",      "PPU_SDK_ROOT", "PPU_SDK",
    "PPU_HOME",        "/usr/local/PPU_SDK", nullptr};
constexpr const char *kFolders[] = {
    "CUDA_SDK/lib64", "CUDA_SDK/targets/*-linux/lib", "lib64", "targets/*-linux/lib", "lib",
    nullptr};
constexpr CompileOption kOptions[] = {{"-std=c++20", 0}, {nullptr, 0}};

constexpr const char *kUnverified[] = {
    "libnvrtc.so: whether the SDK has it, and its option --gpu-architecture",
    "cuLaunchKernel and other functions of the driver",
    "cublasGemmStridedBatchedEx",
    "the nccl functions",
    "the off-line command",
    nullptr};

}  // namespace

const Vendor vendor = {
    .kind = "ali",
    .vendor = "Alibaba T-Head PPU",
    .libraries =
        {
            {"cuda", kRuntime, nullptr, kUnrelated, "the runtime of the PPU SDK"},
            {"cu", kDriver, nullptr, kUnrelated, "the driver of the PPU SDK"},
            {"nvrtc", kCompiler, nullptr, kUnrelated, "a run-time compiler of the PPU SDK"},
            {"cublas", kBlas, nullptr, kUnrelated, "cuBLAS of the PPU SDK"},
            {"cudnn", nullptr, nullptr, kUnrelated, "cuDNN of the PPU SDK"},
            {"cusolverDn", nullptr, nullptr, kUnrelated, "cuSOLVER of the PPU SDK"},
            {"cufft", nullptr, nullptr, kUnrelated, "cuFFT of the PPU SDK"},
            {"nccl", kCollectives, nullptr, kUnrelated, "NCCL of the PPU SDK"},
        },
    .renames = kCudaRenames,
    .toolkit_paths = kToolkits,
    .folders = kFolders,
    .own_folders_only = true,
    .foreign = kNvidiaDevices,
    .gemm = &kCublasNumbers,
    .warp = 0,
    .architecture = "--gpu-architecture=sm_%d%d",
    .compile_options = kOptions,
    .offline_command = "nvcc -std=c++20 -O3 -cubin {source} -o {image}",
    .unverified = kUnverified,
};

}  // namespace infini::cuda
