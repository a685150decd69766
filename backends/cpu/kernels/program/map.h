// Elementwise maps. The innermost dimension is cut into blocks; operands in the form that functors
// require (right type, stride 1) are used in place, others go through buffers. map_plan.cc decides
// how, map.cc runs it.
#pragma once

#include "program/runner.h"

namespace infini::cpu::program {

constexpr int64_t kTileRows = 32, kTileColumns = 64;
constexpr int64_t kScratch = 64 << 10;  // bytes of the buffers of a block

class Map final : public Runner {
public:
    explicit Map(LoopNest nest);
    void run(const Arguments &arguments, char *workspace) const override;

private:
    enum Access : uint8_t { kUnused, kDirect, kSplat, kGather };
    struct Task;
    struct Jumps {
        int64_t by[kDims] = {};
    };

    int inner() const { return nest_.kept.count - 1; }
    int64_t outer_total() const {
        int64_t product = 1;
        for (int i = 0; i < inner() - int(tile_); ++i) product *= nest_.kept.size[i];
        return product;
    }

    void move_dimension(int from, int to);
    void choose_direct();
    bool choose_packed();
    void choose_access();
    void choose_tile();
    void choose_blocks();
    void choose_jumps();
    void choose_pairs();
    void pair(const std::vector<size_t> &slots);

    LoopNest nest_;
    // How blocks are formed: of one row; of several short rows, packed one after the other; tiles of
    // the two innermost dimensions.
    bool packed_ = false, tile_ = false;
    bool direct_ = false;  // functors read and write elements in their storage type
    bool unbuffered_ = false, repeats_ = false;
    std::vector<Jumps> jumps_;  // by slot
    std::vector<Access> access_;
    std::vector<int> buffer_, splat_;
    std::vector<char> reads_, writes_;
    std::vector<size_t> gathered_, scattered_;
    std::vector<int> partner_;   // by slot: one that may be interleaved with it in memory, or -1
    int splats_ = 0, raw_ = -1;  // the buffer of packed elements that are not values
    int64_t block_ = 0, buffer_bytes_ = 0, tile_rows_ = 0, tile_columns_ = 0, grain_ = 0;
};

}  // namespace infini::cpu::program
