// Phases with folds, on rows of elements. Short rows are held in registers and read once; long
// ones, and columns, are read again in each pass, by several blocks if there are few.
#include <algorithm>
#include <bit>

#include "kernels/program/engines.h"

namespace infini::cuda::program {
namespace {

int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
int power_up(int64_t n) { return int(std::bit_ceil(uint64_t(std::max<int64_t>(n, 1)))); }

// Whether more of the accessed memory is contiguous along the last kept dimension than along the
// last folded one.
Direction choose_direction(const LoopNest &nest) {
    const Walk &kept = nest.kept, &folded = nest.folded;
    if (!kept.count || !folded.count) return Direction::kAlong;
    int along = 0, across = 0;
    auto count = [&](int number) {
        if (number < 0 || nest.slots[size_t(number)].kind != Slot::kTensor) return;
        const Slot &slot = nest.slots[size_t(number)];
        along += slot.folded[folded.count - 1] == 1;
        across += slot.kept[kept.count - 1] == 1 && slot.folded[folded.count - 1] != 0;
    };
    for (const Stage &stage : nest.stages) {
        if (stage.rows) continue;
        for (int number : stage.inputs) count(number);
        for (int number : stage.outputs) count(number);
    }
    return across > along ? Direction::kAcross : Direction::kAlong;
}

class RowsPlanner {
public:
    RowsPlanner(Phase &phase, Direction direction)
        : phase_(phase), nest_(phase.nest), composer_(nest_, phase.program, direction) {}

    // With vectors of at most that many elements.
    std::vector<Launch> plan(int most) {
        width_ = composer_.choose_width(most);
        wide_ = width_ > 1;
        std::vector<Launch> launches;
        if (!composer_.across() && choose_held()) {
            launches.push_back(held_launch());
            return launches;
        }
        choose_loop();
        if (splits_ == 1) {
            std::string calls;
            for (size_t i = 0; i < composer_.passes().size(); ++i) calls += pass_call(i);
            launches.push_back(loop_launch(calls, true));
            return launches;
        }
        int64_t bytes = 0;
        for (size_t i = 0; i < composer_.passes().size(); ++i) {
            starts_.push_back(bytes);
            bytes += int64_t(composer_.partial_bytes(int(i))) * nest_.rows * splits_;
        }
        phase_.workspace = std::max(phase_.workspace, bytes);
        std::string joins;
        for (size_t i = 0; i < composer_.passes().size(); ++i) {
            launches.push_back(loop_launch(joins + pass_call(i), false));
            joins += "    run.template join<Pass" + std::to_string(i) + ">(kWrites);\n";
        }
        if (composer_.has_row_results()) {
            if (composer_.across()) choose_join();
            launches.push_back(loop_launch(joins, true));
            launches.back().grid.y = 1;
        }
        return launches;
    }
    bool is_wide() const { return wide_; }

private:
    static std::string pass_call(size_t pass) {
        return "    run.template pass<Pass" + std::to_string(pass) + ">();\n";
    }

    // ---- Rows in registers ----------------------------------------------------------------------

    bool choose_held() {
        const int warp = phase_.device.warp;
        const int64_t vectors = quotient_up(nest_.row_size, width_);
        const int words = int(nest_.value_bytes / 4);
        const int cost = std::max(
            1, width_ * composer_.row_bytes() / 4 + width_ * words * (composer_.held_count() + 1));
        auto fits = [&](int lanes) {
            chunks_ = int(std::min<int64_t>(quotient_up(vectors, lanes), 1 << 20));
            return chunks_ * cost <= (lanes <= 512 ? 80 : 36);
        };
        if (vectors <= 4 * warp && fits(warp)) {
            lanes_ = std::min(warp, power_up(vectors));
            while (fewer_lanes(vectors, cost)) lanes_ /= 2;
            chunks_ = std::max(1, int(quotient_up(vectors, lanes_)));
            threads_ = 128;
            return true;
        }
        // With few rows, more threads process each one.
        const int least = phase_.invariant                                 ? 256
                          : nest_.rows < 2 * phase_.device.multiprocessors ? 512
                                                                           : 128;
        for (int lanes : {128, 256, 512, 1024}) {
            if (lanes < std::min(least, power_up(vectors)) || !fits(lanes)) continue;
            lanes_ = threads_ = lanes;
            return true;
        }
        return false;
    }

    // Whether half of the lanes take fewer instructions for a row: fewer are idle at its end, and
    // there is less to combine. They must suffice to fill the device, and read whole sectors.
    bool fewer_lanes(int64_t vectors, int cost) const {
        constexpr int64_t kPerElement = 12, kPerRow = 40;  // instructions, for a softmax
        const int64_t half = lanes_ / 2, chunks = quotient_up(vectors, std::max<int64_t>(half, 1));
        const int64_t bytes = half * width_ * std::max(composer_.row_bytes(), 1);
        const int64_t threads = int64_t(phase_.device.multiprocessors) * 1024;
        if (phase_.invariant || half == 0 || bytes < 32 || nest_.rows * half < threads)
            return false;
        auto instructions = [&](int64_t lanes) {
            return lanes * (quotient_up(vectors, lanes) * width_ * kPerElement + kPerRow);
        };
        return chunks * cost <= 24 && instructions(half) * 8 < instructions(lanes_) * 7;
    }

