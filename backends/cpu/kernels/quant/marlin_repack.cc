// Repacks AWQ's and GPTQ's weights into Marlin's layout.
#include <algorithm>

#include "../kernel.h"
#include "../threads.h"
#include "marlin_layout.h"

namespace infini::cpu {
namespace {

// Calls code(row, column) for every code and packs the results.
template <class Code>
void repack(const MarlinLayout &layout, int64_t k, int64_t n, uint32_t *output, const Code &code) {
    const int64_t across = n / layout.columns(), bands = k / layout.rows();
    parallel_for(size_t(bands * across), 4, [&](size_t first, size_t last) {
        for (int64_t run = int64_t(first); run < int64_t(last); ++run) {
            uint32_t *words = output + run * layout.words();
            std::fill(words, words + layout.words(), 0u);
            int64_t row = run / across * layout.rows(), column = run % across * layout.columns();
            for (int r = 0; r < int(layout.rows()); ++r) {
                for (int c = 0; c < int(layout.columns()); ++c) {
                    MarlinLayout::Place at = layout.place(r, c);
                    words[at.word] |= code(row + r, column + c) << at.index * layout.bits;
                }
            }
        }
    });
}

MarlinLayout repack_layout(const Operation &op, int64_t k, int64_t n) {
    MarlinLayout layout{int(op.integer(0)), op.integer(1) != 0};
    if (k % layout.rows() || n % 64) {
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                      "rows must be a multiple of 16, or of 32 for 8-bit activations, and columns "
                      "a multiple of 64"};
    }
    return layout;
}

std::unique_ptr<Plan> plan_awq_marlin_repack(const Operation &op) {
    Tensor input = op.tensor(1);
    int64_t k = input.size(0), words = input.size(1);
    int64_t codes = 32 / op.integer(0);
    MarlinLayout layout = repack_layout(op, k, words * codes);
    return make_plan([=](const Arguments &a) {
        const uint32_t *in = a.pointer<const uint32_t>(1);
        const uint32_t mask = (1u << layout.bits) - 1;
        repack(layout, k, words * codes, a.pointer<uint32_t>(0), [&](int64_t row, int64_t column) {
            int64_t j = column % codes;
            int64_t index = layout.bits == 4 ? j % 2 * 4 + j / 2 : j % 2 * 2 + j / 2;
            return in[row * words + column / codes] >> index * layout.bits & mask;
        });
    });
}

std::unique_ptr<Plan> plan_gptq_marlin_repack(const Operation &op) {
    Tensor input = op.tensor(1), perm = op.tensor(2);
    int64_t codes = 32 / op.integer(0), k = input.size(0) * codes, n = input.size(1);
    MarlinLayout layout = repack_layout(op, k, n);
    bool ordered = perm && perm.numel() > 0;
    if (ordered && perm.numel() != k) {
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "perm must be empty or name every row"};
    }
    return make_plan([=](const Arguments &a) {
        const uint32_t *in = a.pointer<const uint32_t>(1);
        const int32_t *from = ordered ? a.pointer<const int32_t>(2) : nullptr;
        const uint32_t mask = (1u << layout.bits) - 1;
        repack(layout, k, n, a.pointer<uint32_t>(0), [&](int64_t row, int64_t column) {
            if (from) row = from[row];
            if (row < 0 || row >= k) return 0u;
            return in[row / codes * n + column] >> row % codes * layout.bits & mask;
        });
    });
}

std::unique_ptr<Plan> plan_repack(const Operation &operation) {
    return operation.is("awq_marlin_repack") ? plan_awq_marlin_repack(operation)
                                             : plan_gptq_marlin_repack(operation);
}

INFINI_KERNEL("marlin_repack", plan_repack);

}  // namespace
}  // namespace infini::cpu
