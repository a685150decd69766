#include "rows.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "header_numbers.h"
#include "refusals.h"
#include "stream.h"

namespace infini::vendor_runtime {
namespace {

constexpr size_t kAlignment = 512;  // alignment of workspace parts: that of the strictest library

size_t element_bytes(int dtype) { return infiniSizeOf(infiniDtype_t(dtype)); }

const char *missing_number(const std::initializer_list<Piece> &pieces) {
    for (const Piece &piece : pieces)
        if (piece.kind == Piece::kEnumerator &&
            !header_numbers(Part::kOperators, vendor.operator_header).contains(piece.text))
            return piece.text;
    return nullptr;
}

// The display name of a row: its last function that does not only prepare or convert a tensor.
const char *main_function(const OperatorRow &row) {
    for (const Step *step = row.steps.end(); step-- != row.steps.begin();)
        if (!strstr(step->function, "Inplace") && !strstr(step->function, "Copy") &&
            !strstr(step->function, "Cast"))
            return step->function;
    return (row.steps.end() - 1)->function;
}

std::string or_not_in_headers() {
    if (!vendor.operator_header) return "";
    std::string names = vendor.operator_header;
    for (size_t at; (at = names.find('|')) != std::string::npos;) names.replace(at, 1, " and ");
    return ", or not in its header " + names;
}

// A missing function or enumerator; null: none.
const char *missing_of(const OperatorRow &row) {
    for (const Step &step : row.steps) {
        for (const char *name : {step.function, step.workspace_function})
            if (name && !find(Part::kOperators, name)) return name;
        if (const char *absent = missing_number(step.arguments)) return absent;
    }
    for (const Object &object : row.objects) {
        for (const char *name : {object.create, object.set, object.destroy})
            if (!find(Part::kOperators, name)) return name;
        if (const char *absent = missing_number(object.arguments)) return absent;
    }
    return nullptr;
}

}  // namespace

const OperatorRow *find_row(const OperatorRow *rows, int count, const Operation &operation) {
    std::string wanted;
    auto want = [&](const std::string &what) {
        if (wanted.find(what) == std::string::npos) wanted += (wanted.empty() ? "" : "; ") + what;
    };
    for (const OperatorRow *row = rows; row < rows + count; ++row) {
        if (strcmp(row->operation, operation.name()) != 0) continue;
        if (row->steps.size() == 0) {
            want(row->doubt);
            continue;
        }
        const std::string &no_library = problem(Part::kOperators);
        const char *missing = nullptr, *absent = nullptr;
        for (const Condition &condition : row->conditions)
            if (!missing && !condition.holds(operation)) missing = condition.words;
        if (no_library.empty()) absent = missing_of(*row);
        if (!missing && !absent && no_library.empty()) return row;
        want(!no_library.empty() ? no_library
             : absent ? absent + (" is not in " + path(Part::kOperators) + or_not_in_headers())
                      : main_function(*row) + std::string(" takes ") + missing);
    }
    if (const char *reason = common_reason(operation.name()); reason && wanted.empty())
        wanted = reason;
    if (!wanted.empty() && !operation.program())
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, std::string(operation.name()) + ": " + wanted};
    return nullptr;
}

std::string doubts_of(const OperatorRow *rows, int count) {
    std::string text;
    for (const OperatorRow *row = rows; row < rows + count; ++row) {
        if (row->confidence == Confidence::kHigh || row->steps.size() == 0) continue;
        const std::string entry = std::string(main_function(*row)) + " (" +
                                  (row->confidence == Confidence::kLow ? "low" : "medium") +
                                  (row->doubt ? std::string(": ") + row->doubt : "") + ")";
        if (text.find(entry) != std::string::npos) continue;  // rows that share a function
        text += (text.empty() ? "" : "; ") + entry;
    }
    return text;
}

// ---- Tensors ------------------------------------------------------------------------------------

std::shared_ptr<const Constant> Constant::of(int device, const std::vector<char> &content) {
    static std::mutex lock;
    static auto &known = *new std::vector<std::weak_ptr<const Constant>>;
    std::lock_guard guard(lock);
    std::erase_if(known, [](const auto &weak) { return weak.expired(); });
    for (const auto &weak : known)
        if (auto held = weak.lock(); held && held->device == device && held->content == content)
            return held;
    auto made = std::make_shared<Constant>();
    made->device = device;
    made->content = content;
    if (device_allocate(device, content.size(), &made->memory)) made->memory = nullptr;
    if (!made->memory || copy_bytes(made->memory, device, content.data(), -1, content.size()))
        throw Refusal{INFINI_STATUS_INTERNAL_ERROR, last_sentence()};
    known.push_back(made);
    return made;
}

Constant::~Constant() {
    if (memory) device_release(device, memory);
}

PlanTensors::PlanTensors(int device, const Operation &operation, const OperatorRow &row) {
    for (int i = 0; i < operation.tensor_count(); ++i) {
        Entry entry;
        entry.shape = operation.tensor(i);
        entry.is_given = true;
        entries_.push_back(entry);
    }
    if (!row.extras) return;
    for (const Extra &extra : row.extras(operation)) {
        Entry entry{extra.shape, extra.of, extra.offset, 0, nullptr, false};
        int64_t last = 0;
        for (int i = 0; i < extra.shape.ndim; ++i)
            last += (extra.shape.size[i] - 1) * extra.shape.stride[i];
        const size_t bytes = size_t(last + 1) * element_bytes(extra.shape.dtype);
        if (!extra.content.empty()) {
            entry.constant = Constant::of(device, extra.content);
        } else if (extra.of < 0) {
            entry.place = bytes_;
            bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
        }
        entries_.push_back(entry);
    }
}

