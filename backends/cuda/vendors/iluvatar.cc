// Iluvatar (CoreX): CUDA's names, in the vendor's own folder; the runtime answers as CUDA 10.2.
#include "cuda_names.h"

namespace infini::cuda {
namespace {

constexpr const char *kRuntime[] = {"libcudart.so", "libcudart.so.10.2", nullptr};
constexpr const char *kDriver[] = {"libcuda.so.1", "libcuda.so", nullptr};
constexpr const char *kCompiler[] = {"libnvrtc.so", nullptr};
constexpr const char *kBlas[] = {"libcublas.so", nullptr};
constexpr const char *kCollectives[] = {"libnccl.so", "libnccl.so.2", nullptr};

constexpr const char *kToolkits[] = {"COREX_HOME", "/usr/local/corex", nullptr};
constexpr const char *kFolders[] = {"lib64", "lib", nullptr};
constexpr CompileOption kOptions[] = {{"-std=c++20", 0}, {nullptr, 0}};

constexpr const char *kUnverified[] = {
    "libnvrtc.so (not in public listings of CoreX)",
    "COREX_HOME",
    "cublasGemmStridedBatchedEx",
    "cuFuncSetAttribute",
    "cudaLaunchHostFunc",
    "the options --cuda-device-only and -std=c++20 of the off-line compiler",
    nullptr};

}  // namespace

const Vendor vendor = {
    .kind = "iluvatar",
    .vendor = "Iluvatar CoreX",
    .libraries =
        {
            {"cuda", kRuntime, nullptr, kUnrelated, "the CoreX runtime"},
            {"cu", kDriver, nullptr, kUnrelated, "the CoreX driver"},
            {"nvrtc", kCompiler, nullptr, kUnrelated, "a run-time compiler of CoreX"},
            {"cublas", kBlas, nullptr, kUnrelated, "cuBLAS of CoreX"},
            {"cudnn", nullptr, nullptr, kUnrelated, "cuDNN of CoreX"},
            {"cusolverDn", nullptr, nullptr, kUnrelated, "cuSOLVER of CoreX"},
            {"cufft", nullptr, nullptr, kUnrelated, "cuFFT of CoreX"},
            {"nccl", kCollectives, nullptr, kUnrelated, "NCCL of CoreX"},
        },
    .renames = kCudaRenames,
    .toolkit_paths = kToolkits,
    .folders = kFolders,
    .own_folders_only = true,
    .foreign = kNvidiaDevices,
    .oldest_runtime = 10020,
    .gemm = &kCublasNumbers,
    .warp = 64,
    .compile_options = kOptions,
    .offline_command =
        "clang++ -x ivcore --cuda-gpu-arch=ivcore20 --cuda-device-only -std=c++20 -O3 "
        "{source} -o {image}",
    .unverified = kUnverified,
};

}  // namespace infini::cuda
