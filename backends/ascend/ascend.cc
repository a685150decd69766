// Huawei Ascend: the names, argument orders and enumerators of CANN (aclrt*, HCCL).
#include <cstring>

#include "backends/ascend/aclnn.h"
#include "backends/ascend/operators.h"
#include "infiniccl.h"

namespace infini::vendor_runtime {
namespace {

using enum Arg;
constexpr auto kMedium = Confidence::kMedium;
constexpr int kHugePagesFirst = 0, kHbm = 1, kSyncEvent = 1, kTimeLine = 8;
constexpr int kStreamComplete = 0, kEventComplete = 1;

const Row kRows[] = {
    {Word::kInit, "aclInit", {kZero}},
    {Word::kGetDeviceCount, "aclrtGetDeviceCount", {kOut}},
    {Word::kSetDevice, "aclrtSetDevice", {kDevice}},
    {Word::kGetDevice, "aclrtGetDevice", {kOut}},
    {Word::kEnablePeer,
     "aclrtDeviceEnablePeerAccess",
     {kDevice2, kZero},
     0,
     false,
     kMedium,
     "copies between devices go through the host where it fails"},
    {Word::kMalloc, "aclrtMalloc", {kOut, kBytes, kConstant}, kHugePagesFirst},
    {Word::kFree, "aclrtFree", {kDst}},
    {Word::kMallocHost, "aclrtMallocHost", {kOut, kBytes}},
    {Word::kFreeHost, "aclrtFreeHost", {kDst}},
    {Word::kMemcpy, "aclrtMemcpy", {kDst, kBytes, kSrc, kBytes, kDirection}},
    {Word::kMemcpyAsync, "aclrtMemcpyAsync", {kDst, kBytes, kSrc, kBytes, kDirection, kStream}},
    {Word::kMemcpyPeer,
     "aclrtMemcpy",
     {kDst, kBytes, kSrc, kBytes, kDirection},
     0,
     true,
     kMedium,
     "that it copies between devices after aclrtDeviceEnablePeerAccess"},
    {Word::kMemsetAsync, "aclrtMemsetAsync", {kDst, kBytes, kValue, kBytes, kStream}},
    {Word::kMemGetInfo, "aclrtGetMemInfo", {kConstant, kOut, kOut2}, kHbm},
    {Word::kStreamCreate, "aclrtCreateStream", {kOut}},
    {Word::kStreamDestroy, "aclrtDestroyStream", {kStream}},
    {Word::kStreamSynchronize, "aclrtSynchronizeStream", {kStream}},
    {Word::kStreamQuery, "aclrtStreamQuery", {kStream, kOut}, kStreamComplete},
    {Word::kStreamWaitEvent, "aclrtStreamWaitEvent", {kStream, kEvent}},
    {Word::kEventCreate,
     "aclrtCreateEventExWithFlag|aclrtCreateEventWithFlag",
     {kOut, kConstant},
     kSyncEvent | kTimeLine},
    {Word::kEventCreateUntimed,
     "aclrtCreateEventExWithFlag|aclrtCreateEventWithFlag",
     {kOut, kConstant},
     kSyncEvent},
    {Word::kEventRecord, "aclrtRecordEvent", {kEvent, kStream}},
    {Word::kEventQuery, "aclrtQueryEventStatus", {kEvent, kOut}, kEventComplete},
    {Word::kEventSynchronize, "aclrtSynchronizeEvent", {kEvent}},
    {Word::kEventElapsedTime, "aclrtEventElapsedTime", {kOut, kEvent, kEvent2}},

    {Word::kGetUniqueId, "HcclGetRootInfo", {kId}},
    {Word::kCommInitRank, "HcclCommInitRootInfo", {kRanks, kId, kRank, kOut}},
    {Word::kCommInitAll, "HcclCommInitAll", {kRanks, kDeviceList, kOut}},
    {Word::kCommDestroy, "HcclCommDestroy", {kCommunicator}},
    {Word::kAllReduce, "HcclAllReduce", {kSrc, kDst, kCount, kType, kOp, kCommunicator, kStream}},
    {Word::kReduce, "HcclReduce", {kSrc, kDst, kCount, kType, kOp, kRoot, kCommunicator, kStream}},
    {Word::kBroadcast, "HcclBroadcast", {kDst, kCount, kType, kRoot, kCommunicator, kStream}},
    {Word::kAllGather, "HcclAllGather", {kSrc, kDst, kCount, kType, kCommunicator, kStream}},
    {Word::kReduceScatter,
     "HcclReduceScatter",
     {kSrc, kDst, kCount, kType, kOp, kCommunicator, kStream}},
    {Word::kSend, "HcclSend", {kSrc, kCount, kType, kRoot, kCommunicator, kStream}},
    {Word::kRecv, "HcclRecv", {kDst, kCount, kType, kRoot, kCommunicator, kStream}},
    {Word::kBatchSendRecv, "HcclBatchSendRecv", {kSrc, kCount, kCommunicator, kStream}},
};

std::string error_text(int) {
    static const auto recent = function<const char *(*)()>(Part::kRuntime, "aclGetRecentErrMsg");
    const char *text = recent ? recent() : nullptr;
    return text ? text : "";
}

void describe(int device, InfiniDeviceInfo *info) {
    constexpr int kCores = 0, kL2 = 2;  // aclDeviceInfo
    using Name = const char *(*)();
    using Capability = int (*)(uint32_t, int, int64_t *);
    static const auto soc = function<Name>(Part::kRuntime, "aclrtGetSocName");
    static const auto ask = function<Capability>(Part::kRuntime, "aclGetDeviceCapability");
    if (const char *name = soc ? soc() : nullptr)
        snprintf(info->name, sizeof info->name, "%s", name);
    int64_t value = 0;
    if (ask && ask(uint32_t(device), kCores, &value) == 0) info->multiprocessors = int(value);
    if (ask && ask(uint32_t(device), kL2, &value) == 0) info->l2_bytes = int(value);
}

const char *hccl_error(int code) {
    static const auto text =
        function<const char *(*)(int)>(Part::kCollectives, "HcclGetErrorString");
    return text ? text(code) : nullptr;
}

const CollectiveFacts kCollectives = {
    4108,
    {{INFINI_DTYPE_I8, 0},
     {INFINI_DTYPE_I16, 1},
     {INFINI_DTYPE_I32, 2},
     {INFINI_DTYPE_F16, 3},
     {INFINI_DTYPE_F32, 4},
     {INFINI_DTYPE_I64, 5},
     {INFINI_DTYPE_U64, 6},
     {INFINI_DTYPE_U8, 7},
     {INFINI_DTYPE_U16, 8},
     {INFINI_DTYPE_U32, 9},
     {INFINI_DTYPE_F64, 10},
     {INFINI_DTYPE_BF16, 11}},
    {{INFINICCL_SUM, 0}, {INFINICCL_PROD, 1}, {INFINICCL_MAX, 2}, {INFINICCL_MIN, 3}},
    true,
    hccl_error,
};

}  // namespace

const Vendor vendor = {
    "ascend",
    "Huawei Ascend",
    "ASCEND_HOME_PATH|ASCEND_TOOLKIT_HOME|ASCEND_HOME",
    "/usr/local/Ascend/ascend-toolkit/latest|/usr/local/Ascend/cann",
    "lib64|runtime/lib64",
    {{"the CANN runtime", "libascendcl.so", "", true},
     {"the CANN operator library", "libopapi.so", "libnnopbase.so", true},
     {"HCCL", "libhccl.so", "", true, "HcclGetRootInfo"}},
    kRows,
    int(std::size(kRows)),
    {1, 2, 3},
    {},
    false,
    {100002},
    {{100000, infinirtErrorInvalidValue},
     {100001, infinirtErrorInitializationError},
     {200000, infinirtErrorMemoryAllocation},
     {207001, infinirtErrorMemoryAllocation},
     {107002, infinirtErrorDeviceUninitialized},
     {500003, infinirtErrorUnknown}},
    error_text,
    describe,
    ascend::plan,
    &kCollectives,
    "aclnnFusedInferAttentionScoreV3 (medium: that caches of [blocks, heads, rows, size] go with "
    "its "
    "layout TND; documents disagree)",
    ascend::operator_doubts,
};

}  // namespace infini::vendor_runtime
