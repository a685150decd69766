#include "infer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "infinicore/types.hpp"
#include "layout.h"

namespace infinicore::detail {
namespace {

// Tables name expressions and tensors by single letters.
constexpr int index_of(char letter) { return letter - 'A'; }

bool is_any_rank(char kind) { return kind == '*' || kind == '~'; }
bool takes_size(char kind) { return kind == 's' || kind == '='; }

// False: they do not broadcast.
bool broadcast(Dims &shape, const Dims &other) {
    if (other.size() > shape.size()) shape.insert(shape.begin(), other.size() - shape.size(), 1);
    const size_t ahead = shape.size() - other.size();
    for (size_t i = 0; i < other.size(); ++i) {
        int64_t &size = shape[ahead + i];
        if (size == 1) size = other[i];
        if (other[i] != size && other[i] != 1) return false;
    }
    return true;
}

constexpr uint32_t bit(int dtype) { return dtype < 0 ? 0 : uint32_t(1) << dtype; }
constexpr uint32_t kReal = bit(INFINI_DTYPE_F8) | bit(INFINI_DTYPE_F16) | bit(INFINI_DTYPE_BF16) |
                           bit(INFINI_DTYPE_F32) | bit(INFINI_DTYPE_F64);
constexpr uint32_t kIndices = bit(INFINI_DTYPE_I32) | bit(INFINI_DTYPE_I64);

}  // namespace

std::vector<InferredTensor> infer(const Row &row, int run,
                                  std::vector<std::vector<Operand>> operands,
                                  const Values &attributes, const Values &scalars) {
    return Inference(row, run, std::move(operands), attributes, scalars).run();
}

Inference::Inference(const Row &row, int run, std::vector<std::vector<Operand>> operands,
                     const Values &attributes, const Values &scalars)
    : row_(row),
      rules_(kInferenceRules[&row - kRows]),
      attributes_(attributes),
      scalars_(scalars),
      operands_(std::move(operands)),
      symbols_(size_t(rules_.symbol_count)),
      lists_(size_t(rules_.list_count)) {
    const size_t places = std::strlen(row.tensors) + std::strlen(row.runs[run].pointers);
    if (operands_.size() < places) operands_.resize(places);
}

std::vector<InferredTensor> Inference::run() {
    const DeclaredTensor *end = rules_.tensors + rules_.tensor_count;
    broadcast_operands();
    // Given results come last: they may fix symbols that no input does.
    for (bool results : {false, true})
        for (const DeclaredTensor *each = rules_.tensors; each != end; ++each)
            if (each->is_result == results) bind(*each);
    solve();
    for (const DeclaredTensor *each = rules_.tensors; each != end; ++each)
        if (each->is_result && !each->optional && !present(each->place)) add_result(*each);
    return std::move(inferred_);
}

Operand *Inference::single(const DeclaredTensor &tensor) {
    auto &group = operands_[size_t(tensor.place)];
    return group.empty() || tensor.is_array ? nullptr : &group[0];
}

// ---- Operands that broadcast ----------------------------------------------------------------------

void Inference::broadcast_operands() {
    for (const char *list = rules_.together; *list; ++list) {
        std::vector<const DeclaredTensor *> inputs;
        Dims shape;
        bool is_given = false;  // by a result
        std::string shapes;
        for (int i = 0; i < rules_.tensor_count; ++i) {
            const DeclaredTensor &tensor = rules_.tensors[i];
            const Operand *operand = single(tensor);
            if (!operand || tensor.shape_count != 1 || tensor.shapes[0].count != 1) continue;
            const DeclaredSize &size = tensor.shapes[0].sizes[0];
            if (size.kind != '*' || size.index != index_of(*list)) continue;
            if (tensor.is_result) {
                shape = operand->shape;
                is_given = true;
                continue;
            }
            inputs.push_back(&tensor);
            shapes += (shapes.empty() ? "" : ", ") + text_of(operand->shape);
        }
        for (const DeclaredTensor *tensor : inputs)
            if (!is_given && !broadcast(shape, single(*tensor)->shape))
                throw std::invalid_argument(std::string(row_.name) +
                                            ": shapes do not broadcast: " + shapes);
        for (const DeclaredTensor *tensor : inputs) {
            Dims &own = single(*tensor)->shape;
            if (own == shape) continue;
            Dims reached = shape;
            if (!broadcast(reached, own) || reached != shape)
                throw std::invalid_argument(std::string(row_.name) + ": a tensor of shape " +
                                            text_of(own) + " does not broadcast to " +
                                            text_of(shape));
            own = shape;
            inferred_.push_back({tensor->place, shape, -1});
        }
    }
}

// ---- Symbols --------------------------------------------------------------------------------------

void Inference::bind(const DeclaredTensor &tensor) {
    const Operand *operand = single(tensor);
    if (!operand) return;
    for (int i = 0; i < tensor.shape_count; ++i) {
        const DeclaredShape &declared = tensor.shapes[i];
        const DeclaredSize *end = declared.sizes + declared.count;
        const size_t fixed = size_t(std::count_if(
            declared.sizes, end, [](const DeclaredSize &size) { return takes_size(size.kind); }));
        const size_t rank = operand->shape.size();
        if (rank == fixed || (rank > fixed && fixed < size_t(declared.count)))
            return bind(declared, operand->shape);
    }
}

void Inference::bind(const DeclaredShape &declared, const Dims &shape) {
    size_t extra = shape.size();
    for (int i = 0; i < declared.count; ++i) extra -= takes_size(declared.sizes[i].kind);
    auto at = shape.begin();
    for (int i = 0; i < declared.count; ++i) {
        const auto [kind, index] = declared.sizes[i];
        if (is_any_rank(kind)) {
            Sizes &list = lists_[size_t(index)];
            const Dims part(at, at + int64_t(extra));
            at += int64_t(extra);
            if (kind == '~') {
                list.loose.push_back(part);
            } else if (!list.bound) {
                list.bound = true;
                list.values = part;
            }
        } else if (kind == 's') {
            Symbol &symbol = symbols_[size_t(index)];
            if (!symbol.bound) symbol = {true, *at};
            ++at;
        } else if (kind == '=') {
            equations_.push_back({index, *at++});
        }
    }
}

bool Inference::is_known(int expression) const {
    const Needs &needs = rules_.needs[expression];
    for (size_t i = 0; i < symbols_.size(); ++i)
        if (needs.symbols >> i & 1 && !symbols_[i].bound) return false;
    for (size_t i = 0; i < lists_.size(); ++i)
        if (needs.lists >> i & 1 && !lists_[i].bound) return false;
    return true;
}

void Inference::solve() {
    for (Sizes &list : lists_) {
        if (list.bound || list.loose.size() < 2) continue;
        for (const Dims &part : list.loose)
            if (!broadcast(list.values, part))
                throw std::invalid_argument(std::string(row_.name) + ": shapes do not broadcast: " +
                                            text_of(list.loose[0]) + ", " + text_of(part));
        list.bound = true;
    }
    for (const char *each = rules_.equations; *each; ++each)
        equations_.push_back({index_of(*each), 0});
    for (bool progress = true; progress;) {
        progress = false;
        for (const Equation &equation : equations_) progress |= solve(equation);
        for (int i = 0; i < rules_.derived_count; ++i) progress |= derive(rules_.derived[i]);
    }
}

// An equation that is linear in the only unknown symbol, such as 2 * D == 6.
bool Inference::solve(const Equation &equation) {
    const Needs &needs = rules_.needs[equation.expression];
    Symbol *wanted = nullptr;
    for (size_t i = 0; i < symbols_.size(); ++i) {
        if (!(needs.symbols >> i & 1) || symbols_[i].bound) continue;
        if (wanted) return false;
        wanted = &symbols_[i];
    }
    if (!wanted) return false;
    for (size_t i = 0; i < lists_.size(); ++i)
        if (needs.lists >> i & 1 && !lists_[i].bound) return false;
    const auto difference = [&](int64_t value) {
        wanted->value = value;
        return infini::minus(rules_.number(*this, equation.expression), equation.value);
    };
    const int64_t start = difference(0), slope = infini::minus(difference(1), start);
    if (slope == 0 || slope == INT64_MIN || infini::modulo(start, slope) != 0) return false;
    const int64_t found = infini::minus(0, infini::floor_divide(start, slope));
    if (difference(found) != 0) return false;
    *wanted = {true, found};
    return true;
}

bool Inference::derive(const DerivedSize &derived) try {
    bool &bound = derived.is_list ? lists_[size_t(derived.index)].bound
                                  : symbols_[size_t(derived.index)].bound;
    if (bound || !is_known(derived.expression)) return false;
    if (derived.is_list)
        lists_[size_t(derived.index)].values = rules_.list(*this, derived.expression);
    else
        symbols_[size_t(derived.index)].value = rules_.number(*this, derived.expression);
    return bound = true;
} catch (const NotGiven &) {
    return false;
}

// ---- Results --------------------------------------------------------------------------------------

void Inference::unknown(const DeclaredTensor &tensor, const std::string &what) const {
    throw UnknownResult(std::string(row_.name) + ": out= is needed: the inputs do not tell the " +
                        what + " of " + tensor.name);
}

void Inference::add_result(const DeclaredTensor &tensor) {
    std::vector<Dims> fitting;
    std::string missing;
    for (int i = 0; i < tensor.shape_count; ++i) {
        Dims shape;
        if (shape_of(tensor.shapes[i], shape, missing)) fitting.push_back(std::move(shape));
    }
    if (fitting.empty()) unknown(tensor, "size " + missing);
    auto &operand = operands_[size_t(tensor.place)];
    const auto is_allowed = [&](const Dims &shape) {
        operand = {{0, shape}};
        for (const char *each = tensor.conditions; *each; ++each)
            if (is_known(index_of(*each)) && !rules_.number(*this, index_of(*each))) return false;
        return true;
    };
    auto chosen = std::find_if(fitting.begin(), fitting.end(), is_allowed);
    if (chosen == fitting.end()) chosen = fitting.begin();
    operand.clear();
    const int dtype = dtype_of(tensor);
    operand = {{dtype, *chosen}};
    inferred_.push_back({tensor.place, *chosen, dtype});
}

// False: some of its sizes are unknown, which are named.
bool Inference::shape_of(const DeclaredShape &declared, Dims &shape, std::string &unknown) const {
    const auto miss = [&](const std::string &name) {
        if (unknown.find(name) == std::string::npos)
            unknown += (unknown.empty() ? "" : ", ") + name;
        return false;
    };
    for (int i = 0; i < declared.count; ++i) {
        const auto [kind, index] = declared.sizes[i];
        if (is_any_rank(kind)) {
            const Sizes &list = lists_[size_t(index)];
            if (!list.bound) return miss(rules_.lists[index]);
            shape.insert(shape.end(), list.values.begin(), list.values.end());
        } else if (kind == 's') {
            if (!symbols_[size_t(index)].bound) return miss(rules_.symbols[index]);
            shape.push_back(symbols_[size_t(index)].value);
        } else if (kind == '/') {
            if (integer(index) != 0) shape.clear();
        } else if (kind == '-') {
            Dims dims = is_list(index) ? integers(index) : Dims{integer(index)};
            std::vector<bool> gone(shape.size());
            for (int64_t dim : dims) {
                if (dim < 0) dim += int64_t(shape.size());
                if (dim >= 0 && dim < int64_t(shape.size())) gone[size_t(dim)] = true;
            }
            Dims left;
            const bool kept = rules_.keepdim >= 0 && integer(rules_.keepdim);
            for (size_t d = 0; d < shape.size(); ++d)
                if (!gone[d] || kept) left.push_back(gone[d] ? 1 : shape[d]);
            shape = std::move(left);
        } else if (is_known(index)) {
            shape.push_back(rules_.number(*this, index));
        } else {
            for (size_t s = 0; s < symbols_.size(); ++s)
                if (rules_.needs[index].symbols >> s & 1 && !symbols_[s].bound)
                    miss(rules_.symbols[s]);
            return false;
        }
    }
    return true;
}

int Inference::dtype_of(const DeclaredTensor &tensor) const {
    for (const char *each = tensor.same_dtype; *each; ++each)
        if (const auto &group = operands_[size_t(index_of(*each))]; !group.empty())
            return group[0].dtype;
    if (tensor.sum_of >= 0) {
        const int summed = operands_[size_t(tensor.sum_of)].at(0).dtype;
        return bit(summed) & kReal ? summed : INFINI_DTYPE_I64;
    }
    if (std::has_single_bit(tensor.dtypes)) return std::countr_zero(tensor.dtypes);
    if (tensor.dtypes == kIndices) return INFINI_DTYPE_I64;
    uint32_t inputs = 0;
    int first = -1;
    for (int i = 0; i < rules_.tensor_count; ++i) {
        const DeclaredTensor &other = rules_.tensors[i];
        const auto &group = operands_[size_t(other.place)];
        if (other.is_result || group.empty()) continue;
        inputs |= bit(group[0].dtype);
        if (first < 0) first = group[0].dtype;
    }
    if (bit(first) & tensor.dtypes) return first;
    const bool all_real = (tensor.dtypes & kReal) && (inputs & kReal);
    if (tensor.dtypes & bit(INFINI_DTYPE_I64) && !all_real) return INFINI_DTYPE_I64;
    std::string names;
    for (int dtype = 0; dtype < 32; ++dtype)
        if (tensor.dtypes >> dtype & 1)
            names += (names.empty() ? "" : ", ") + toString(DataType(dtype));
    unknown(tensor, "element type (one of " + names + ")");
}

// ---- Attributes -----------------------------------------------------------------------------------

double Inference::number(int attribute) const {
    const Value &value = attributes_.values[size_t(attribute)];
    return row_.attributes[attribute] == 'f' ? value.f : double(value.i);
}

bool Inference::is_list(int attribute) const {
    return std::strchr("ILFD", row_.attributes[attribute]);
}

int64_t Inference::item(int attribute, int64_t index) const {
    if (!given(attribute) || index < 0 || size_t(index) >= count(attribute)) return 0;
    const void *list = attributes_.values[size_t(attribute)].list;
    return row_.attributes[attribute] == 'I' ? static_cast<const int32_t *>(list)[index]
                                             : static_cast<const int64_t *>(list)[index];
}

Dims Inference::integers(int attribute) const {
    Dims made;
    for (size_t i = 0; given(attribute) && i < count(attribute); ++i)
        made.push_back(item(attribute, int64_t(i)));
    return made;
}

std::vector<double> Inference::numbers(int attribute) const {
    const void *list = attributes_.values[size_t(attribute)].list;
    std::vector<double> made;
    for (size_t i = 0; list && i < count(attribute); ++i)
        made.push_back(row_.attributes[attribute] == 'F' ? static_cast<const float *>(list)[i]
                                                         : static_cast<const double *>(list)[i]);
    return made;
}

int64_t Inference::extent(const Sizes &sizes, int attribute) const {
    if (!is_list(attribute)) return infini::size_at(sizes, integer(attribute));
    int64_t result = 1;
    for (int64_t dim : integers(attribute))
        result = infini::times(result, infini::size_at(sizes, dim));
    return result;
}

int64_t Inference::total(int tensor, int64_t dim) const {
    int64_t sum = 0;
    for (const Operand &each : operands_[size_t(tensor)])
        if (size_t(dim) < each.shape.size()) sum = infini::plus(sum, each.shape[size_t(dim)]);
    return sum;
}

}  // namespace infinicore::detail