    Launch held_launch() {
        Launch launch;
        ParameterText members;
        members.add("int64_t", "rows", nest_.rows);
        members.add("int64_t", "row_size", nest_.row_size);
        composer_.add_members(members, launch, width_);
        // Limits registers so that enough blocks are resident to keep memory busy.
        const int data = chunks_ * width_ * composer_.row_bytes() / 4;
        const bool ahead = nest_.rows <= phase_.device.multiprocessors && data <= 32;
        std::string calls;
        for (size_t i = 1; ahead && i < composer_.passes().size(); ++i)
            calls += "    run.template fetch<Pass" + std::to_string(i) + ">();\n";
        for (size_t i = 0; i < composer_.passes().size(); ++i) calls += pass_call(i);
        Source source = begin_source("program/rows_held.cuh", phase_, composer_);
        add_text(source, members, composer_.pass_texts(false), calls);
        source.constant("kAhead", ahead);
        const bool much = data >= 32 && nest_.type == kFloat && composer_.row_tensors() > 1;
        int blocks = threads_ <= 128 ? 6 : threads_ <= 256 ? 3 : 1;
        if (threads_ == 256 && data <= 16) blocks = 4;
        if (much || nest_.value_bytes > 4) blocks = 1;
        source.constant("kChunks", chunks_).constant("kColumns", 1).constant("kMinBlocks", blocks);
        source.constant("kFull", nest_.row_size == int64_t(chunks_) * lanes_ * width_);
        finish(launch, members, std::move(source));
        launch.grid = Grid(quotient_up(nest_.rows, threads_ / lanes_));
        return launch;
    }

    // ---- Rows in loops --------------------------------------------------------------------------

    void choose_loop() {
        constexpr int64_t kRoom = 40 << 10;  // shared memory for folds of columns
        threads_ = composer_.across() ? 128 : 256;
        int64_t units = nest_.row_size;
        if (composer_.across()) {
            int64_t bytes = 16;
            for (size_t i = 0; i < composer_.passes().size(); ++i)
                bytes = std::max(bytes, int64_t(composer_.partial_bytes(int(i))));
            while (width_ > 1 && threads_ * width_ * bytes > kRoom) width_ /= 2;
            const Walk &kept = nest_.kept;
            columns_ = std::clamp(power_up(kept.size[kept.count - 1] / width_), 8, 32);
            lanes_ = threads_ / columns_;
            while (lanes_ > 1 && lanes_ / 2 >= nest_.row_size) lanes_ /= 2;
            columns_ = std::min(threads_ / lanes_, 256);
        } else {
            lanes_ = threads_;
            units /= width_;
        }
        const int bytes = std::max(1, composer_.dense_bytes() * width_);
        unroll_ = bytes >= 64 ? 1 : bytes >= 32 ? 2 : 4;
        if (composer_.across() && composer_.passes().size() == 1) unroll_ *= 2;
        const int64_t row_width = composer_.across() ? width_ : 1;
        groups_ = quotient_up(nest_.rows, threads_ / lanes_ * row_width);
        const int64_t multiprocessors = phase_.device.multiprocessors;
        splits_ = 1;
        part_ = std::max<int64_t>(units, 1);
        if (groups_ < 2 * multiprocessors && !phase_.invariant) {
            const int64_t turn = int64_t(lanes_) * unroll_;
            const int64_t wanted =
                std::min(quotient_up(4 * multiprocessors, groups_), units / (2 * turn));
            if (wanted > 1) {
                part_ = quotient_up(quotient_up(units, wanted), turn) * turn;
                splits_ = quotient_up(units, part_);
            }
        }
    }

    // Little is combined, so each thread has one row.
    void choose_join() {
        width_ = 1, threads_ = 256, columns_ = 32;
        lanes_ = threads_ / columns_;
        groups_ = quotient_up(nest_.rows, columns_);
    }

    Launch loop_launch(const std::string &calls, bool writes) {
        Launch launch;
        ParameterText members;
        members.add("int64_t", "rows", nest_.rows);
        members.add("int64_t", "row_size", nest_.row_size);
        members.add("int64_t", "part", part_);
        members.add("int64_t", "splits", splits_);
        composer_.add_members(members, launch, width_);
        if (splits_ > 1) composer_.add_partials(members, launch, nest_.rows, splits_, starts_);
        Source source = begin_source("program/rows_loop.cuh", phase_, composer_);
        source.constant("kWrites", writes).constant("kSplit", splits_ > 1);
        add_text(source, members, composer_.pass_texts(true), calls);
        source.constant("kUnroll", unroll_).constant("kColumns", columns_);
        finish(launch, members, std::move(source));
        launch.grid = Grid(groups_, splits_);
        return launch;
    }

    void add_text(Source &source, const ParameterText &members, const std::string &passes,
                  const std::string &calls) const {
        source.line(members.text()).line(composer_.prologue(width_)).line(passes);
        source.line("template <class Run>\nINFINI_DEVICE void passes(Run &run) {\n" + calls + "}");
        source.constant("kThreads", threads_).constant("kLanes", lanes_);
    }
    void finish(Launch &launch, const ParameterText &members, Source source) const {
        launch.parameters = members.bytes();
        launch.threads = unsigned(threads_);
        launch.code = std::make_shared<Code>(std::move(source));
    }

    Phase &phase_;
    const LoopNest &nest_;
    Composer composer_;
    int width_ = 1, lanes_ = 1, chunks_ = 1, threads_ = 128, columns_ = 1, unroll_ = 1;
    int64_t groups_ = 1, splits_ = 1, part_ = 1;
    bool wide_ = false;
    std::vector<int64_t> starts_;
};

}  // namespace

Launches plan_rows(Phase &phase) {
    const Direction direction = choose_direction(phase.nest);
    Launches launches;
    RowsPlanner planner(phase, direction);
    launches.usual = planner.plan(16);
    // Vectors require aligned pointers; other cases are processed element by element.
    if (planner.is_wide()) launches.unaligned = RowsPlanner(phase, direction).plan(1);
    return launches;
}

}  // namespace infini::cuda::program
