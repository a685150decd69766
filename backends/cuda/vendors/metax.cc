// MetaX (MACA): CUDA's functions with the prefix mc, all of them in the runtime library.
#include "cuda_names.h"

namespace infini::cuda {
namespace {

constexpr const char *kRuntime[] = {"libmcruntime.so", nullptr};
constexpr const char *kBlas[] = {"libmcblas.so", nullptr};
constexpr const char *kCollectives[] = {"libmccl.so", nullptr};

constexpr const char *kToolkits[] = {"MACA_PATH", "MACA_HOME", "MACA_ROOT", "/opt/maca", nullptr};
constexpr const char *kFolders[] = {"lib", "lib64", nullptr};

constexpr Rename kRenames[] = {
    {Part::kRuntime, "HostAlloc", "mcHostAlloc"},
    {Part::kRuntime, "HostAlloc", "mcMallocHost"},  // has no flags
    {Part::kRuntime, "StreamCreateWithPriority", "mcStreamCreateWithPriority"},
    {Part::kRuntime, "StreamCreateWithPriority", "mcStreamCreateWithFlags"},
    {Part::kDriver, "LaunchKernel", "mcModuleLaunchKernel"},
    {Part::kDriver, "OccupancyMaxActiveBlocksPerMultiprocessor",
     "mcModuleOccupancyMaxActiveBlocksPerMultiprocessor"},
    {Part::kDriver, "FuncSetAttribute", nullptr},  // requires functions of the host
    {Part::kDriver, "LaunchKernelEx", nullptr},
    {Part::kDriver, "GetErrorName", nullptr},  // the runtime's function, with a different signature
    {Part::kDriver, "MemGetAddressRange_v2", "mcMemGetAddressRange"},
    {Part::kCompiler, "GetCUBINSize", "mcrtcGetBitcodeSize"},
    {Part::kCompiler, "GetCUBIN", "mcrtcGetBitcode"},
    {Part::kRuntime, nullptr, nullptr}};

// Numbered as in HIP; other attributes are not queried.
constexpr AttributeNumber kAttributes[] = {{infinirtDevAttrMaxThreadsPerBlock, 0},
                                           {infinirtDevAttrWarpSize, 10},
                                           {infinirtDevAttrMultiProcessorCount, 16},
                                           {0, 0}};

// The pedantic compute type (69): the default may round float32 to TF32.
constexpr GemmNumbers kGemm = [] {
    GemmNumbers numbers = kCublasNumbers;
    numbers.compute_f32 = 69;
    return numbers;
}();

constexpr CompileOption kOptions[] = {{"-x", 0}, {"maca", 0}, {"-std=c++20", 0}, {nullptr, 0}};

constexpr const char *kUnverified[] = {"mcHostAlloc",
                                       "mcStreamCreateWithPriority",
                                       "mcModuleLaunchKernel",
                                       "mcModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                                       "mcMemGetAddressRange",
                                       "mcDriverGetVersion",
                                       "device attribute 10: the width of a wave",
                                       "mcblas computation 69 (pedantic)",
                                       "mcrtc option -std=c++20",
                                       nullptr};

}  // namespace

const Vendor vendor = {
    .kind = "metax",
    .vendor = "MetaX",
    .libraries =
        {
            {"mc", kRuntime, nullptr, kUnrelated, "the MACA runtime"},
            {"mc", kRuntime, nullptr, kUnrelated, "the MACA runtime"},
            {"mcrtc", kRuntime, nullptr, kUnrelated, "the run-time compiler MCRTC"},
            {"mcblas", kBlas, nullptr, kUnrelated, "mcBLAS"},
            {"mcdnn", nullptr, nullptr, kUnrelated, "mcDNN"},
            {"mcsolverDn", nullptr, nullptr, kUnrelated, "mcSOLVER"},
            {"mcfft", nullptr, nullptr, kUnrelated, "mcFFT"},
            {"mccl", kCollectives, nullptr, kUnrelated, "MCCL", "mcclCommMcDevice"},
        },
    .renames = kRenames,
    .toolkit_paths = kToolkits,
    .folders = kFolders,
    .attributes = kAttributes,
    .gemm = &kGemm,
    .warp = 64,
    .compile_options = kOptions,
    .unverified = kUnverified,
};

}  // namespace infini::cuda
