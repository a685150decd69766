// Attention of each batch entry over its own number of keys, which is in device memory: one call of
// aclnnPromptFlashAttentionV3 per entry.
#include <algorithm>

#include "backends/ascend/cached.h"
#include "backends/ascend/function.h"
#include "backends/vendor_runtime/host_values.h"
#include "backends/vendor_runtime/row_parts.h"

namespace infini::vendor_runtime::ascend {
namespace {

constexpr int64_t kUnlimited = 2147483647, kRightDownCausal = 3, kNoSparsity = 0;
constexpr int64_t kHighPrecision = 0, kMaskSide = 2048;

// One entry of a batch, from row `begin` up to `end`.
struct View {
    View(const Shape &of, void *data, int64_t entry, int64_t begin, int64_t end) : shape(of) {
        shape.size[0] = 1;
        shape.size[2] = end - begin;
        const auto element = int64_t(infiniSizeOf(infiniDtype_t(of.dtype)));
        memory =
            static_cast<char *>(data) + (entry * of.stride[0] + begin * of.stride[2]) * element;
    }
    TensorObject object() const { return {shape, memory}; }
    Shape shape;
    char *memory;
};

class LengthAttention final : public LibraryPlan {
public:
    LengthAttention(int device, const Operation &o)
        : device_(device),
          out_(o.tensor(0)),
          q_(o.tensor(1)),
          k_(o.tensor(2)),
          v_(o.tensor(3)),
          lengths_(o.tensor(4)),
          scale_(o.number(0)),
          causal_(o.integer(1) != 0),
          attend_("aclnnPromptFlashAttentionV3"),
          clear_("aclnnInplaceZero"),
          own_(device) {
        reads_memory = bool(lengths_);
        if (causal_) {
            const Extra mask = causal_mask(kMaskSide, kMaskSide, 0);
            mask_shape_ = mask.shape;
            mask_ = Constant::of(device, mask.content);
        }
    }

    int run(void *stream, const Arguments &arguments, const char **call) const override {
        const int64_t queries = q_.size[2], keys = k_.size[2];
        if (q_.size[0] * q_.size[1] * queries == 0) return 0;
        std::vector<int64_t> totals(size_t(q_.size[0]), keys);
        *call = "copying lengths to the host";
        if (lengths_ && !read_integers(device_, lengths_, arguments.pointer<void>(4), &totals))
            return kExplained;
        for (int64_t b = 0; b < q_.size[0]; ++b) {
            const int64_t total = std::clamp<int64_t>(totals[size_t(b)], 0, keys);
            // The first queries have no visible keys, and give zeros.
            const int64_t begin = total == 0 ? queries
                                  : causal_  ? std::max<int64_t>(0, queries - total)
                                             : 0;
            auto view = [&](const Shape &of, int index, int64_t from, int64_t to) {
                return View(of, arguments.pointer<void>(index), b, from, to);
            };
            if (begin > 0)
                if (int code = clear(stream, view(out_, 0, 0, begin), call)) return code;
            if (begin == queries) continue;
            if (int code =
                    attend(stream, view(out_, 0, begin, queries), view(q_, 1, begin, queries),
                           view(k_, 2, 0, total), view(v_, 3, 0, total), call))
                return code;
        }
        return 0;
    }

private:
    int clear(void *stream, const View &out, const char **call) const {
        const TensorObject result = out.object();
        Call c;
        c.pointer(result);
        return clear_.run(c, stream, nullptr, 0, own_, call);
    }

    int attend(void *stream, const View &out, const View &q, const View &k, const View &v,
               const char **call) const {
        const TensorObject result = out.object(), query = q.object(), key = k.object(),
                           value = v.object();
        const TensorObject mask(mask_shape_, mask_ ? mask_->memory : nullptr);
        Call c;
        c.pointer(query), c.pointer(key), c.pointer(value);
        c.word(0);  // pseShift
        c.pointer(causal_ ? static_cast<aclTensor *>(mask) : nullptr);
        for (int i = 0; i < 7; ++i) c.word(0);  // lengths; scales and offsets of quantised tensors
        c.word(uintptr_t(q_.size[1])), c.real(scale_), c.word(kUnlimited), c.word(kUnlimited);
        c.pointer("BNSD"), c.word(uintptr_t(k_.size[1]));
        c.word(uintptr_t(causal_ ? kRightDownCausal : kNoSparsity)), c.word(kHighPrecision);
        c.pointer(result);
        return attend_.run(c, stream, nullptr, 0, own_, call);
    }

    const int device_;
    const Shape out_, q_, k_, v_, lengths_;
    Shape mask_shape_ = dense_shape(INFINI_DTYPE_BOOL, {1, 1});
    const double scale_;
    const bool causal_;
    std::shared_ptr<const Constant> mask_;
    const Function attend_, clear_;
    const OwnWorkspace own_;
};

}  // namespace

std::unique_ptr<LibraryPlan> plan_attention_with_lengths(int device, const Operation &o) {
    const Tensor q = o.tensor(1);
    const char *words = nullptr;
    if (q.dtype != INFINI_DTYPE_F16 && q.dtype != INFINI_DTYPE_BF16)
        words = "F16 or BF16";
    else if (q.size(-1) % 16 || q.size(-1) > 512)
        words = "heads whose size is a multiple of 16, 512 at most";
    else if (!when::forward.holds(o))
        words = when::forward.words;
    if (words)
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                      std::string(o.name()) + ": aclnnPromptFlashAttentionV3 takes " + words};
    return std::make_unique<LengthAttention>(device, o);
}

}  // namespace infini::vendor_runtime::ascend
