// Paged attention: aclnnIncreFlashAttentionV4 for one query of each sequence, and
// aclnnFusedInferAttentionScoreV3 for any number of them. Both require lengths on the host.
#include <algorithm>
#include <cstring>

#include "backends/ascend/cached.h"
#include "backends/ascend/function.h"
#include "backends/vendor_runtime/host_values.h"
#include "backends/vendor_runtime/paged_lists.h"
#include "backends/vendor_runtime/row_parts.h"
#include "backends/vendor_runtime/stream.h"

namespace infini::vendor_runtime::ascend {
namespace {

constexpr int64_t kUnlimited = 2147483647, kRightDownCausal = 3, kHighPrecision = 0;
constexpr int64_t kMaskSide = 2048;
constexpr size_t kAlignment = 512;

size_t bytes_of(const Shape &shape) {
    size_t count = 1;
    for (int i = 0; i < shape.ndim; ++i) count *= size_t(shape.size[i]);
    return count * infiniSizeOf(infiniDtype_t(shape.dtype));
}

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Tensors: out, q, keys, values, tables, lengths, then bounds (except for paged_attention), then
// slopes.
struct Operands {
    explicit Operands(const Operation &o) {
        const bool decodes = strcmp(o.name(), "paged_attention") == 0;
        bounds = decodes ? -1 : 6;
        slopes = decodes ? 6 : 7;
        single = decodes || !o.tensor(6);
        if (bounds >= 0 && !o.tensor(bounds)) bounds = -1;
    }
    int bounds, slopes;
    bool single;
};

// The supported cases, as text; null: this case is supported.
const char *unfit(const Operation &o, const Operands &operands) {
    const Tensor out = o.tensor(0), q = o.tensor(1), k = o.tensor(2), v = o.tensor(3);
    const int64_t most_rows = operands.single ? 512 : 128, most_size = operands.single ? 512 : 256;
    if (out.dtype != INFINI_DTYPE_F16 && out.dtype != INFINI_DTYPE_BF16) return "F16 or BF16";
    if (o.tensor(operands.slopes)) return "no slopes (ALiBi)";
    if (o.c.attribute_count > 1 && o.integer(1) > 0) return "no sliding window";
    if (o.c.attribute_count > 2 && o.number(2) > 0) return "no soft cap";
    if (k.size(3) != v.size(3)) return "keys and values of the same size";
    if (q.size(2) % 16 || q.size(2) > most_size)
        return operands.single ? "heads whose size is a multiple of 16, 512 at most"
                               : "heads whose size is a multiple of 16, 256 at most";
    if (k.size(2) % 16 || k.size(2) > most_rows)
        return operands.single ? "blocks whose size is a multiple of 16, 512 at most"
                               : "blocks whose size is a multiple of 16, 128 at most";
    if (q.size(1) / k.size(1) > 64) return "64 query heads for each key head at most";
    if (!k.contiguous() || !v.contiguous()) return "contiguous caches";
    return nullptr;
}

class PagedAttention final : public LibraryPlan {
public:
    PagedAttention(int device, const Operation &o, const Operands &operands)
        : operands_(operands),
          device_(device),
          out_(o.tensor(0)),
          q_(o.tensor(1)),
          keys_(o.tensor(2)),
          values_(o.tensor(3)),
          tables_(o.tensor(4)),
          lengths_(o.tensor(5)),
          scale_(o.number(0)),
          stages_q_(!o.tensor(1).contiguous()),
          stages_out_(!o.tensor(0).contiguous()),
          attend_(operands.single ? "aclnnIncreFlashAttentionV4"
                                  : "aclnnFusedInferAttentionScoreV3"),
          copy_("aclnnInplaceCopy"),
          own_(device) {
        reads_memory = true;
        if (operands.bounds >= 0) bounds_ = o.tensor(operands.bounds);
        if (!operands.single) {
            const Extra mask = causal_mask(kMaskSide, kMaskSide, 0);
            mask_shape_ = mask.shape;
            mask_ = Constant::of(device, mask.content);
        }
        // A sequence may be as short as one query.
        table_bytes_ = aligned(size_t(q_.size[0] * tables_.size[1]) * sizeof(int32_t));
        staged_bytes_ = aligned(bytes_of(q_));
        workspace = table_bytes_ + staged_bytes_ * (size_t(stages_q_) + size_t(stages_out_));
    }

    int run(void *stream, const Arguments &arguments, const char **call) const override {
        if (bytes_of(q_) == 0 || bytes_of(out_) == 0) return 0;
        *call = "copying lengths and tables to the host";
        PagedInput input;
        if (!read(arguments, &input)) return kExplained;
        const PagedLists lists = paged_lists(input);
        const bool sees_any = input.blocks > 0 && input.width > 0 &&
                              !(lists.silent.size() == 1 && lists.silent[0].first == 0 &&
                                lists.silent[0].second == input.queries);
        char *const tables = arguments.workspace(), *staged = tables + table_bytes_;
        void *q = arguments.pointer<void>(1), *out = arguments.pointer<void>(0);
        if (stages_q_) {
            if (int code = copy(stream, dense_shape(q_), staged, q_, q, call)) return code;
            q = staged;
            staged += staged_bytes_;
        }
        if (stages_out_) out = staged;
        if (sees_any) {
            *call = "copying the table of blocks to the device";
            if (copy_bytes(tables, device_, lists.tables.data(), -1,
                           lists.tables.size() * sizeof(int32_t)))
                return kExplained;
            if (int code = attend(stream, arguments, q, out, tables, lists, call)) return code;
        }
        if (int code = clear(stream, out, input.queries, sees_any, lists, call)) return code;
        if (!stages_out_) return 0;
        return copy(stream, out_, arguments.pointer<void>(0), dense_shape(out_), out, call);
    }

private:
    bool read(const Arguments &arguments, PagedInput *input) const {
        input->queries = q_.size[0];
        input->width = tables_.size[1];
        input->blocks = keys_.size[0];
        input->rows = keys_.size[2];
        input->single = operands_.single;
        auto get = [&](const Shape &shape, int index, std::vector<int64_t> *values) {
            return read_integers(device_, shape, arguments.pointer<void>(index), values);
        };
        if (!get(tables_, 4, &input->tables) || !get(lengths_, 5, &input->lengths)) return false;
        if (bounds_) return get(bounds_, operands_.bounds, &input->bounds);
        for (int64_t i = 0; i <= input->queries; ++i) input->bounds.push_back(i);
        return true;
    }

