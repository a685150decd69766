// Most vendors' enumerators are in their tables. If no public source has them, they are read from
// the header that the vendor installs beside its library.
#include "numbers.h"

#include <map>
#include <optional>

#include "backends/vendor_runtime/header_numbers.h"
#include "backends/vendor_runtime/library.h"

namespace infini::vendor_runtime::collectives {
namespace {

struct Numbers {
    std::map<int, int> types, ops;
    size_t id_bytes = 0;
    std::string refusal;

    Numbers() {
        const CollectiveFacts &facts = *vendor.collectives;
        refusal = problem(Part::kCollectives);
        if (!refusal.empty()) return;
        id_bytes = facts.id_bytes;
        for (const Number &known : facts.types) types[known.from] = known.to;
        for (const Number &known : facts.ops) ops[known.from] = known.to;
        if (facts.header) read_header(facts);
        if (refusal.empty() && moved_type(1) == kNone)
            refusal = std::string(vendor.name) + ": no type of one byte is known";
    }

    int moved_type(size_t bytes) const {
        for (const auto &[dtype, number] : types)
            if (infiniSizeOf(infiniDtype_t(dtype)) == bytes) return number;
        return kNone;
    }

private:
    void read_header(const CollectiveFacts &facts) {
        const std::string need =
            std::string(facts.header) + ", which tells the numbers of types and reductions, ";
        const auto &found = header_numbers(Part::kCollectives, facts.header);
        if (found.empty()) {
            refusal = need + "is neither beside " + path(Part::kCollectives) + " nor in ../include";
            return;
        }
        auto value = [&](const char *name) -> std::optional<long> {
            const auto at = found.find(name);
            return at == found.end() ? std::nullopt : std::optional(at->second);
        };
        for (const Named &type : facts.named_types)
            if (auto number = value(type.name)) types[type.from] = int(*number);
        for (const Named &op : facts.named_ops)
            if (auto number = value(op.name)) ops[op.from] = int(*number);
        if (facts.named_id_bytes)
            if (auto number = value(facts.named_id_bytes)) id_bytes = size_t(*number);
        if (types.empty() || ops.empty()) refusal = need + "has none of them";
    }
};

const Numbers &numbers() {
    static const Numbers &once = *new Numbers;
    return once;
}

int find(const std::map<int, int> &known, int what) {
    const auto found = known.find(what);
    return found == known.end() ? kNone : found->second;
}

}  // namespace

const std::string &refusal() { return numbers().refusal; }
int type_number(int dtype) {
    return find(numbers().types, dtype == INFINI_DTYPE_BYTE ? int(INFINI_DTYPE_U8) : dtype);
}
int op_number(int op) { return find(numbers().ops, op); }
size_t id_bytes() { return numbers().id_bytes; }

Form moved(int dtype) {
    if (const int type = type_number(dtype); type != kNone) return {type, 1};
    const size_t bytes = infiniSizeOf(infiniDtype_t(dtype));
    if (const int type = numbers().moved_type(bytes); type != kNone) return {type, 1};
    return {numbers().moved_type(1), bytes};
}

}  // namespace infini::vendor_runtime::collectives
