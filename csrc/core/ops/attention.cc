// Attention over dense, packed and paged keys.
#include <cmath>
#include <limits>

#include "infinicore/ops/flash_attention.hpp"
#include "infinicore/ops/matmul.hpp"
#include "infinicore/ops/mha.hpp"
#include "infinicore/ops/mha_kvcache.hpp"
#include "infinicore/ops/mha_varlen.hpp"
#include "infinicore/ops/paged_attention.hpp"
#include "infinicore/ops/paged_attention_prefill.hpp"
#include "steps.h"

namespace infinicore::op {

using namespace detail;

namespace {

std::optional<Tensor> slopes_of(const std::optional<Tensor> &slopes) {
    if (!slopes || !*slopes) return std::nullopt;
    return cast_to(*slopes, DataType::F32);
}

Tensor whole(const Tensor &tensor) { return cast_to(tensor, DataType::I32); }

Tensor heads_first(const Tensor &tensor) { return tensor->permute({0, 2, 1, 3}); }

// Queries and keys [B, H, L, D] for which there is no operator: softmax(scale * q k^T + bias) v.
Tensor composed(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &slopes,
                float scale, bool is_causal) {
    const Size batch = q->shape()[0], heads = q->shape()[1], length = q->shape()[2];
    const Size keys = k->shape()[2], key_heads = k->shape()[1], group = heads / key_heads;
    const auto folded = [&](const Tensor &t, Size rows) {
        return reshape(at_least_f32(t), {batch * key_heads, rows, t->shape()[3]});
    };
    const Tensor rows = folded(q, group * length), columns = folded(k, keys);
    Tensor scores = matmul(rows, columns->permute({0, 2, 1}), scale);
    scores = scores->view({batch, heads, length, keys});
    const Tensor of_keys = count_from(q, keys, DataType::I64, 0, 1);
    const Tensor of_queries =
        count_from(q, length, DataType::I64, double(keys) - double(length), 1)->view({length, 1});
    const Tensor distance = make("sub", {of_keys, of_queries});
    if (slopes) {
        const Tensor steps = cast_to(make("abs", {distance}), scores->dtype());
        const Tensor slope = cast_to(slopes, scores->dtype())->view({heads, 1, 1});
        scores = make("sub", {scores, make("mul", {slope, steps})});
    }
    Tensor hidden;
    if (is_causal) {
        hidden = make("greater", {distance, full(q, DataType::I64, 0)});
        const double nothing = -std::numeric_limits<double>::infinity();
        scores = make("where", {hidden, full(q, scores->dtype(), nothing), scores});
    }
    Tensor weights = make("softmax", {scores}, {integer(3)});
    // A query that attends to no key gives NaN, which is replaced by zeros.
    if (hidden) weights = make("where", {hidden, full(q, weights->dtype(), 0), weights});
    const Tensor mixed =
        matmul(weights->view({batch * key_heads, group * length, keys}), folded(v, keys), 1.0f);
    return mixed->view({batch, heads, length, v->shape()[3]});
}

}  // namespace

// q [B, Lq, Hq, D], k [B, Lk, Hkv, D], v [B, Lk, Hkv, E]; the last query attends to all keys.
void mha_(Tensor out, const Tensor &q, const Tensor &k, const Tensor &v,
          std::optional<Tensor> alibi_slopes, float scale, bool is_causal) {
    INFINI_NEED_TENSORS(out, q, k, v);
    need_rank("mha_", "q", q, 4);
    need_rank("mha_", "k", k, 4);
    need_rank("mha_", "v", v, 4);
    if (k->shape()[2] == 0 || q->shape()[2] % k->shape()[2] != 0)
        refuse_shape("mha_", "q", q, "a multiple of the key heads");
    const bool has_slopes = alibi_slopes && *alibi_slopes;
    if (!has_slopes && v->shape()[3] == k->shape()[3] && q->dtype() != DataType::F64)
        return flash_attention_(heads_first(out), heads_first(q), heads_first(k), heads_first(v),
                                Tensor(), scale, is_causal);
    const Tensor mixed = composed(heads_first(q), heads_first(k), heads_first(v),
                                  has_slopes ? *alibi_slopes : Tensor(), scale, is_causal);
    store("mha_", "out", out, heads_first(mixed));
}

Tensor mha(const Tensor &q, const Tensor &k, const Tensor &v, std::optional<Tensor> alibi_slopes,
           float scale, bool is_causal) {
    INFINI_NEED_TENSORS(q, k, v);
    need_rank("mha", "q", q, 4);
    need_rank("mha", "v", v, 4);
    const Shape &sizes = q->shape();
    Tensor out = empty_like(q, {sizes[0], sizes[1], sizes[2], v->shape()[3]});
    mha_(out, q, k, v, std::move(alibi_slopes), scale, is_causal);
    return out;
}

// q [tokens, Hq, D] in sequences; keys packed likewise, or in pages [pages, block_size, Hkv, D].
void mha_varlen_(Tensor out, const Tensor &q, const Tensor &k, const Tensor &v,
                 const Tensor &cum_seqlens_q, const Tensor &cum_seqlens_k,
                 std::optional<Tensor> block_table, int, int max_seqlen_k,
                 std::optional<Tensor> alibi_slopes, float scale) {
    INFINI_NEED_TENSORS(out, q, k, v, cum_seqlens_q, cum_seqlens_k);
    need_rank("mha_varlen_", "q", q, 3);
    const Tensor bounds_q = whole(cum_seqlens_q), bounds_k = whole(cum_seqlens_k);
    const Size bounds = bounds_k->numel();
    const auto lengths = [&] {
        return make("sub", {part(bounds_k, 0, 1, bounds - 1), part(bounds_k, 0, 0, bounds - 1)});
    };
    if (block_table && *block_table) {
        const Tensor tables = whole(*block_table);
        // Some callers pass lengths instead of their cumulative sums.
        const Tensor counts = bounds == tables->shape()[0] ? bounds_k : lengths();
        return paged_attention_prefill_(out, q, heads_first(k), heads_first(v), tables, counts,
                                        bounds_q, slopes_of(alibi_slopes), scale);
    }
    need_rank("mha_varlen_", "k", k, 3);
    const Size tokens = k->shape()[0];
    const Size longest = max_seqlen_k > 0 ? std::min(tokens, Size(max_seqlen_k)) : tokens;
    // Packed keys are a paged cache with one row per page; a sequence's pages are consecutive.
    const Tensor begins = part(bounds_k, 0, 0, bounds - 1)->view({bounds - 1, 1});
    const Tensor tables = make("add", {begins, count_from(q, longest, DataType::I32, 0, 1)});
    paged_attention_prefill_(out, q, k->unsqueeze(2), v->unsqueeze(2), tables, lengths(), bounds_q,
                             slopes_of(alibi_slopes), scale);
}

Tensor mha_varlen(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &cum_seqlens_q,
                  const Tensor &cum_seqlens_k, std::optional<Tensor> block_table, int max_seqlen_q,
                  int max_seqlen_k, std::optional<Tensor> alibi_slopes, float scale) {
    INFINI_NEED_TENSORS(q, k, v, cum_seqlens_q, cum_seqlens_k);
    need_rank("mha_varlen", "q", q, 3);
    Tensor out = empty_like(q, {q->shape()[0], q->shape()[1], v->shape().back()});
    mha_varlen_(out, q, k, v, cum_seqlens_q, cum_seqlens_k, std::move(block_table), max_seqlen_q,
                max_seqlen_k, std::move(alibi_slopes), scale);
    return out;
}

// The last Lq tokens of each sequence, q [B, Lq, Hq, D], over pages [pages, block_size, Hkv, D].
void mha_kvcache_(Tensor out, const Tensor &q, const Tensor &k_cache, const Tensor &v_cache,
                  const Tensor &seqlens_k, const Tensor &block_table,
                  std::optional<Tensor> alibi_slopes, float scale) {
    INFINI_NEED_TENSORS(out, q, k_cache, v_cache, seqlens_k, block_table);
    need_rank("mha_kvcache_", "q", q, 4);
    need_rank("mha_kvcache_", "k_cache", k_cache, 4);
    const Size batch = q->shape()[0], count = q->shape()[1], heads = q->shape()[2];
    const Shape rows{batch * count, heads, v_cache->shape().back()};
    const Tensor queries = reshape(q, {batch * count, heads, q->shape()[3]});
    const Tensor keys = heads_first(k_cache), values = heads_first(v_cache);
    const Tensor lengths = whole(seqlens_k), tables = whole(block_table);
    const bool fits = is_viewable(out, rows);
    const Tensor made = fits ? out->view(rows) : empty_like(out, rows);
    if (count == 1)
        paged_attention_(made, queries, keys, values, tables, lengths, slopes_of(alibi_slopes),
                         scale);
    else
        paged_attention_prefill_(made, queries, keys, values, tables, lengths,
                                 count_from(q, batch + 1, DataType::I32, 0, double(count)),
                                 slopes_of(alibi_slopes), scale);
    if (!fits) out->copy_from(made->view(out->shape()));
}

Tensor mha_kvcache(const Tensor &q, const Tensor &k_cache, const Tensor &v_cache,
                   const Tensor &seqlens_k, const Tensor &block_table,
                   std::optional<Tensor> alibi_slopes, float scale) {
    INFINI_NEED_TENSORS(q, k_cache, v_cache, seqlens_k, block_table);
    need_rank("mha_kvcache", "q", q, 4);
    const Shape &sizes = q->shape();
    Tensor out = empty_like(q, {sizes[0], sizes[1], sizes[2], v_cache->shape().back()});
    mha_kvcache_(out, q, k_cache, v_cache, seqlens_k, block_table, std::move(alibi_slopes), scale);
    return out;
}

}  // namespace infinicore::op
