#include "paged_lists.h"

#include <algorithm>

namespace infini::vendor_runtime {
namespace {

class Lists {
public:
    explicit Lists(const PagedInput &input) : in_(input) {}

    PagedLists make() {
        int64_t begin = 0;
        for (size_t s = 0; s < in_.lengths.size(); ++s) {
            const int64_t first = limited(in_.bounds[s], begin),
                          last = limited(in_.bounds[s + 1], first);
            silence(first);
            if (last > first) add(int64_t(s), last);
            begin = last;
        }
        silence(in_.queries);
        return std::move(out_);
    }

private:
    // Bounds are made monotonic, and limited to the queries.
    int64_t limited(int64_t bound, int64_t least) const {
        return std::max(least, std::clamp<int64_t>(bound, 0, in_.queries));
    }
    int64_t done() const { return out_.ends.empty() ? 0 : out_.ends.back(); }

    void push(int64_t end, int64_t keys, std::vector<int32_t> table) {
        table.resize(size_t(in_.width), 0);
        out_.ends.push_back(end);
        out_.lengths.push_back(keys);
        out_.tables.insert(out_.tables.end(), table.begin(), table.end());
    }

    // Queries up to `end` have no visible keys: they get keys of block 0, and the result is cleared
    // later.
    void silence(int64_t end) {
        const int64_t begin = done();
        const int64_t most = in_.single ? 1 : std::max<int64_t>(in_.width * in_.rows, 1);
        if (end <= begin) return;
        if (!out_.silent.empty() && out_.silent.back().second == begin)
            out_.silent.back().second = end;
        else
            out_.silent.push_back({begin, end});
        for (int64_t at = begin; at < end; at += most)
            push(std::min(at + most, end), std::min(most, end - at), {});
    }

    void add(int64_t s, int64_t end) {
        const int64_t begin = done(), count = end - begin;
        const int64_t keys = std::clamp<int64_t>(in_.lengths[size_t(s)], 0, in_.width * in_.rows);
        const int64_t needed = (keys + in_.rows - 1) / in_.rows;
        const int64_t *given = in_.tables.data() + s * in_.width;
        auto is_good = [&](int64_t page) { return given[page] >= 0 && given[page] < in_.blocks; };
        silence(begin + std::max<int64_t>(0, count - keys));
        if (done() == end) return;
        int64_t bad = 0;
        while (bad < needed && is_good(bad)) ++bad;
        if (bad == needed) return push(end, keys, std::vector<int32_t>(given, given + needed));

        std::vector<int32_t> good;  // blocks before the one at hand
        for (int64_t page = 0; page < needed && done() < end; ++page) {
            // The query at `done` sees keys up to this one; all up to `until` have it in this page.
            const int64_t last = keys - (end - done());
            if (is_good(page)) good.push_back(int32_t(given[page]));
            if (last / in_.rows != page) continue;
            const int64_t until = std::min(end, done() + (page + 1) * in_.rows - last);
            if (is_good(page)) {
                const int64_t inside = (last + until - done() - 1) % in_.rows + 1;
                push(until, (int64_t(good.size()) - 1) * in_.rows + inside, good);
            } else if (good.empty()) {
                silence(until);
            } else {
                while (done() < until) push(done() + 1, int64_t(good.size()) * in_.rows, good);
            }
        }
    }

    const PagedInput &in_;
    PagedLists out_;
};

}  // namespace

PagedLists paged_lists(const PagedInput &input) { return Lists(input).make(); }

}  // namespace infini::vendor_runtime
