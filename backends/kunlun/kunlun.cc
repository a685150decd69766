// Kunlun: the names, argument orders and enumerators of XRE (xpu_*) and BKCL.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backends/kunlun/blas.h"
#include "infiniccl.h"

namespace infini::vendor_runtime {
namespace {

using enum Arg;
constexpr auto kMedium = Confidence::kMedium;
constexpr int kMainMemory = 0;

// Functions that XRE lacks are emulated: device synchronisation, stream queries, fills, event
// times. The worker of a stream runs the work that needs them.
const Row kRows[] = {
    {Word::kGetDeviceCount, "xpu_device_count", {kOut}},
    {Word::kSetDevice, "xpu_set_device", {kDevice}},
    {Word::kGetDevice, "xpu_current_device", {kOut}},
    {Word::kDeviceAttribute, "xpu_device_get_attr", {kOut, kValue, kDevice}},
    {Word::kMalloc, "xpu_malloc", {kOut, kBytes, kConstant}, kMainMemory},
    {Word::kFree, "xpu_free", {kDst}},
    {Word::kMallocHost, "xpu_host_alloc", {kOut, kBytes, kZero}},
    {Word::kFreeHost, "xpu_host_free", {kDst}},
    {Word::kMemcpy, "xpu_memcpy", {kDst, kSrc, kBytes, kDirection}},
    {Word::kMemcpyAsync, "xpu_memcpy_async", {kDst, kSrc, kBytes, kDirection, kStream}, 0, false},
    {Word::kMemcpyPeer, "xpu_memcpy_peer", {kDevice, kDst, kDevice2, kSrc, kBytes}},
    {Word::kStreamCreate, "xpu_stream_create", {kOut}},
    {Word::kStreamDestroy, "xpu_stream_destroy", {kStream}},
    {Word::kStreamSynchronize, "xpu_wait", {kStream}},
    {Word::kStreamWaitEvent, "xpu_stream_wait_event", {kStream, kEvent}},
    {Word::kEventCreate, "xpu_event_create", {kOut}},
    {Word::kEventRecord, "xpu_event_record", {kEvent, kStream}},
    {Word::kEventQuery, "xpu_event_query", {kEvent}, 0, false},
    {Word::kEventSynchronize, "xpu_event_wait", {kEvent}},

    {Word::kGetUniqueId, "bkcl_get_unique_id", {kId}},
    {Word::kCommInitRank, "bkcl_init_rank", {kOut, kRank, kRanks, kId}},
    {Word::kCommInitAll,
     "bkcl_comm_init_all",
     {kOut, kRanks, kDeviceList},
     0,
     true,
     kMedium,
     "its parameters"},
    {Word::kCommDestroy, "bkcl_destroy_context", {kCommunicator}},
    {Word::kCommAbort, "bkcl_comm_abort", {kCommunicator}, 0, false},
    {Word::kAllReduce, "bkcl_all_reduce", {kCommunicator, kSrc, kDst, kCount, kType, kOp, kStream}},
    {Word::kReduce, "bkcl_reduce", {kCommunicator, kSrc, kDst, kCount, kType, kOp, kRoot, kStream}},
    {Word::kBroadcast,
     "bkcl_broadcast",
     {kCommunicator, kSrc, kDst, kCount, kType, kRoot, kStream}},
    {Word::kAllGather, "bkcl_all_gather", {kCommunicator, kSrc, kCount, kDst, kType, kStream}},
    {Word::kReduceScatter,
     "bkcl_reduce_scatter",
     {kCommunicator, kSrc, kDst, kCount, kType, kOp, kStream}},
    {Word::kSend, "bkcl_send", {kCommunicator, kSrc, kCount, kRoot, kType, kStream}},
    {Word::kRecv, "bkcl_recv", {kCommunicator, kDst, kCount, kRoot, kType, kStream}},
    {Word::kGroupStart, "bkcl_group_start", {}},
    {Word::kGroupEnd, "bkcl_group_end", {}},
};

// XRE's texts are only in its header.
std::string error_text(int code) {
    constexpr int kFirst = 700;
    constexpr struct {
        int code;
        const char *text;
    } kTexts[] = {
        {701, "invalid device"},
        {702, "not initialized"},
        {703, "no device"},
        {705, "out of memory"},
        {706, "out of host memory"},
        {707, "invalid value"},
        {712, "not supported"},
        {715, "timeout"},
        {716, "busy"},
        {800, "unexpected error"},
    };
    code = abs(code);
    for (const auto &known : kTexts)
        if (known.code == code) return known.text;
    return code < kFirst ? strerror(code) : "";
}

void describe(int device, InfiniDeviceInfo *info) {
    constexpr int kModel = 4, kMemory = 5, kClusters = 7;
    auto ask = [&](int attribute) {
        uint64_t value = 0;
        Values values;
        values.out = &value;
        values.value = attribute;
        values.device = device;
        return call(Word::kDeviceAttribute, values) == 0 ? value : 0;
    };
    // The library has numbers and no names. The last one is of no card: it is what the library of
    // the tests reports, so that it can't be taken for hardware.
    constexpr struct {
        int model;
        const char *name;
    } kModels[] = {
        {0, "K200"}, {2, "R200"}, {3, "R300"}, {9, "RG800"}, {999999, "(simulated)"},
    };
    const int model = int(ask(kModel));
    snprintf(info->name, sizeof info->name, "Kunlun model %d", model);
    for (const auto &known : kModels)
        if (known.model == model) snprintf(info->name, sizeof info->name, "Kunlun %s", known.name);
    info->memory_bytes = ask(kMemory);
    if (uint64_t clusters = ask(kClusters)) info->multiprocessors = int(clusters);
}

// No public source has the numbers of BKCL's enumerators: they are read from the SDK's header.
const CollectiveFacts kCollectives = {
    1024,
    {},
    {},
    false,
    nullptr,
    "bkcl.h",
    {{INFINI_DTYPE_U8, "BKCL_UINT8"},
     {INFINI_DTYPE_I32, "BKCL_INT32"},
     {INFINI_DTYPE_I64, "BKCL_INT64"},
     {INFINI_DTYPE_F16, "BKCL_FLOAT16"},
     {INFINI_DTYPE_BF16, "BKCL_BFLOAT16"},
     {INFINI_DTYPE_F32, "BKCL_FLOAT"},
     {INFINI_DTYPE_F64, "BKCL_FLOAT64"}},
    {{INFINICCL_SUM, "BKCL_ADD"},
     {INFINICCL_PROD, "BKCL_PRODUCT"},
     {INFINICCL_MAX, "BKCL_MAX"},
     {INFINICCL_MIN, "BKCL_MIN"}},
    "BKCL_UNIQUE_ID_BYTES",
};

}  // namespace

const Vendor vendor = {
    "kunlun",
    "Kunlun XPU",
    "XRE_PATH|KUNLUN_HOME",
    "/usr/local/xpu",
    "so|xre/so|lib64|xhpc/xblas/so|xccl/so",
    {{"the XPU runtime", "libxpurt.so", "", true},
     {"XPU BLAS", "libxpu_blas.so", "", false, "cublasGemmStridedBatchedEx"},
     {"BKCL", "libbkcl.so", "", true, "bkcl_init_rank"}},
    kRows,
    int(std::size(kRows)),
    {1, 0, 2},
    {},
    true,
    {},
    {{701, infinirtErrorInvalidDevice},
     {-701, infinirtErrorInvalidDevice},
     {705, infinirtErrorMemoryAllocation},
     {-705, infinirtErrorMemoryAllocation},
     {706, infinirtErrorMemoryAllocation},
     {-706, infinirtErrorMemoryAllocation},
     {707, infinirtErrorInvalidValue},
     {-707, infinirtErrorInvalidValue},
     {712, infinirtErrorNotSupported},
     {-712, infinirtErrorNotSupported}},
    error_text,
    describe,
    kunlun::plan,
    &kCollectives,
    "cublasGemmStridedBatchedEx of libxpu_blas.so (medium: one code base uses it)",
};

}  // namespace infini::vendor_runtime
