// The text of a phase: its functors in sequence, preceded by loads and followed by stores. The
// loops over elements and rows are in device/program/*.cuh, which call this text.
//
// The text depends on dtypes, on the operands' layouts along the vectors (dense, uniform, strided),
// on the number of dimensions, and on the stages; sizes and strides are members of the parameter
// struct. So phases that differ only in size share a kernel. Everything is numbered in the order of
// its use.
#pragma once

#include <set>

#include "divide.h"
#include "kernels/program/launch.h"

namespace infini::cuda::program {

// The layout of a vector's elements.
enum class Access { kUniform, kDense, kStrided };

// The direction of vectors.
enum class Direction {
    kMap,    // the last kept dimension; there are no others
    kAlong,  // the last folded dimension: a thread has elements of one row
    kAcross  // the last kept dimension: a thread has one element of each of several rows
};

// Steps that process the elements together, and the row steps that follow them.
struct Pass {
    std::vector<int> stages;
    std::vector<int> rows;
};

inline bool is_arg(int fold) { return fold >= INFINI_FOLD_ARGMAX; }

class Composer {
public:
    Composer(const LoopNest &nest, const InfiniProgram &program, Direction direction);

    const LoopNest &nest() const { return nest_; }
    Direction direction() const { return direction_; }
    bool across() const { return direction_ == Direction::kAcross; }
    const std::vector<Pass> &passes() const { return passes_; }

    // ---- Widths ----

    // Elements per vector, at most `most`: one access of 16 bytes if strides allow it.
    int choose_width(int most) const;
    // Bytes per element that are loaded for operands that are not uniform.
    int dense_bytes() const;
    // Those of operands that differ for each row, and the number of such operands.
    int row_bytes() const;
    int row_tensors() const;
    int held_count() const;
    // Required alignment of an operand's pointer, in bytes.
    uint32_t alignment(int slot, int width) const;
    Access access(int slot) const { return access_[size_t(slot)]; }
    bool is_wide_index() const { return wide_index_; }
    // Kept dimension along which an input is contiguous although the vectors are not; -1: none.
    int turned_dimension() const;
    // Operands read through a tile in shared memory: those that are contiguous along the second to
    // last kept dimension.
    void turn();
    int turned_width(int slot, int most) const;

    // ---- Text ----

    // Structs and functions that every kernel of the phase has, except Params, which needs
    // `members`.
    std::string prologue(int width) const;
    // The members of operands: pointers, strides, sizes; and those that each run sets.
    void add_members(ParameterText &members, Launch &launch, int width) const;
    // One struct per pass. Recomputed: passes recompute the values that they need of earlier ones,
    // and the last one does all stores; otherwise values are held in registers.
    std::string pass_texts(bool recomputed) const;
    std::string map_text() const;
    // Called by map_tile.cuh: reads tiles of `tile` lines and columns.
    std::string tile_text(int tile, int width) const;
    // The offset at an index of each kept dimension, named a0, a1, ...
    std::string place_text() const;
    // The operand is neither read nor computed: the caller stores it in Held.
    void hold(int slot);
    std::string held_name(int slot) const { return "e" + std::to_string(number_[size_t(slot)]); }
    // Partial results of passes, by split and row: their sizes, and the members that point to them.
    size_t partial_bytes(int pass) const;
    void add_partials(ParameterText &members, Launch &launch, int64_t rows, int64_t splits,
                      const std::vector<int64_t> &starts) const;
    bool has_row_results() const;

private:
    struct Body {
        std::vector<int> stages;
        std::vector<char> folding, storing;
    };
    void number_operands();
    void number(int slot, bool by_row);
    void find_passes();
    void find_index_type();
    void find_held();
    int lane_dim() const;
    int64_t lane_stride(const Slot &slot) const;
    bool moves_kept(int slot) const;
    bool is_row_data(int slot) const;
    bool moves_folded(int slot) const;
    int64_t lane_size() const;

    Body recomputed_body(size_t pass) const;
    Body held_body(size_t pass) const;
    std::vector<int> fetched(const Body &body, const std::set<int> &before) const;
    std::string pass_text(size_t pass, const Body &body, const std::vector<int> &fetch,
                          bool held) const;
    std::string fetch_text(const std::vector<int> &slots) const;
    std::string body_text(const Body &body, bool held) const;
    std::string folds_text(const Body &body) const;
    std::string rows_text(const std::vector<int> &stages) const;
    std::string offsets(const Walk &walk, char letter, int lane) const;
    std::string call(const Stage &stage, const std::string &indent, bool held, bool by_row) const;
    std::string value(int slot, bool held, bool by_row) const;
    std::string row_place(int slot) const;
    std::string spill_text() const;
    bool narrow_fold(const Stage &stage, size_t output) const;
    std::string fold_type(const Stage &stage, size_t output) const;

    const LoopNest &nest_;
    const InfiniProgram &program_;
    const Direction direction_;
    std::vector<int> operands_, shared_, elements_, rows_;  // slots, by their new numbers
    std::vector<int> number_;                               // by slot
    std::vector<Access> access_;
    std::vector<char> in_elements_, read_, written_, held_, turned_;
    std::vector<Pass> passes_;
    std::vector<int> before_;  // row stages before the first pass
    bool wide_index_ = false;
};

}  // namespace infini::cuda::program
