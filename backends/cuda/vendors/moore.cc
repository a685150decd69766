// Moore Threads (MUSA): CUDA's functions with the prefixes musa and mu, and CUDA's numbers except
// in muBLAS.
#include "cuda_names.h"

namespace infini::cuda {
namespace {

constexpr const char *kRuntime[] = {"libmusart.so",     "libmusart.so.5",   "libmusart.so.4",
                                    "libmusart.so.1.5", "libmusart.so.1.0", nullptr};
constexpr const char *kDriver[] = {"libmusa.so", "libmusa.so.1.0", nullptr};
constexpr const char *kCompiler[] = {"libmtrtc.so", "libmtrtc.so.5", nullptr};
constexpr const char *kBlas[] = {"libmublas.so", nullptr};
constexpr const char *kCollectives[] = {"libmccl.so", nullptr};

constexpr const char *kToolkits[] = {"MUSA_HOME", "MUSA_ROOT", "MUSA_PATH", "/usr/local/musa",
                                     nullptr};
constexpr const char *kFolders[] = {"lib", "lib64", nullptr};

constexpr Rename kRenames[] = {
    {Part::kDriver, "LaunchKernelEx", nullptr},
    {Part::kCompiler, "GetCUBINSize", "mtrtcGetFatBinSize"},
    {Part::kCompiler, "GetCUBINSize", "mtrtcGetMUSASize"},  // of older toolkits
    {Part::kCompiler, "GetCUBIN", "mtrtcGetFatBin"},
    {Part::kCompiler, "GetCUBIN", "mtrtcGetMUSA"},
    {Part::kRuntime, nullptr, nullptr}};

constexpr GemmNumbers kGemm = [] {
    GemmNumbers numbers = kCublasNumbers;
    numbers.as_is = 111, numbers.transposed = 112, numbers.algorithm = 0;
    return numbers;
}();

constexpr CompileOption kOptions[] = {{"-std=c++20", 0}, {nullptr, 0}};

constexpr const char *kUnverified[] = {
    "libmtrtc.so.5",
    "muFuncSetAttribute",
    "muOccupancyMaxActiveBlocksPerMultiprocessor",
    "muMemsetD2D16Async, muMemsetD2D32Async",
    "muMemGetAddressRange_v2",
    "mtrtcVersion",
    "mtrtc options --gpu-architecture=mp_%d%d and -std=c++20",
    "mublas operations 112 (T), types 0, 1 and 14, computation 70",
    nullptr};

}  // namespace

const Vendor vendor = {
    .kind = "moore",
    .vendor = "Moore Threads",
    .libraries =
        {
            {"musa", kRuntime, nullptr, kUnrelated, "the MUSA runtime"},
            {"mu", kDriver, nullptr, kUnrelated, "the MUSA driver"},
            {"mtrtc", kCompiler, nullptr, kUnrelated, "the run-time compiler MTRTC"},
            {"mublas", kBlas, nullptr, kUnrelated, "muBLAS"},
            {"mudnn", nullptr, nullptr, kUnrelated, "muDNN"},
            {"musolverDn", nullptr, nullptr, kUnrelated, "muSOLVER"},
            {"mufft", nullptr, nullptr, kUnrelated, "muFFT"},
            {"mccl", kCollectives, nullptr, kUnrelated, "MCCL", "mcclCommMuDevice"},
        },
    .renames = kRenames,
    .toolkit_paths = kToolkits,
    .folders = kFolders,
    .gemm = &kGemm,
    .warp = 0,  // 128 up to capability 2.x, then 32
    .architecture = "--gpu-architecture=mp_%d%d",
    .compile_options = kOptions,
    .unverified = kUnverified,
};

}  // namespace infini::cuda
