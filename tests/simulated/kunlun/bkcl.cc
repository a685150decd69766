// Simulated libbkcl.so. Types and reductions have the numbers of the bkcl.h next to it.
#include "accelerator/collectives.h"
#include "facts.h"
#include "infinicore.h"

using namespace simulated;

namespace {

constexpr int kWrong = 1, kFailed = 2;

const Numbers kNumbers = {{{BKCL_UINT8, INFINI_DTYPE_U8},
                           {BKCL_INT32, INFINI_DTYPE_I32},
                           {BKCL_INT64, INFINI_DTYPE_I64},
                           {BKCL_FLOAT16, INFINI_DTYPE_F16},
                           {BKCL_FLOAT, INFINI_DTYPE_F32},
                           {BKCL_FLOAT64, INFINI_DTYPE_F64},
                           {BKCL_BFLOAT16, INFINI_DTYPE_BF16}},
                          BKCL_ADD,
                          BKCL_PRODUCT,
                          BKCL_MAX,
                          BKCL_MIN,
                          kWrong,
                          kFailed};

int collect(const char *function, BKCLContext_t context, XPUStream stream, const Collective &work,
            int type, int reduction = BKCL_ADD) {
    return simulated::collect(kNumbers, function, context, stream, work, type, reduction);
}

}  // namespace

extern "C" {

BKCLResult_t bkcl_get_unique_id(BKCLUniqueId *id) {
    if (int code = begin(__func__)) return code;
    make_id(id, sizeof *id);
    return 0;
}

BKCLResult_t bkcl_init_rank(BKCLContext_t *context, int rank, int ranks, BKCLUniqueId *id) {
    if (int code = begin(__func__)) return code;
    *context = join(id, sizeof *id, device(), ranks, rank);
    return *context ? 0 : kFailed;
}

BKCLResult_t bkcl_comm_init_all(BKCLContext_t *contexts, int ranks, const int *devices) {
    if (int code = begin(__func__)) return code;
    return join_all(ranks, devices, contexts) ? 0 : kFailed;
}

BKCLResult_t bkcl_destroy_context(BKCLContext_t context) {
    if (int code = begin(__func__)) return code;
    return leave(static_cast<Communicator *>(context)) ? 0 : kFailed;
}

BKCLResult_t bkcl_comm_abort(BKCLContext_t context) {
    if (int code = begin(__func__)) return code;
    return simulated::abort(static_cast<Communicator *>(context)) ? 0 : kFailed;
}

BKCLResult_t bkcl_all_reduce(const BKCLContext_t context, const void *send, void *recv,
                             size_t count, BKCLDataType type, BKCLOp op, XPUStream stream) {
    return collect(__func__, context, stream, {Kind::kAllReduce, send, recv, count}, type, op);
}

BKCLResult_t bkcl_reduce(const BKCLContext_t context, const void *send, void *recv, size_t count,
                         BKCLDataType type, BKCLOp op, int root, XPUStream stream) {
    return collect(__func__, context, stream, {Kind::kReduce, send, recv, count, 0, 0, root}, type,
                   op);
}

BKCLResult_t bkcl_broadcast(const BKCLContext_t context, const void *send, void *recv, size_t count,
                            BKCLDataType type, int root, XPUStream stream) {
    return collect(__func__, context, stream, {Kind::kBroadcast, send, recv, count, 0, 0, root},
                   type);
}

BKCLResult_t bkcl_all_gather(const BKCLContext_t context, const void *send, size_t count,
                             void *recv, BKCLDataType type, XPUStream stream) {
    return collect(__func__, context, stream, {Kind::kAllGather, send, recv, count}, type);
}

BKCLResult_t bkcl_reduce_scatter(const BKCLContext_t context, const void *send, void *recv,
                                 size_t count, BKCLDataType type, BKCLOp op, XPUStream stream) {
    return collect(__func__, context, stream, {Kind::kReduceScatter, send, recv, count}, type, op);
}

BKCLResult_t bkcl_send(const BKCLContext_t context, const void *send, size_t count, int peer,
                       BKCLDataType type, XPUStream stream) {
    return collect(__func__, context, stream, {Kind::kSend, send, nullptr, count, 0, 0, peer},
                   type);
}

BKCLResult_t bkcl_recv(const BKCLContext_t context, void *recv, size_t count, int peer,
                       BKCLDataType type, XPUStream stream) {
    return collect(__func__, context, stream, {Kind::kReceive, nullptr, recv, count, 0, 0, peer},
                   type);
}

BKCLResult_t bkcl_group_start(void) {
    if (int code = begin(__func__)) return code;
    start_group();
    return 0;
}

BKCLResult_t bkcl_group_end(void) {
    if (int code = begin(__func__)) return code;
    return end_group(kFailed);
}

}  // extern "C"