    int copy(void *stream, const Shape &to, void *to_data, const Shape &from, void *from_data,
             const char **call) const {
        const TensorObject target(to, to_data), source(from, from_data);
        Call arguments;
        arguments.pointer(target);
        arguments.pointer(source);
        return copy_.run(arguments, stream, nullptr, 0, own_, call);
    }

    int attend(void *stream, const Arguments &arguments, void *q, void *out, char *tables,
               const PagedLists &lists, const char **call) const {
        const int64_t tokens = q_.size[0], heads = q_.size[1], size = q_.size[2];
        const bool single = operands_.single;
        const Shape rows = single ? dense_shape(q_.dtype, {tokens, heads, 1, size})
                                  : dense_shape(q_.dtype, {tokens, heads, size});
        const TensorObject query(rows, q), result(rows, out);
        const TensorListObject keys(keys_, arguments.pointer<void>(2));
        const TensorListObject values(values_, arguments.pointer<void>(3));
        const TensorObject table(
            dense_shape(INFINI_DTYPE_I32, {int64_t(lists.ends.size()), tables_.size[1]}), tables);
        const ListObject ends(lists.ends), lengths(lists.lengths);
        const int64_t shared = keys_.size[1], block = keys_.size[2];
        Call c;
        c.pointer(query), c.pointer(keys), c.pointer(values);
        auto nothing = [&](int count) {
            for (int i = 0; i < count; ++i) c.word(0);
        };
        c.real(scale_);
        if (single) {
            nothing(2);  // pseShift, attenMask
            c.pointer(lengths);
            nothing(7);  // scales and offsets of quantised tensors
            c.pointer(table);
            nothing(1);  // kvPaddingSize
            c.word(uintptr_t(heads)), c.pointer("BNSD"), c.word(uintptr_t(shared));
            c.word(uintptr_t(block)), c.word(kHighPrecision), c.pointer(result);
            return attend_.run(c, stream, nullptr, 0, own_, call);
        }
        const TensorObject mask(mask_shape_, mask_->memory);
        nothing(1);  // pseShift
        c.pointer(mask), c.pointer(ends), c.pointer(lengths);
        nothing(7);  // scales and offsets of quantised tensors
        c.pointer(table);
        nothing(12);  // paddings, scales of quantised caches, shared prefixes, rotary parts
        c.word(uintptr_t(heads)), c.word(kUnlimited), c.word(kUnlimited), c.pointer("TND");
        c.word(uintptr_t(shared)), c.word(kRightDownCausal), c.word(kHighPrecision);
        c.word(uintptr_t(block));
        nothing(4);  // antiquantMode, softmaxLseFlag, keyAntiquantMode, valueAntiquantMode
        c.pointer(result);
        nothing(1);  // softmaxLse
        return attend_.run(c, stream, nullptr, 0, own_, call);
    }

    // Queries without visible keys give zeros.
    int clear(void *stream, void *out, int64_t queries, bool sees_any, const PagedLists &lists,
              const char **call) const {
        const size_t row = bytes_of(q_) / size_t(queries);
        Values values;
        values.stream = stream;
        *call = name_of(Word::kMemsetAsync);
        if (!sees_any) {
            values.dst = out;
            values.bytes = row * size_t(queries);
            return vendor_runtime::call(Word::kMemsetAsync, values);
        }
        for (const auto &[begin, end] : lists.silent) {
            values.dst = static_cast<char *>(out) + size_t(begin) * row;
            values.bytes = size_t(end - begin) * row;
            if (int code = vendor_runtime::call(Word::kMemsetAsync, values)) return code;
        }
        return 0;
    }

    const Operands operands_;
    const int device_;
    const Shape out_, q_, keys_, values_, tables_, lengths_;
    Shape bounds_, mask_shape_;
    const double scale_;
    const bool stages_q_, stages_out_;
    std::shared_ptr<const Constant> mask_;
    const Function attend_, copy_;
    const OwnWorkspace own_;
    size_t table_bytes_ = 0, staged_bytes_ = 0;
};

}  // namespace

std::unique_ptr<LibraryPlan> plan_paged_attention(int device, const Operation &operation) {
    const Operands operands(operation);
    if (const char *words = unfit(operation, operands))
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                      std::string(operation.name()) + ": " +
                          (operands.single ? "aclnnIncreFlashAttentionV4"
                                           : "aclnnFusedInferAttentionScoreV3") +
                          " takes " + words};
    return std::make_unique<PagedAttention>(device, operation, operands);
}

}  // namespace infini::vendor_runtime::ascend
