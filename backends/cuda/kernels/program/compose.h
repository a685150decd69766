// The text of a phase: its functors, strung together, with loads before them and stores behind.
// What loops over elements and rows is not written here but in device/program/*.cuh, which calls
// this text.
//
// Text depends on dtypes, on how operands lie along the vectors (dense, uniform, strided), on how
// many dimensions there are, and on the stages; sizes and strides are members of the parameter
// struct. So phases that differ in size only are one kernel. Everything is numbered in the order of
// its use.
#pragma once

#include <set>

#include "divide.h"
#include "kernels/program/launch.h"

namespace infini::cuda::program {

// How the elements of a vector lie.
enum class Access { kUniform, kDense, kStrided };

// Along what vectors go.
enum class Direction {
    kMap,    // the last kept dimension; there are no others
    kAlong,  // the last folded dimension: a thread has elements of one row
    kAcross  // the last kept dimension: a thread has one element of each of several rows
};

// Steps that go over the elements together, and those of rows that come after them.
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

    // Elements in a vector, at most `most`: one access of 16 bytes where strides allow it.
    int choose_width(int most) const;
    // Of what is read for an element by loads that are wide, and the values that live from pass to
    // pass.
    int dense_bytes() const;
    // Of those that are other ones for each row, and how many tensors these are.
    int row_bytes() const;
    int row_tensors() const;
    int held_count() const;
    // Bytes that the pointer of an operand has to be a multiple of.
    uint32_t alignment(int slot, int width) const;
    Access access(int slot) const { return access_[size_t(slot)]; }
    bool is_wide_index() const { return wide_index_; }
    // Kept dimension whose neighbours an input has next to each other while the vectors do not; -1:
    // none.
    int turned_dimension() const;
    // Read through a tile in shared memory: the operands that lie along the last kept dimension but
    // one.
    void turn();
    int turned_width(int slot, int most) const;

    // ---- Text ----

    // Structs and functions that every kernel of the phase has: Params excepted, which needs
    // `members`.
    std::string prologue(int width) const;
    // The members of operands: pointers, strides, sizes; and what each run fills in.
    void add_members(ParameterText &members, Launch &launch, int width) const;
    // One struct for each pass. Recomputed: passes redo what they need of earlier ones, and the
    // last one does all stores; else values are held in registers.
    std::string pass_texts(bool recomputed) const;
    std::string map_text() const;
    // What map_tile.cuh calls: reads tiles of `tile` lines and columns.
    std::string tile_text(int tile, int width) const;
    // Place at an index of each kept dimension, by the names a0, a1, ...
    std::string place_text() const;
    // The operand is neither read nor made, but there: the caller puts it into Held.
    void hold(int slot);
    std::string held_name(int slot) const { return "e" + std::to_string(number_[size_t(slot)]); }
    // Partial results of passes, by split and row: how large, and the members that point to them.
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
    std::vector<int> before_;  // stages of rows before the first pass
    bool wide_index_ = false;
};

}  // namespace infini::cuda::program
