// Simulated libhccl.so.
#include "accelerator/collectives.h"
#include "facts.h"
#include "infinicore.h"

using namespace simulated;
using namespace ascend;

struct HcclSendRecvItem {
    int32_t type;
    void *buf;
    uint64_t count;
    HcclDataType dataType;
    uint32_t remoteRank;
};

namespace {

const Numbers kNumbers = {{{data_type_int8, INFINI_DTYPE_I8},
                           {data_type_int16, INFINI_DTYPE_I16},
                           {data_type_int32, INFINI_DTYPE_I32},
                           {data_type_float16, INFINI_DTYPE_F16},
                           {data_type_float32, INFINI_DTYPE_F32},
                           {data_type_int64, INFINI_DTYPE_I64},
                           {data_type_uint64, INFINI_DTYPE_U64},
                           {data_type_uint8, INFINI_DTYPE_U8},
                           {data_type_uint16, INFINI_DTYPE_U16},
                           {data_type_uint32, INFINI_DTYPE_U32},
                           {data_type_float64, INFINI_DTYPE_F64},
                           {data_type_bfloat16, INFINI_DTYPE_BF16}},
                          reduce_op_sum,
                          reduce_op_prod,
                          reduce_op_max,
                          reduce_op_min,
                          result_parameter,
                          result_internal};

int collect(const char *function, HcclComm comm, aclrtStream stream, const Collective &work,
            int type, int reduction = reduce_op_sum) {
    return simulated::collect(kNumbers, function, comm, stream, work, type, reduction);
}

}  // namespace

extern "C" {

const char *HcclGetErrorString(HcclResult code) {
    return code == result_parameter ? "parameter error" : "a simulated failure";
}

HcclResult HcclGetRootInfo(HcclRootInfo *info) {
    if (int code = begin(__func__)) return code;
    make_id(info, sizeof *info);
    return 0;
}

HcclResult HcclCommInitRootInfo(uint32_t ranks, const HcclRootInfo *info, uint32_t rank,
                                HcclComm *comm) {
    if (int code = begin(__func__)) return code;
    if (device() < 0) return result_parameter;
    *comm = join(info, sizeof *info, device(), int(ranks), int(rank));
    return *comm ? 0 : result_timeout;
}

HcclResult HcclCommInitAll(uint32_t ranks, int32_t *devices, HcclComm *comms) {
    if (int code = begin(__func__)) return code;
    return join_all(int(ranks), devices, comms) ? 0 : result_internal;
}

HcclResult HcclCommDestroy(HcclComm comm) {
    if (int code = begin(__func__)) return code;
    return leave(static_cast<Communicator *>(comm)) ? 0 : result_internal;
}

HcclResult HcclAllReduce(void *send, void *recv, uint64_t count, HcclDataType type, HcclReduceOp op,
                         HcclComm comm, aclrtStream stream) {
    return collect(__func__, comm, stream, {Kind::kAllReduce, send, recv, count}, type, op);
}

HcclResult HcclReduce(void *send, void *recv, uint64_t count, HcclDataType type, HcclReduceOp op,
                      uint32_t root, HcclComm comm, aclrtStream stream) {
    return collect(__func__, comm, stream, {Kind::kReduce, send, recv, count, 0, 0, int(root)},
                   type, op);
}

HcclResult HcclBroadcast(void *buffer, uint64_t count, HcclDataType type, uint32_t root,
                         HcclComm comm, aclrtStream stream) {
    return collect(__func__, comm, stream,
                   {Kind::kBroadcast, buffer, buffer, count, 0, 0, int(root)}, type);
}

HcclResult HcclAllGather(void *send, void *recv, uint64_t count, HcclDataType type, HcclComm comm,
                         aclrtStream stream) {
    return collect(__func__, comm, stream, {Kind::kAllGather, send, recv, count}, type);
}

HcclResult HcclReduceScatter(void *send, void *recv, uint64_t count, HcclDataType type,
                             HcclReduceOp op, HcclComm comm, aclrtStream stream) {
    return collect(__func__, comm, stream, {Kind::kReduceScatter, send, recv, count}, type, op);
}

HcclResult HcclSend(void *buffer, uint64_t count, HcclDataType type, uint32_t peer, HcclComm comm,
                    aclrtStream stream) {
    return collect(__func__, comm, stream, {Kind::kSend, buffer, nullptr, count, 0, 0, int(peer)},
                   type);
}

HcclResult HcclRecv(void *buffer, uint64_t count, HcclDataType type, uint32_t peer, HcclComm comm,
                    aclrtStream stream) {
    return collect(__func__, comm, stream,
                   {Kind::kReceive, nullptr, buffer, count, 0, 0, int(peer)}, type);
}

HcclResult HcclBatchSendRecv(HcclSendRecvItem *items, uint32_t count, HcclComm comm,
                             aclrtStream stream) {
    constexpr int kSend = 0;
    int code = 0;
    start_group();
    for (const auto *item = items; item < items + count; ++item) {
        const Kind kind = item->type == kSend ? Kind::kSend : Kind::kReceive;
        const int one = collect(
            __func__, comm, stream,
            {kind, item->buf, item->buf, item->count, 0, 0, int(item->remoteRank)}, item->dataType);
        if (one) code = one;
    }
    const int ended = end_group(result_internal);
    return code ? code : ended;
}

}  // extern "C"
