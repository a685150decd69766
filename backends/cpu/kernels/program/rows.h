// Phases with folds: each stage iterates over rows of elements before the next stage starts.
//
// There are two directions: along rows (the elements of a row are contiguous in memory) and across
// them (rows are neighbours in memory: a tile of columns is folded line by line). A line is the
// argument of one functor call: a block of one row, or one element of each row of a tile. Rows are
// cut into chunks of a fixed length whose folds are combined in a tree: the result does not depend
// on the number of threads.
#pragma once

#include <algorithm>

#include "program/fold.h"
#include "program/runner.h"

namespace infini::cpu::program {

constexpr int64_t kBatch = 4096;  // elements of a batch of short rows

class Rows final : public Runner {
public:
    Rows(LoopNest nest, bool invariant);
    void run(const Arguments &arguments, char *workspace) const override;

private:
    enum Access : uint8_t {
        kUnused,
        kDirect,  // in place
        kSplat,   // one value for the whole line
        kGather,  // through a buffer
        kCached,  // converted once per group
    };

    // A set of rows that are processed together: consecutive rows, or neighbouring columns.
    struct Group {
        int64_t first;  // row, in the order of the kept dimensions
        int64_t count;
        char *memory;
    };
    struct Run;   // state shared by all threads of a run
    struct Line;  // the state of one thread inside a stage

    // Stages that iterate over the elements together, chunk by chunk; temporaries that only they
    // use are kept for one chunk at a time.
    struct Pass {
        size_t begin, end;
    };

    void choose_direction();
    bool is_contiguous() const;
    void choose_access();
    void choose_native();
    void find_runs();
    void choose_sizes();
    void choose_passes();
    bool needs_buffer(const Stage &stage) const;

    void run_group(const Run &run, const Group &group) const;
    void run_rows(const Run &run, const Group &group, const Stage &stage) const;
    void write_rows(const Run &run, const Group &group, const Slot &slot, const char *values) const;
    void fill_caches(const Run &run, const Group &group) const;
    void run_pass(const Run &run, const Group &group, const Pass &pass) const;
    // Runs a stage on one chunk of all rows of the group.
    void run_stage(const Run &run, const Group &group, const Stage &stage, int64_t chunk) const;
    void run_along(const Run &run, const Group &group, const Stage &stage, int64_t chunk) const;
    void run_across(const Run &run, const Group &group, const Stage &stage, int64_t chunk) const;
    void run_native(const Run &run, const Group &group, const Stage &stage, int64_t chunk) const;
    // Processes all short rows of the group in one call.
    void run_batch(const Run &run, const Group &group, const Stage &stage) const;
    template <class C>
    void run_batch_as(const Run &run, const Group &group, const Stage &stage) const;
    template <class C>
    void run_along_as(const Run &run, const Group &group, const Stage &stage, int64_t chunk) const;
    template <class C>
    void run_across_as(const Run &run, const Group &group, const Stage &stage, int64_t chunk) const;
    template <class C>
    void join_chunks(const Group &group, const Stage &stage) const;

    int lane_dim() const { return (across_ ? nest_.kept.count : nest_.folded.count) - 1; }
    int64_t lane(const Slot &slot) const {
        return lane_dim() < 0 ? 1 : across_ ? slot.kept[lane_dim()] : slot.folded[lane_dim()];
    }
    // Offsets of a row and of its elements.
    int64_t row_offset(const Slot &slot, int64_t row) const;
    // The number of rows of the group, starting at r, that are equally spaced, and their pitch.
    int64_t equal_rows(const Slot &slot, const Group &group, int64_t r, int64_t &pitch) const;
    int64_t element_offset(const Slot &slot, int64_t position) const;
    // A position that advances along a row without divisions, which take longer than a short run.
    struct Cursor {
        int64_t run, inside;
    };
    int64_t run_size() const {
        const int last = nest_.folded.count - 1;
        return last < 0 ? 1 : std::max<int64_t>(1, nest_.folded.size[last]);
    }
    Cursor cursor(int64_t position) const {
        const int64_t size = run_size();
        return {position / size, position % size};
    }
    void advance(Cursor &at, int64_t n) const {
        at.inside += n;
        if (at.inside == run_size()) ++at.run, at.inside = 0;
    }
    int64_t element_offset(const Slot &slot, Cursor at) const {
        const int last = nest_.folded.count - 1;
        const int64_t lane = last < 0 ? 0 : slot.folded[last];
        if (last <= 0) return (at.run * run_size() + at.inside) * lane;
        if (run_offsets_.empty()) return element_offset(slot, at.run * run_size() + at.inside);
        const size_t number = size_t(&slot - nest_.slots.data());
        return run_offsets_[number * size_t(runs_) + size_t(at.run)] + at.inside * lane;
    }
    void move(const Slot &slot, char *row, int64_t position, char *values, int64_t n,
              bool in) const;
    // Moves all elements of a group's rows to values or back.
    void move_rows(const Slot &slot, char *base, const Group &group, char *values, bool in) const;

    char *row_values(const Group &group, int number) const {
        return group.memory + number * values_bytes_;
    }
    char *element_values(const Group &group, int number) const {
        return group.memory + elements_at_ + number * elements_bytes_;
    }
    // Partial results of fold `number` of a stage: two rows of values, the second for indices.
    char *partial(const Group &group, int number, int64_t chunk) const {
        return group.memory + partials_at_ + (number * chunks_ + chunk) * 2 * values_bytes_;
    }

    LoopNest nest_;
    bool across_ = false;
    bool crossing_ = false;   // rows consist of short runs: blocks cross their ends
    bool split_ = false;      // threads divide chunks, not groups
    bool batch_ = false;      // rows are so short that one call processes a group
    bool invariant_ = false;  // the order of sums does not depend on the number of rows
    std::vector<Access> access_;
    std::vector<Pass> passes_;
    std::vector<char> passing_;  // slots of temporaries that are kept for one chunk only
    std::vector<int> cache_;     // cache index of each slot, or -1
    int caches_ = 0;
    int64_t group_ = 1, block_ = kBlock, chunk_ = 0, chunks_ = 1, groups_ = 1, parts_ = 1;
    double ranges_ = 0;                 // work, in units that justify a thread
    int64_t runs_ = 1;                  // per row
    std::vector<int64_t> run_offsets_;  // by slot and run; empty if there are too many
    int64_t tiles_ = 1;                 // across: groups per value of the outer dimensions
    // Bytes of a group's memory: row values, elements (temporaries, then caches), partial results.
    int64_t values_bytes_ = 0, elements_at_ = 0, elements_bytes_ = 0, partials_at_ = 0;
    int64_t group_bytes_ = 0;
};

struct Rows::Run {
    const Arguments &arguments;
    SharedValues shared;
    char *bases[kMostOperands];
};

// The operands of a stage for one line.
struct Rows::Line {
    const void *in[kMostInputs];
    ptrdiff_t step[kMostInputs];
    void *out[kMostOutputs];
    alignas(64) char splats[kMostInputs][kSplatBytes];
    alignas(64) char scratch[64 << 10];
};

}  // namespace infini::cpu::program
