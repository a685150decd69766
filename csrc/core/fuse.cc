// Which nodes of a record are fused: a node with the producer of its input. Two nodes fuse when no
// node between them depends on the first or feeds the second.
#include <algorithm>
#include <unordered_map>

#include "fuse_pair.h"

namespace infinicore::detail {

namespace {

class Fusing {
public:
    Fusing(std::vector<Node> nodes, const std::function<bool(const Memory *)> &needed)
        : nodes_(std::move(nodes)), needed_(needed), alive_(nodes_.size(), true) {
        for (size_t i = 0; i < nodes_.size(); ++i) {
            uses_.push_back(uses_of(nodes_[i]));
            enter(i);
            if (nodes_[i].foreign) last_foreign_ = i + 1;
        }
    }

    std::vector<Node> run() {
        join_all();
        reluctant_ = false;
        join_all();
        std::vector<Node> rest;
        for (size_t i = 0; i < nodes_.size(); ++i)
            if (alive_[i]) rest.push_back(std::move(nodes_[i]));
        return rest;
    }

private:
    void join_all() {
        for (size_t i = 0; i < nodes_.size(); ++i) {
            size_t at = i;
            while (alive_[at] && nodes_[at].step && program_of(*nodes_[at].step)) {
                const auto joined = join_with_a_maker(at);
                if (!joined) break;
                at = *joined;
            }
        }
    }

    Party party(size_t i) const { return {nodes_[i], uses_[i]}; }

    void enter(size_t i) {
        for (const Use &use : uses_[i]) {
            std::vector<size_t> &users = users_[use.range.memory];
            auto where = std::lower_bound(users.begin(), users.end(), i);
            if (where == users.end() || *where != i) users.insert(where, i);
        }
    }

    // The node before `at` that wrote what it reads in `range`; none: an external input.
    std::optional<size_t> maker_of(size_t at, const Range &range) const {
        const std::vector<size_t> &users = users_.at(range.memory);
        for (auto user = std::lower_bound(users.begin(), users.end(), at); user != users.begin();) {
            const size_t i = *--user;
            if (!alive_[i]) continue;
            for (const Use &use : uses_[i])
                if (use.writes && use.range.overlaps(range)) return i;
        }
        return std::nullopt;
    }

    std::optional<size_t> join_with_a_maker(size_t at) {
        for (const Use &use : uses_[at]) {
            if (!use.reads) continue;
            const auto maker = maker_of(at, use.range);
            if (!maker) continue;
            if (auto place = join_two(*maker, at)) return place;
        }
        return std::nullopt;
    }

    std::optional<size_t> join_two(size_t i, size_t j) {
        auto between = find_between(party(i), party(j));
        if (between.empty()) return std::nullopt;
        const bool down = can_pass(i, i, j), up = !down && can_pass(j, i, j);
        if (!down && !up) return std::nullopt;
        bool keeps = false;
        for (Between &each : between) keeps |= each.keep = is_kept(i, j, each);
        // After a norm or a product whose tensor is written anyway, a map saves
        // little; it may fuse better with what reads it.
        const InfiniProgram *leading = program_of(*nodes_[i].step);
        if (reluctant_ && keeps && (!leading || !is_map(*leading) || is_epilogue(*nodes_[i].step)))
            return std::nullopt;
        auto made = join(party(i), party(j), between);
        if (!made) return std::nullopt;
        const size_t place = down ? j : i;
        alive_[down ? i : j] = false;
        nodes_[place] = std::move(*made);
        uses_[place] = uses_of(nodes_[place]);
        enter(place);
        return place;
    }

    // Whether a node may be moved past all those between i and j.
    bool can_pass(size_t moved, size_t i, size_t j) const {
        for (size_t k = i + 1; k < j; ++k) {
            if (!alive_[k]) continue;
            if (nodes_[k].foreign) return false;
            for (const Use &its : uses_[k])
                for (const Use &mine : uses_[moved])
                    if ((its.writes || mine.writes) &&
                        (its.range.overlaps(mine.range) || its.range.may_be(mine.range)))
                        return false;
        }
        return true;
    }

    // Whether any node but j reads what node i wrote.
    bool is_kept(size_t i, size_t j, const Between &between) const {
        if (between.overwritten) return false;
        const Memory *memory = between.range.memory;
        const auto *open = dynamic_cast<const OpenMemory *>(memory);
        if (!open || open->role != OpenMemory::Role::Result || open->is_placed()) return true;
        if (needed_(memory) || last_foreign_ > i) return true;
        for (size_t k : users_.at(memory)) {
            if (k <= i || k == j || !alive_[k]) continue;
            for (const Use &use : uses_[k])
                if (use.reads && use.range.overlaps(between.range)) return true;
        }
        return false;
    }

    std::vector<Node> nodes_;
    const std::function<bool(const Memory *)> &needed_;
    std::vector<char> alive_;
    std::vector<std::vector<Use>> uses_;
    std::unordered_map<const Memory *, std::vector<size_t>> users_;  // in order
    bool reluctant_ = true;    // first pass: leave what may fuse better otherwise
    size_t last_foreign_ = 0;  // one more than its number; 0: there is none
};

}  // namespace

std::vector<Node> fuse(std::vector<Node> nodes, const std::function<bool(const Memory *)> &needed) {
    // Fused steps do not round in between, so a call and its recording would differ.
    if (infiniGetModes() & INFINI_MODE_BATCH_INVARIANT) return nodes;
    return Fusing(std::move(nodes), needed).run();
}

}  // namespace infinicore::detail
