// AWQ's and GPTQ's packing turned into Marlin's: a block for each run of 1024 codes, whose words are put
// together in shared memory. The host gives kBits, kBytesA and kAwq.
#include "marlin_rows_params.h"
#include "packed_params.h"

INFINI_ENTRY(infini::MarlinRepackParams, 256, 1) {
    using namespace infini;
    using Layout = MarlinLayout<kBits, kBytesA>;
    constexpr int kCodes = 32 / kBits;
    constexpr uint32_t kMask = (1u << kBits) - 1;
    INFINI_SHARED uint32_t words[Layout::kWords];
    const int across = p.n / Layout::kColumns;
    for (int64_t run = blockIdx.x; run < p.runs; run += gridDim.x) {
        for (int i = int(threadIdx.x); i < Layout::kWords; i += 256) words[i] = 0;
        __syncthreads();
        const int first = int(run / across) * Layout::kRows;
        const int column0 = int(run % across) * Layout::kColumns;
        for (int i = int(threadIdx.x); i < 1024; i += 256) {
            const int r = i / Layout::kColumns, c = i % Layout::kColumns;
            int row = first + r;
            const int column = column0 + c;
            uint32_t code = 0;
            if constexpr (kAwq) {
                const int j = column % kCodes;
                const int index = kBits == 4 ? j % 2 * 4 + j / 2 : j % 2 * 2 + j / 2;
                const int64_t at = int64_t(row) * (p.n / kCodes) + column / kCodes;
                code = p.from[at] >> (index * kBits) & kMask;
            } else {
                if (p.order) row = p.order[row];
                if (row >= 0 && row < p.k)
                    code = p.from[int64_t(row / kCodes) * p.n + column] >> (row % kCodes * kBits) &
                           kMask;
            }
            const MarlinPlace at = Layout::place(r, c);
            atomicOr(words + at.word, code << at.shift);
        }
        __syncthreads();
        for (int i = int(threadIdx.x); i < Layout::kWords; i += 256)
            p.to[run * Layout::kWords + i] = words[i];
        __syncthreads();
    }
}
