// MLA over selected entries of an e4m3 cache: fp8_sparse_mla.
#include "../kernel.h"
#include "flash.h"
#include "mla.h"

namespace infini::cpu {
namespace {

// Reads the entries that the indices select; those outside the cache are hidden. Values are the
// leading elements of keys.
struct EntryReader {
    const char *cache;
    int64_t entries, stride;  // in bytes
    const int32_t *indices;
    int64_t index_stride;

    KeyTile operator()(BlockScratch &scratch, int64_t t, int64_t count) const {
        KeyTile tile{scratch.k, scratch.k, kLatentDepth, kLatentDepth, nullptr};
        for (int64_t i = 0; i < count; ++i) {
            int64_t index = indices[(t + i) * index_stride];
            float *to = scratch.k + i * kLatentDepth;
            bool known = index >= 0 && index < entries;
            if (!known && !tile.hidden) {
                std::memset(scratch.hidden, 0, size_t(count));
                tile.hidden = scratch.hidden;
            }
            if (known) {
                read_entry(to, cache + index * stride);
            } else {
                scratch.hidden[i] = 1;
                std::fill_n(to, kLatentDepth, 0.0f);
            }
        }
        return tile;
    }
};

std::unique_ptr<Plan> plan_sparse_mla(const Operation &operation) {
    Shape out = operation.tensor(0), q = operation.tensor(1), cache = operation.tensor(2);
    Shape indices = operation.tensor(3), lengths = operation.tensor(4);
    Heads h;
    h.dtype = q.dtype, h.heads = 1, h.group = q.size[1];
    h.depth = kLatentDepth, h.value_depth = kLatent;
    h.q_head = q.stride[1], h.out_head = out.stride[1];
    h.scale = float(operation.number(0)), h.invariant = operation.batch_invariant();
    int64_t tokens = q.size[0];
    Division division(h, tokens, tokens * h.group, h.group, indices.size[2]);
    return make_plan(
        [=](const Arguments &a) {
            auto find = [&](int64_t t) {
                Sequence s{a.pointer<const char>(1) + t * q.stride[0] * 2,
                           a.pointer<char>(0) + t * out.stride[0] * 2,
                           1,
                           0,
                           {}};
                // A count that exceeds the number of indices is clamped.
                s.keys = limited(lengths.dtype, a.pointer<const void>(4), t * lengths.stride[0],
                                 indices.size[2]);
                s.rows.table = a.pointer<const int32_t>(3) + t * indices.stride[0];
                return s;
            };
            auto attend = [&](const Heads &heads, const Sequence &sequence, const Block &block,
                              char *memory) {
                EntryReader read{a.pointer<const char>(2), cache.size[0], cache.stride[0],
                                 static_cast<const int32_t *>(sequence.rows.table),
                                 indices.stride[2]};
                attend_rows<bf16>(
                    heads, sequence, block, memory,
                    [&](BlockScratch &scratch, int64_t begin, int64_t end, auto &load, auto &emit) {
                        wide_block(scratch, begin, end, read, load, emit);
                    });
            };
            attend_all(h, division, a.workspace(), find, attend);
        },
        division.workspace());
}
INFINI_KERNEL("fp8_sparse_mla", plan_sparse_mla);

}  // namespace
}  // namespace infini::cpu
