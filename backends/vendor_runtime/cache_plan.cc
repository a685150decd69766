#include "cache_plan.h"

#include <algorithm>
#include <cstring>

#include "host_values.h"
#include "library.h"
#include "row_parts.h"

namespace infini::vendor_runtime {
namespace {

// Rows of a cache, and the new rows for them: both [heads, rows, size].
struct CachePart {
    Shape cache, rows;  // the operands
    bool paged;

    // `count` rows of entry `block`, and of the new ones, each with its offset in elements.
    std::pair<Shape, int64_t> target(int64_t block, int64_t row, int64_t count) const {
        return {view(cache, 1, 2, count), block * cache.stride[0] + row * cache.stride[2]};
    }
    std::pair<Shape, int64_t> source(int64_t batch, int64_t row, int64_t count) const {
        if (paged) return {view(rows, 1, 0, count), row * rows.stride[0]};
        return {view(rows, 1, 2, count), batch * rows.stride[0] + row * rows.stride[2]};
    }

private:
    static Shape view(const Shape &of, int heads, int along, int64_t count) {
        Shape shape;
        shape.dtype = moved_type(of.dtype);
        shape.ndim = 3;
        const int dims[] = {heads, along, of.ndim - 1};
        for (int i = 0; i < 3; ++i)
            shape.size[i] = of.size[dims[i]], shape.stride[i] = of.stride[dims[i]];
        shape.size[1] = count;
        return shape;
    }
};

bool is_paged(const Operation &operation) { return strcmp(operation.name(), "paged_caching") == 0; }

std::vector<CachePart> parts_of(const Operation &o) {
    const bool paged = is_paged(o);
    return {{o.tensor(0), o.tensor(2), paged}, {o.tensor(1), o.tensor(3), paged}};
}

class CachePlan final : public LibraryPlan {
public:
    CachePlan(int device, const Operation &o, CopyView copy, size_t bytes)
        : device_(device),
          paged_(is_paged(o)),
          parts_(parts_of(o)),
          places_(o.tensor(4)),
          copy_(std::move(copy)) {
        workspace = bytes;
        reads_memory = true;
    }

    int run(void *stream, const Arguments &arguments, const char **call) const override {
        std::vector<int64_t> places;
        *call = "copying the places in the cache to the host";
        if (!read_integers(device_, places_, arguments.pointer<void>(4), &places))
            return kExplained;
        return paged_ ? run_paged(stream, arguments, places, call)
                      : run_appended(stream, arguments, places, call);
    }

private:
    // Tokens with consecutive slots in a block are one copy; the stream keeps the order, so of
    // tokens with the same slot the last one wins.
    int run_paged(void *stream, const Arguments &arguments, const std::vector<int64_t> &slots,
                  const char **call) const {
        const Shape &cache = parts_[0].cache;
        const int64_t rows = cache.size[2], most = cache.size[0] * rows;
        for (size_t begin = 0, end; begin < slots.size(); begin = end) {
            end = begin + 1;
            const int64_t slot = slots[begin];
            if (slot < 0 || slot >= most) continue;
            while (end < slots.size() && slots[end] == slots[end - 1] + 1 &&
                   slots[end] / rows == slot / rows)
                ++end;
            if (int code = write(stream, arguments, slot / rows, slot % rows, 0, int64_t(begin),
                                 int64_t(end - begin), call))
                return code;
        }
        return 0;
    }

    int run_appended(void *stream, const Arguments &arguments, const std::vector<int64_t> &pasts,
                     const char **call) const {
        const int64_t most = parts_[0].cache.size[2], count = parts_[0].rows.size[2];
        for (size_t b = 0; b < pasts.size(); ++b) {
            const int64_t past = std::clamp(pasts[b], -count, most);
            const int64_t begin = std::max<int64_t>(0, -past), end = std::min(count, most - past);
            if (begin >= end) continue;
            if (int code = write(stream, arguments, int64_t(b), past + begin, int64_t(b), begin,
                                 end - begin, call))
                return code;
        }
        return 0;
    }

    int write(void *stream, const Arguments &arguments, int64_t block, int64_t row, int64_t batch,
              int64_t from_row, int64_t count, const char **call) const {
        for (int i = 0; i < 2; ++i) {
            const CachePart &part = parts_[size_t(i)];
            const auto [to, to_offset] = part.target(block, row, count);
            const auto [from, from_offset] = part.source(batch, from_row, count);
            if (to.size[0] * to.size[2] == 0) continue;
            const auto size = int64_t(infiniSizeOf(infiniDtype_t(to.dtype)));
            if (int code = copy_(stream, to, arguments.pointer<char>(i) + to_offset * size, from,
                                 arguments.pointer<char>(i + 2) + from_offset * size,
                                 arguments.workspace(), call))
                return code;
        }
        return 0;
    }

    const int device_;
    const bool paged_;
    const std::vector<CachePart> parts_;
    const Shape places_;
    const CopyView copy_;
};

}  // namespace

bool is_cache_write(const Operation &operation) {
    return is_paged(operation) || strcmp(operation.name(), "kv_caching") == 0;
}

std::vector<std::pair<Shape, Shape>> largest_copies(const Operation &operation) {
    std::vector<std::pair<Shape, Shape>> views;
    for (const CachePart &part : parts_of(operation)) {
        const int64_t tokens = part.paged ? part.rows.size[0] : part.rows.size[2];
        const int64_t count = std::min(part.cache.size[2], tokens);
        views.push_back({part.target(0, 0, count).first, part.source(0, 0, count).first});
    }
    return views;
}

std::unique_ptr<LibraryPlan> plan_cache_write(int device, const Operation &operation, CopyView copy,
                                              size_t workspace) {
    return std::make_unique<CachePlan>(device, operation, std::move(copy), workspace);
}

}  // namespace infini::vendor_runtime
