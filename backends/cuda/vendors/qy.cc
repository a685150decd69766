// QY (Denglin): CUDA's names, in the vendor's own folder and libcurt.so.
#include "cuda_names.h"

namespace infini::cuda {
namespace {

constexpr const char *kRuntime[] = {"libcurt.so", nullptr};
constexpr const char *kDriver[] = {"libcuda.so.1", "libcuda.so", "libcurt.so", nullptr};
constexpr const char *kCompiler[] = {"libnvrtc.so", nullptr};
constexpr const char *kBlas[] = {"libcublas.so", nullptr};
constexpr const char *kCollectives[] = {"libnccl.so", nullptr};

constexpr const char *kToolkits[] = {"QY_ROOT", "QY_HOME", "QY_PATH", "/usr/local/denglin",
                                     nullptr};
constexpr const char *kFolders[] = {"sdk/lib", "lib", nullptr};
constexpr CompileOption kOptions[] = {{"-std=c++20", 0}, {nullptr, 0}};

constexpr const char *kUnverified[] = {
    "all functions of the runtime (one code base)",
    "cuModuleLoadData and other functions of the driver, and where they are",
    "libnvrtc.so",
    "the width of a warp",
    "cublasGemmStridedBatchedEx",
    "the nccl functions",
    "the options --cuda-device-only and -std=c++20 of the off-line compiler",
    nullptr};

}  // namespace

const Vendor vendor = {
    .kind = "qy",
    .vendor = "Denglin QY",
    .libraries =
        {
            {"cuda", kRuntime, nullptr, kUnrelated, "the runtime of Denglin's SDK"},
            {"cu", kDriver, nullptr, kUnrelated, "the driver of Denglin's SDK"},
            {"nvrtc", kCompiler, nullptr, kUnrelated, "a run-time compiler of Denglin's SDK"},
            {"cublas", kBlas, nullptr, kUnrelated, "cuBLAS of Denglin's SDK"},
            {"cudnn", nullptr, nullptr, kUnrelated, "cuDNN of Denglin's SDK"},
            {"cusolverDn", nullptr, nullptr, kUnrelated, "cuSOLVER of Denglin's SDK"},
            {"cufft", nullptr, nullptr, kUnrelated, "cuFFT of Denglin's SDK"},
            {"nccl", kCollectives, nullptr, kUnrelated, "NCCL of Denglin's SDK"},
        },
    .renames = kCudaRenames,
    .toolkit_paths = kToolkits,
    .folders = kFolders,
    .own_folders_only = true,
    .foreign = kNvidiaDevices,
    .gemm = &kCublasNumbers,
    .warp = 0,
    .compile_options = kOptions,
    .offline_command =
        "dlcc --cuda-gpu-arch=dlgput64 --cuda-device-only -std=c++20 -O3 {source} -o {image}",
    .unverified = kUnverified,
};

}  // namespace infini::cuda