void *PlanTensors::data(int index, const Arguments &arguments) const {
    const Entry &entry = entries_[size_t(index)];
    if (entry.is_given) return arguments.pointer<void>(index);
    if (entry.constant) return entry.constant->memory;
    char *base = entry.of < 0 ? arguments.workspace() + entry.place
                              : static_cast<char *>(data(entry.of, arguments));
    return base + entry.offset * int64_t(element_bytes(entry.shape.dtype));
}

OwnWorkspace::~OwnWorkspace() {
    for (const auto &[stream, memory] : by_stream_) device_release(device_, memory.first);
    for (void *memory : outgrown_) device_release(device_, memory);
}

void *OwnWorkspace::get(void *stream, size_t bytes) const {
    if (bytes == 0) return nullptr;
    std::lock_guard guard(lock_);
    auto &[memory, size] = by_stream_[stream];
    if (size >= bytes) return memory;
    if (memory) outgrown_.push_back(memory);
    const bool made = device_allocate(device_, bytes, &memory) == infinirtSuccess;
    if (!made) memory = nullptr;
    size = made ? bytes : 0;
    return memory;
}

int RowPlan::run(void *stream, const Arguments &given, const char **call) const {
    if (!has_own_) return run_steps(stream, given, call);
    InfiniArguments with_workspace = given.c;
    *call = "making room for its workspace";
    with_workspace.workspace = own_.get(stream, wanted_);
    if (wanted_ && !with_workspace.workspace) return kExplained;
    return run_steps(stream, Arguments{with_workspace}, call);
}

void RowPlan::set_workspace(size_t most) {
    wanted_ = tensors_.bytes() + most;
    workspace = has_own_ ? 0 : wanted_;
}

PlanNumbers::PlanNumbers(const Operation &operation) {
    for (size_t i = 0; i < operation.c.attribute_count; ++i) {
        integers.push_back(operation.integer(int(i)));
        reals.push_back(operation.number(int(i)));
        const int64_t *list = operation.count(int(i)) ? operation.list(int(i)) : nullptr;
        firsts.push_back(list ? list[0] : 0);
    }
}

int64_t PlanNumbers::last_index(const Piece &piece, const Shape &shape) const {
    const int64_t given = piece.constant < 0 ? -1 : integers[size_t(piece.constant)];
    return shape.size[given < 0 ? given + shape.ndim : given] - 1;
}

// ---- Calling ------------------------------------------------------------------------------------

void Call::narrow(float value) {
    real(std::bit_cast<double>(uint64_t(std::bit_cast<uint32_t>(value))));
}

template <size_t... I>
static int call_with(void *function, const uintptr_t *words, const double *reals,
                     std::index_sequence<I...>) {
    using Any = int (*)(std::remove_cvref_t<decltype(words[I])>..., double, double, double, double);
    return reinterpret_cast<Any>(function)(words[I]..., reals[0], reals[1], reals[2], reals[3]);
}

int Call::operator()(void *function) const {
    return call_with(function, words, reals, std::make_index_sequence<kMostWords>());
}

bool has_nothing(const Step &step, const PlanTensors &tensors) {
    for (const Piece &piece : step.arguments) {
        if (piece.kind != Piece::kTensor) continue;
        const Shape &shape = tensors.shape(piece.index);
        for (int i = 0; shape && i < shape.ndim; ++i)
            if (shape.size[i] == 0) return true;
    }
    return false;
}

bool add_plain(Call &call, const Piece &piece, const PlanNumbers &numbers,
               const PlanTensors &tensors) {
    const size_t at = size_t(piece.index);
    auto number = [](int64_t value) { return uintptr_t(value); };
    switch (piece.kind) {
        case Piece::kInteger:
            call.word(number(numbers.integers[at]));
            return true;
        case Piece::kDimension: {
            const int64_t given = numbers.integers[at];
            call.word(number(given < 0 ? given + tensors.shape(0).ndim : given));
            return true;
        }
        case Piece::kListed:
            call.word(number(numbers.firsts[at]));
            return true;
        case Piece::kReal:
            call.real(numbers.reals[at]);
            return true;
        case Piece::kFloat:
            call.narrow(float(numbers.reals[at]));
            return true;
        case Piece::kInverseRoot: {
            const Shape &shape = tensors.shape(piece.index);
            call.real(1 / std::sqrt(double(shape.size[shape.ndim - 1])));
            return true;
        }
        case Piece::kSize: {
            const Shape &shape = tensors.shape(piece.index);
            call.word(number(shape.size[shape.ndim - 1]));
            return true;
        }
        case Piece::kSizeAlong: {
            const int64_t given = numbers.integers[at];
            const Shape &shape = tensors.shape(0);
            call.word(number(shape.size[given < 0 ? given + shape.ndim : given]));
            return true;
        }
        case Piece::kNumber:
            call.narrow(float(piece.constant));
            return true;
        case Piece::kSizeOf:
            call.word(number(tensors.shape(piece.index).size[int(piece.constant)]));
            return true;
        case Piece::kHeads:
            call.word(number(tensors.shape(piece.index).size[1]));
            return true;
        case Piece::kConstant:
            call.word(number(int64_t(piece.constant)));
            return true;
        case Piece::kEnumerator:
            call.word(number(
                header_numbers(Part::kOperators, vendor.operator_header).find(piece.text)->second));
            return true;
        case Piece::kLastDim:
            call.word(number(tensors.shape(piece.index).ndim - 1));
            return true;
        case Piece::kText:
            call.pointer(piece.text);
            return true;
        case Piece::kNull:
            call.word(0);
            return true;
        default:
            return false;
    }
}

}  // namespace infini::vendor_runtime
