// Cambricon: the names, argument orders and enumerators of Neuware (CNRT, CNCL).
#include <cstdio>

#include "backends/cambricon/cnnl.h"
#include "backends/cambricon/operators.h"
#include "infiniccl.h"

namespace infini::vendor_runtime {
namespace {

using enum Arg;
constexpr int kDisableTiming = 2, kNotReady = 1, kBusy = 632014;

const Row kRows[] = {
    {Word::kGetDeviceCount, "cnrtGetDeviceCount", {kOut}},
    {Word::kSetDevice, "cnrtSetDevice", {kDevice}},
    {Word::kGetDevice, "cnrtGetDevice", {kOut}},
    {Word::kPeerAccess, "cnrtGetPeerAccessibility", {kOut, kDevice, kDevice2}, 0, false},
    {Word::kMalloc, "cnrtMalloc", {kOut, kBytes}},
    {Word::kFree, "cnrtFree", {kDst}},
    {Word::kMallocHost, "cnrtHostMalloc", {kOut, kBytes}},
    {Word::kFreeHost, "cnrtFreeHost", {kDst}},
    {Word::kMemcpy, "cnrtMemcpy", {kDst, kSrc, kBytes, kDirection}},
    {Word::kMemcpyAsync,
     "cnrtMemcpyAsync_V3|cnrtMemcpyAsync_V2|cnrtMemcpyAsync",
     {kDst, kSrc, kBytes, kStream, kDirection}},
    {Word::kMemcpyPeer, "cnrtMemcpyPeer", {kDst, kDevice, kSrc, kDevice2, kBytes}},
    {Word::kMemsetAsync, "cnrtMemsetAsync", {kDst, kValue, kBytes, kStream}},
    {Word::kMemGetInfo, "cnrtMemGetInfo", {kOut, kOut2}},
    {Word::kStreamCreate, "cnrtQueueCreate", {kOut}},
    {Word::kStreamDestroy, "cnrtQueueDestroy", {kStream}},
    {Word::kStreamSynchronize, "cnrtQueueSync", {kStream}},
    {Word::kStreamQuery, "cnrtQueueQuery", {kStream}},
    {Word::kStreamWaitEvent, "cnrtQueueWaitNotifier", {kEvent, kStream, kZero}},
    {Word::kEventCreate, "cnrtNotifierCreate", {kOut}},
    {Word::kEventCreateUntimed, "cnrtNotifierCreateWithFlags", {kOut, kConstant}, kDisableTiming},
    {Word::kEventRecord, "cnrtPlaceNotifier", {kEvent, kStream}},
    {Word::kEventQuery, "cnrtQueryNotifier", {kEvent}},
    {Word::kEventSynchronize, "cnrtWaitNotifier", {kEvent}},
    {Word::kEventElapsedTime, "cnrtNotifierElapsedTime", {kEvent, kEvent2, kOut}},

    {Word::kGetUniqueId, "cnclGetCliqueId", {kId}},
    {Word::kCommInitRank,
     "cnclInitComms",
     {kOut, kConstant, kDeviceList, kRankList, kRanks, kId},
     1},
    {Word::kCommInitAll, "cnclInitComms", {kOut, kRanks, kDeviceList, kRankList, kRanks, kZero}},
    {Word::kCommDestroy, "cnclFreeComm", {kCommunicator}},
    {Word::kCommAbort, "cnclAbortComm", {kCommunicator}, 0, false},
    {Word::kAllReduce, "cnclAllReduce", {kSrc, kDst, kCount, kType, kOp, kCommunicator, kStream}},
    {Word::kReduce, "cnclReduce", {kSrc, kDst, kCount, kType, kOp, kRoot, kCommunicator, kStream}},
    {Word::kBroadcast, "cnclBroadcast", {kSrc, kDst, kCount, kType, kRoot, kCommunicator, kStream}},
    {Word::kAllGather, "cnclAllGather", {kSrc, kDst, kCount, kType, kCommunicator, kStream}},
    {Word::kReduceScatter,
     "cnclReduceScatter",
     {kSrc, kDst, kCount, kType, kOp, kCommunicator, kStream}},
    {Word::kSend, "cnclSend", {kSrc, kCount, kType, kRoot, kCommunicator, kStream}},
    {Word::kRecv, "cnclRecv", {kDst, kCount, kType, kRoot, kCommunicator, kStream}},
    {Word::kGroupStart, "cnclGroupStart", {}},
    {Word::kGroupEnd, "cnclGroupEnd", {}},
};

std::string error_text(int code) {
    static const auto text = function<const char *(*)(int)>(Part::kRuntime, "cnrtGetErrorStr");
    const char *said = text ? text(code) : nullptr;
    return said ? said : "";
}

void describe(int device, InfiniDeviceInfo *info) {
    constexpr int kClusters = 0x205, kCoresOfCluster = 0x206, kMegabytes = 0x405;
    using Properties = int (*)(void *, int);
    using Attribute = int (*)(int *, int, int);
    static const auto properties = function<Properties>(Part::kRuntime, "cnrtGetDeviceProperties");
    static const auto ask = function<Attribute>(Part::kRuntime, "cnrtDeviceGetAttribute");
    char buffer[4096] = {};  // versions differ in length; the name comes first in all of them
    if (properties && properties(buffer, device) == 0)
        snprintf(info->name, sizeof info->name, "%.255s", buffer);
    int clusters = 0, cores = 0, megabytes = 0;
    if (!ask) return;
    if (ask(&clusters, kClusters, device) == 0 && ask(&cores, kCoresOfCluster, device) == 0)
        info->multiprocessors = clusters * cores;
    if (ask(&megabytes, kMegabytes, device) == 0) info->memory_bytes = size_t(megabytes) << 20;
}

const char *cncl_error(int code) {
    static const auto text = function<const char *(*)(int)>(Part::kCollectives, "cnclGetErrorStr");
    return text ? text(code) : nullptr;
}

const CollectiveFacts kCollectives = {
    136,
    {{INFINI_DTYPE_F16, 16},
     {INFINI_DTYPE_BF16, 17},
     {INFINI_DTYPE_F32, 18},
     {INFINI_DTYPE_I8, 32},
     {INFINI_DTYPE_I16, 33},
     {INFINI_DTYPE_I32, 34},
     {INFINI_DTYPE_I64, 35},
     {INFINI_DTYPE_U8, 48},
     {INFINI_DTYPE_U16, 49},
     {INFINI_DTYPE_U32, 50},
     {INFINI_DTYPE_U64, 51}},
    {{INFINICCL_SUM, 0}, {INFINICCL_PROD, 1}, {INFINICCL_MAX, 2}, {INFINICCL_MIN, 3}},
    false,
    cncl_error,
};

}  // namespace

const Vendor vendor = {
    "cambricon",
    "Cambricon MLU",
    "NEUWARE_HOME",
    "/usr/local/neuware",
    "lib64|lib",
    {{"the Cambricon runtime", "libcnrt.so"},
     {"CNNL", "libcnnl.so|libcnnl.so.1", "libcnnl_extra.so"},
     {"CNCL", "libcncl.so|libcncl.so.1", "", false, "cnclInitComms"}},
    kRows,
    int(std::size(kRows)),
    {0, 2, 1},
    {kNotReady, kBusy},
    false,
    {},
    {{100100, infinirtErrorMemoryAllocation},
     {100010, infinirtErrorMemoryAllocation},
     {100006, infinirtErrorInvalidValue},
     {100004, infinirtErrorNoDevice},
     {100050, infinirtErrorNotSupported}},
    error_text,
    describe,
    cambricon::plan,
    &kCollectives,
    "enumerators of CNNL: dtypes, CNNL_LAYOUT_ARRAY, CNNL_MATMUL_USE_STRIDE, "
    "CNNL_MATMUL_ALLOW_TF32 "
    "(medium: numbers of MLU-OPS, which mirrors it)",
    cambricon::operator_doubts,
    "cnnl.h|cnnl_extra.h",
};

}  // namespace infini::vendor_runtime
