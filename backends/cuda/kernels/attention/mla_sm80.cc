// MLA (multi-head latent attention) and other large heads, from a cache of keys and values or of
// e4m3 entries.
#include <algorithm>

namespace infini::cuda {
namespace {

constexpr int64_t kMlaKeys = 32, kMlaPiece = 8, kEntryPitch = 672;
constexpr unsigned kMlaThreads = 256;
constexpr int64_t kMlaLeastRange = 256;  // keys

// A variant of the kernel that a case may need.
struct MlaSm80 {
    int64_t depth, value;
    bool alias, entries;  // values are the leading elements of keys; keys are entries
    int64_t tiles = 0, stages = 0;

    size_t shared() const {
        const int64_t rows = 16 * tiles, parts = 4 / tiles;
        const int64_t row = depth + kMlaPiece + (alias ? 0 : value + kMlaPiece);
        const int64_t stage = entries ? kMlaKeys * kEntryPitch : 2 * kMlaKeys * row;
        return size_t(2 * rows * (depth + kMlaPiece + kMlaKeys + kMlaPiece) +
                      4 * parts * rows * (kMlaKeys + 4) + stages * stage +
                      (entries ? 2 * kMlaKeys * row : 0));
    }
    // As many rows as there are, up to the maximum that fits.
    bool choose(int64_t rows, const Device &device) {
        for (tiles = rows > 32 ? 4 : rows > 16 ? 2 : 1; tiles > 0; tiles /= 2)
            for (stages = 3; stages > 1; --stages)
                if (shared() + 4096 <= device.shared_bytes) return true;
        return false;
    }
};

std::unique_ptr<Plan> plan_kernel(const AttentionCase &c, Device &device, const MlaSm80 &l) {
    Source source = c.source("attention/mla_sm80.cuh");
    source.constant("kDepth", l.depth).constant("kValue", l.value).constant("kM", l.tiles);
    source.constant("kStages", l.stages).constant("kAlias", l.alias);
    source.constant("kEntries", l.entries);
    auto kernel = device.compile(source);
    const int64_t rows = 16 * l.tiles;
    const int64_t blocks = c.sequences * c.heads * ((c.rows() + rows - 1) / rows);
    const int64_t slots =
        int64_t(device.multiprocessors) * kernel->resident_blocks(kMlaThreads, l.shared());
    const int64_t most = std::clamp<int64_t>(c.keys / kMlaLeastRange, 1, 128);
    AttentionParams fixed = c.params();
    if (l.entries) fixed.vector = fixed.vector && c.k_stride.batch % 16 == 0;  // in bytes
    fixed.splits = int32_t(choose_splits(blocks, slots, most));
    return plan_splits(c, device, kernel, fixed, blocks, kMlaThreads, l.shared());
}

}  // namespace

std::unique_ptr<Plan> plan_mla_sm80(const AttentionCase &c, Device &device, bool entries) {
    const bool half = c.q.dtype == INFINI_DTYPE_F16 || c.q.dtype == INFINI_DTYPE_BF16;
    if (!device.has_mma || !half || c.ragged() || c.value_depth > 512) return nullptr;
    MlaSm80 l{(c.depth + 15) / 16 * 16, (c.value_depth + 127) / 128 * 128, true, entries};
    const AttentionStrides &k = c.k_stride, &v = c.v_stride;
    // Dimensions of size one may have any stride.
    const bool maybe = c.value_depth <= c.depth && l.value <= l.depth && k.inner == v.inner &&
                       k.token == v.token && (k.batch == v.batch || c.pages == 1) &&
                       (k.head == v.head || c.heads == 1);
    std::unique_ptr<Plan> joint, apart;
    if (maybe && !entries) joint = plan_mla_sm90(c, device);
    if (maybe && !joint && l.choose(c.rows(), device)) joint = plan_kernel(c, device, l);
    if (entries) return joint;
    l.alias = false;
    if (!l.choose(c.rows(), device)) return nullptr;
    apart = plan_kernel(c, device, l);
    if (!joint) return apart;
    // Whether values are part of the keys is only known from their addresses.
    struct Either final : Plan {
        std::unique_ptr<Plan> joint, apart;
        int k_at, v_at;
        Error run(const Arguments &a, const Stream &stream) const override {
            const void *k = a.pointer<void>(k_at);
            const bool same =
                k == a.pointer<void>(v_at) && reinterpret_cast<uintptr_t>(k) % 16 == 0;
            return (same ? joint : apart)->run(a, stream);
        }
    };
    auto either = std::make_unique<Either>();
    either->workspace = std::max(joint->workspace, apart->workspace);
    either->joint = std::move(joint), either->apart = std::move(apart);
    either->k_at = c.k_at, either->v_at = c.v_at;
    return either;
}

}  // namespace infini::cuda
