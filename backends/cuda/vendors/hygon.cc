// Hygon (DTK): HIP, in a library of the vendor's own name. HIP's libraries of other vendors have
// other names, and are not looked for.
#include "vendor.h"

namespace infini::cuda {
namespace {

constexpr const char *kRuntime[] = {"libgalaxyhip.so.5", "libgalaxyhip.so", nullptr};
constexpr const char *kCompiler[] = {"libhiprtc.so", "libgalaxyhip.so.5", "libgalaxyhip.so",
                                     nullptr};
constexpr const char *kBlas[] = {"libhipblas.so", "libhipblas.so.0", nullptr};
constexpr const char *kCollectives[] = {"librccl.so.1", "librccl.so", nullptr};

constexpr const char *kToolkits[] = {"DTK_ROOT", "ROCM_PATH", "HIP_PATH", "/opt/dtk", nullptr};
constexpr const char *kFolders[] = {"hip/lib", "lib", "rccl/lib", nullptr};

constexpr Rename kRenames[] = {
    {Part::kRuntime, "HostAlloc", "hipHostMalloc"},
    {Part::kRuntime, "FreeHost", "hipHostFree"},
    {Part::kDriver, "LaunchKernel", "hipModuleLaunchKernel"},
    {Part::kDriver, "OccupancyMaxActiveBlocksPerMultiprocessor",
     "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"},
    {Part::kDriver, "FuncSetAttribute", nullptr},  // requires functions of the host
    {Part::kDriver, "LaunchKernelEx", nullptr},
    {Part::kDriver, "GetErrorName", nullptr},  // the runtime's function, with a different signature
    {Part::kDriver, "MemGetAddressRange_v2", "hipMemGetAddressRange"},
    {Part::kCompiler, "GetCUBINSize", "hiprtcGetCodeSize"},
    {Part::kCompiler, "GetCUBIN", "hiprtcGetCode"},
    {Part::kRuntime, nullptr, nullptr}};

// hipDeviceAttribute_t of ROCm 5 and 6.
constexpr AttributeNumber kAttributes[] = {{infinirtDevAttrMaxThreadsPerBlock, 56},
                                           {infinirtDevAttrMaxSharedMemoryPerBlock, 74},
                                           {infinirtDevAttrWarpSize, 87},
                                           {infinirtDevAttrClockRate, 5},
                                           {infinirtDevAttrMultiProcessorCount, 63},
                                           {infinirtDevAttrIntegrated, 16},
                                           {infinirtDevAttrMemoryClockRate, 60},
                                           {infinirtDevAttrGlobalMemoryBusWidth, 59},
                                           {infinirtDevAttrL2CacheSize, 19},
                                           {infinirtDevAttrMaxThreadsPerMultiProcessor, 57},
                                           {infinirtDevAttrAsyncEngineCount, 2},
                                           {infinirtDevAttrComputeCapabilityMajor, 23},
                                           {infinirtDevAttrComputeCapabilityMinor, 61},
                                           {infinirtDevAttrPageableMemoryAccess, 65},
                                           {0, 0}};

// hipblasDatatype_t is also used for the compute type.
constexpr GemmNumbers kGemm = {
    .as_is = 111,
    .transposed = 112,
    .algorithm = 160,
    .f32 = 151,
    .f64 = 152,
    .f16 = 150,
    .bf16 = 168,
    .compute_f32 = 151,
    .compute_f64 = 152,
};

constexpr CompileOption kOptions[] = {
    {"-std=c++20", 0}, {"-DINFINI_LANE_MASKS=0", 0}, {nullptr, 0}};

constexpr const char *kUnverified[] = {
    "hiprtcGetCodeSize, hiprtcGetCode (in DTK)",
    "hipblasGemmStridedBatchedEx and its numbers (hipBLAS before 3.0)",
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
    "hipMemGetAddressRange",
    "device attributes other than 23, 56, 63 and 87",
    "hiprtc option -std=c++20",
    nullptr};

}  // namespace

const Vendor vendor = {
    .kind = "hygon",
    .vendor = "Hygon",
    .libraries =
        {
            {"hip", kRuntime, nullptr, kUnrelated, "the HIP runtime of DTK"},
            {"hip", kRuntime, nullptr, kUnrelated, "the HIP runtime of DTK"},
            {"hiprtc", kCompiler, nullptr, kUnrelated, "the run-time compiler hipRTC"},
            {"hipblas", kBlas, nullptr, kUnrelated, "hipBLAS"},
            {"miopen", nullptr, nullptr, kUnrelated, "MIOpen"},
            {"hipsolverDn", nullptr, nullptr, kUnrelated, "hipSOLVER"},
            {"hipfft", nullptr, nullptr, kUnrelated, "hipFFT"},
            {"nccl", kCollectives, nullptr, kUnrelated, "RCCL"},
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
