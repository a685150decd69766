// Simulated libcncl.so.
#include "accelerator/collectives.h"
#include "facts.h"
#include "infinicore.h"

using namespace simulated;
using namespace cambricon;

namespace {

const Numbers kNumbers = {{{data_type_float16, INFINI_DTYPE_F16},
                           {data_type_bfloat16, INFINI_DTYPE_BF16},
                           {data_type_float32, INFINI_DTYPE_F32},
                           {data_type_int8, INFINI_DTYPE_I8},
                           {data_type_int16, INFINI_DTYPE_I16},
                           {data_type_int32, INFINI_DTYPE_I32},
                           {data_type_int64, INFINI_DTYPE_I64},
                           {data_type_uint8, INFINI_DTYPE_U8},
                           {data_type_uint16, INFINI_DTYPE_U16},
                           {data_type_uint32, INFINI_DTYPE_U32},
                           {data_type_uint64, INFINI_DTYPE_U64}},
                          reduce_op_sum,
                          reduce_op_prod,
                          reduce_op_max,
                          reduce_op_min,
                          result_arguments,
                          result_async_error};

int collect(const char *function, cnclComm_t comm, cnrtQueue_t queue, const Collective &work,
            int type, int reduction = reduce_op_sum) {
    return simulated::collect(kNumbers, function, comm, queue, work, type, reduction);
}

}  // namespace

extern "C" {

const char *cnclGetErrorStr(cnclResult_t code) {
    return code == result_arguments ? "invalid arguments" : "a simulated failure";
}

cnclResult_t cnclGetCliqueId(cnclCliqueId_t id) {
    if (int code = begin(__func__)) return code;
    make_id(id, sizeof *id);
    return 0;
}

cnclResult_t cnclInitComms(cnclComm_t *comms, int count, const int *devices, const int *ranks,
                           int all, const cnclCliqueId_t id) {
    if (int code = begin(__func__)) return code;
    if (!id) {
        for (int i = 0; i < count; ++i)
            if (ranks[i] != i) return result_arguments;
        return count == all && join_all(all, devices, comms) ? 0 : result_arguments;
    }
    if (count != 1) return result_arguments;  // the simulation handles one at a time
    comms[0] = join(id, sizeof *id, devices[0], all, ranks[0]);
    return comms[0] ? 0 : result_async_error;
}

cnclResult_t cnclFreeComm(cnclComm_t comm) {
    if (int code = begin(__func__)) return code;
    return leave(static_cast<Communicator *>(comm)) ? 0 : result_device;
}

cnclResult_t cnclAbortComm(cnclComm_t comm) {
    if (int code = begin(__func__)) return code;
    return simulated::abort(static_cast<Communicator *>(comm)) ? 0 : result_device;
}

cnclResult_t cnclAllReduce(const void *send, void *recv, size_t count, cnclDataType_t type,
                           cnclReduceOp_t op, cnclComm_t comm, cnrtQueue_t queue) {
    return collect(__func__, comm, queue, {Kind::kAllReduce, send, recv, count}, type, op);
}

cnclResult_t cnclReduce(const void *send, void *recv, size_t count, cnclDataType_t type,
                        cnclReduceOp_t op, int root, cnclComm_t comm, cnrtQueue_t queue) {
    return collect(__func__, comm, queue, {Kind::kReduce, send, recv, count, 0, 0, root}, type, op);
}

cnclResult_t cnclBroadcast(const void *send, void *recv, size_t count, cnclDataType_t type,
                           int root, cnclComm_t comm, cnrtQueue_t queue) {
    return collect(__func__, comm, queue, {Kind::kBroadcast, send, recv, count, 0, 0, root}, type);
}

cnclResult_t cnclAllGather(const void *send, void *recv, size_t count, cnclDataType_t type,
                           cnclComm_t comm, cnrtQueue_t queue) {
    return collect(__func__, comm, queue, {Kind::kAllGather, send, recv, count}, type);
}

cnclResult_t cnclReduceScatter(const void *send, void *recv, size_t count, cnclDataType_t type,
                               cnclReduceOp_t op, cnclComm_t comm, cnrtQueue_t queue) {
    return collect(__func__, comm, queue, {Kind::kReduceScatter, send, recv, count}, type, op);
}

cnclResult_t cnclSend(void *buffer, const size_t count, cnclDataType_t type, const int peer,
                      const cnclComm_t comm, cnrtQueue_t queue) {
    return collect(__func__, comm, queue, {Kind::kSend, buffer, nullptr, count, 0, 0, peer}, type);
}

cnclResult_t cnclRecv(void *buffer, const size_t count, cnclDataType_t type, const int peer,
                      const cnclComm_t comm, cnrtQueue_t queue) {
    return collect(__func__, comm, queue, {Kind::kReceive, nullptr, buffer, count, 0, 0, peer},
                   type);
}

cnclResult_t cnclGroupStart(void) {
    if (int code = begin(__func__)) return code;
    start_group();
    return 0;
}

cnclResult_t cnclGroupEnd(void) {
    if (int code = begin(__func__)) return code;
    return end_group(result_async_error);
}

}  // extern "C"
