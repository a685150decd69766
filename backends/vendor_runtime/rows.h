// Operators implemented by a vendor's library, as rows of a table: the operator, conditions, and
// the library's functions with their arguments, in order.
//
// A row that needs several functions, or tensors that the operator does not have (a part of one,
// memory for unused results, a mask), lists them. The vendor's folder creates the library's objects
// for tensors; everything else is here.
#pragma once

#include <infini/operation.h>

#include <map>
#include <mutex>
#include <vector>

#include "table.h"

namespace infini::vendor_runtime {

// ---- Arguments ----------------------------------------------------------------------------------

struct Piece {
    enum Kind : uint8_t {
        kTensor,       // the library's object of a tensor; null where the operator has none
        kData,         // its memory alone, where descriptors are separate
        kInteger,      // an attribute
        kDimension,    // an attribute that counts dimensions: from 0
        kReal,         // an attribute, as double
        kFloat,        // the same, as float
        kInverseRoot,  // 1 / sqrt(how many elements a tensor has along its last dimension)
        kSize,         // how many elements a tensor has along its last dimension
        kLastSizes,    // the same, as a list of one
        kSizeAlong,    // the same along the dimension that an attribute names
        kHeads,        // the size of dimension 1
        kConstant,     // of the row
        kNumber,       // of the row, as float
        kSizeOf,       // the size of a dimension (`constant`) of a tensor
        kScalar,       // the library's object of a number of the row
        kWhole,        // the same, of an integer
        kLastIndex,    // the same, of the last index of a tensor along the dimension that an
                       // attribute (`constant`) names; -1: along its last one
        kListed,       // the first entry of an attribute that is a list
        kTensorList,   // the library's list of one tensor
        kObject,       // of the row
        kHostFloat,    // where the host has a float of the row
        kType,         // the library's number of a tensor's dtype
        kEnumerator,   // of the vendor's header, by its name
        kLastDim,      // the number of the last dimension
        kText,         // of the row
        kNull,         // no object
        kHandle,       // of the library
        kWorkspace,    // and its size, in bytes
        kWorkspaceBytes,
        kBytesOut,  // where the library writes how much it wants
    };
    Kind kind;
    int index = 0;  // of a tensor (those of the operator, then those that the row adds), attribute
    double constant = 0;
    const char *text = nullptr;
};

namespace pieces {
constexpr Piece tensor(int index) { return {Piece::kTensor, index, 0, nullptr}; }
constexpr Piece data(int index) { return {Piece::kData, index, 0, nullptr}; }
constexpr Piece integer(int attribute) { return {Piece::kInteger, attribute, 0, nullptr}; }
constexpr Piece dimension(int attribute) { return {Piece::kDimension, attribute, 0, nullptr}; }
constexpr Piece real(int attribute) { return {Piece::kReal, attribute, 0, nullptr}; }
constexpr Piece narrow(int attribute) { return {Piece::kFloat, attribute, 0, nullptr}; }
constexpr Piece inverse_root(int tensor) { return {Piece::kInverseRoot, tensor, 0, nullptr}; }
constexpr Piece size(int tensor) { return {Piece::kSize, tensor, 0, nullptr}; }
constexpr Piece last_sizes(int tensor) { return {Piece::kLastSizes, tensor, 0, nullptr}; }
constexpr Piece size_along(int attribute) { return {Piece::kSizeAlong, attribute, 0, nullptr}; }
constexpr Piece number(int value) { return {Piece::kNumber, 0, double(value), nullptr}; }
constexpr Piece size_of(int tensor, int dim) {
    return {Piece::kSizeOf, tensor, double(dim), nullptr};
}
constexpr Piece heads(int tensor) { return {Piece::kHeads, tensor, 0, nullptr}; }
constexpr Piece constant(int64_t value) { return {Piece::kConstant, 0, double(value), nullptr}; }
constexpr Piece scalar(double value) { return {Piece::kScalar, 0, value, nullptr}; }
constexpr Piece whole(int64_t value) { return {Piece::kWhole, 0, double(value), nullptr}; }
constexpr Piece last_index(int tensor, int attribute) {
    return {Piece::kLastIndex, tensor, double(attribute), nullptr};
}
constexpr Piece listed(int attribute) { return {Piece::kListed, attribute, 0, nullptr}; }
constexpr Piece tensor_list(int index) { return {Piece::kTensorList, index, 0, nullptr}; }
constexpr Piece object(int index) { return {Piece::kObject, index, 0, nullptr}; }
constexpr Piece host_float(int value) { return {Piece::kHostFloat, 0, double(value), nullptr}; }
constexpr Piece type(int tensor) { return {Piece::kType, tensor, 0, nullptr}; }
constexpr Piece enumerator(const char *name) { return {Piece::kEnumerator, 0, 0, name}; }
constexpr Piece last_dimension(int tensor) { return {Piece::kLastDim, tensor, 0, nullptr}; }
constexpr Piece text(const char *words) { return {Piece::kText, 0, 0, words}; }
constexpr Piece null() { return {Piece::kNull, 0, 0, nullptr}; }
constexpr Piece handle() { return {Piece::kHandle, 0, 0, nullptr}; }
constexpr Piece workspace() { return {Piece::kWorkspace, 0, 0, nullptr}; }
constexpr Piece workspace_bytes() { return {Piece::kWorkspaceBytes, 0, 0, nullptr}; }
constexpr Piece bytes_out() { return {Piece::kBytesOut, 0, 0, nullptr}; }
}  // namespace pieces

// ---- Rows ---------------------------------------------------------------------------------------

// A tensor that the operator does not have.
struct Extra {
    Shape shape;
    int of = -1;                // a part of that tensor; -1: memory of the plan's own
    int64_t offset = 0;         // in elements
    std::vector<char> content;  // what the memory has from the beginning; empty: nothing
};

struct Step {
    const char *function;
    std::initializer_list<Piece> arguments;
    // Where the library tells how much workspace it wants by a function of its own.
    const char *workspace_function = nullptr;
    std::initializer_list<Piece> workspace_arguments{};
};

// What a row's functions need besides tensors: a descriptor that one function makes, a second one
// fills (its first argument is the descriptor, the others follow), and a third one destroys.
struct Object {
    const char *create, *destroy, *set;
    std::initializer_list<Piece> arguments;
};

// When a row is right. `words` go into the sentence that refuses: "F16 or BF16".
struct Condition {
    bool (*holds)(const Operation &operation);
    const char *words;
};

// Without steps: a refusal, and `doubt` says why there are no functions for the operator.
struct OperatorRow {
    const char *operation;
    std::initializer_list<Condition> conditions;
    std::initializer_list<Step> steps;
    std::vector<Extra> (*extras)(const Operation &operation) = nullptr;
    Confidence confidence = Confidence::kHigh;
    const char *doubt = nullptr;
    bool own_workspace = false;  // the operator's functions have no way to pass one
    std::initializer_list<Object> objects{};
};

// The row for an operation; null: the library is not for it. Where it has functions that do not
// take this case, and there is no program to evaluate instead, throws a Refusal that says what they
// take.
const OperatorRow *find_row(const OperatorRow *rows, int count, const Operation &operation);
// "aclnnX (low: why); ..." of rows that are not certain.
std::string doubts_of(const OperatorRow *rows, int count);

// ---- Calling ------------------------------------------------------------------------------------

// Arguments in the vendor's order. Words and floating-point numbers go in registers of their own
// on both supported ABIs, so that each kind needs to be in order only among itself.
struct Call {
    static constexpr int kMostWords = 44, kMostReals = 4;
    uintptr_t words[kMostWords] = {};
    double reals[kMostReals] = {};
    int word_count = 0, real_count = 0;

    void word(uintptr_t value) { words[word_count++] = value; }
    void pointer(const void *value) { word(reinterpret_cast<uintptr_t>(value)); }
    void real(double value) { reals[real_count++] = value; }
    void narrow(float value);
    int operator()(void *function) const;
};

// Memory of a device that keeps what it has; plans with the same share it.
struct Constant {
    static std::shared_ptr<const Constant> of(int device, const std::vector<char> &content);
    ~Constant();

    int device;
    std::vector<char> content;
    void *memory = nullptr;
};

// Tensors of a plan: those of the operator, then the row's own; memory of those that have none is
// the beginning of the workspace.
class PlanTensors {
public:
    PlanTensors(int device, const Operation &operation, const OperatorRow &row);

    const Shape &shape(int index) const { return entries_[size_t(index)].shape; }
    int count() const { return int(entries_.size()); }
    void *data(int index, const Arguments &arguments) const;
    // Bytes of the workspace that are theirs.
    size_t bytes() const { return bytes_; }

private:
    struct Entry {
        Shape shape;
        int of = -1;
        int64_t offset = 0;
        size_t place = 0;                          // in the workspace
        std::shared_ptr<const Constant> constant;  // memory with content
        bool is_given = false;                     // the operator's
    };
    std::vector<Entry> entries_;
    size_t bytes_ = 0;
};

// Workspace of operators whose functions have no way to pass one, or want more than they said:
// memory for each stream, because a plan may run in several at once. What became too small is kept
// with the plan, since a stream may still use it.
class OwnWorkspace {
public:
    explicit OwnWorkspace(int device) : device_(device) {}
    ~OwnWorkspace();
    OwnWorkspace(const OwnWorkspace &) = delete;
    OwnWorkspace &operator=(const OwnWorkspace &) = delete;
    // Null: there is no memory, which was explained, or nothing is wanted.
    void *get(void *stream, size_t bytes) const;

private:
    const int device_;
    mutable std::mutex lock_;
    mutable std::map<void *, std::pair<void *, size_t>> by_stream_;
    mutable std::vector<void *> outgrown_;
};

// Numbers of the operation that pieces name; kept, because plans outlive it.
struct PlanNumbers {
    explicit PlanNumbers(const Operation &operation);
    // The last index along a dimension, for Piece::kLastIndex.
    int64_t last_index(const Piece &piece, const Shape &shape) const;

    std::vector<int64_t> integers, firsts;  // firsts: of lists
    std::vector<double> reals;
};

// What the plans of rows have in common: a vendor's derives from it, and finds out with the plan
// how much workspace its functions want.
class RowPlan : public LibraryPlan {
public:
    RowPlan(int device, const Operation &operation, const OperatorRow &row)
        : tensors_(device, operation, row),
          numbers_(operation),
          own_(device),
          has_own_(row.own_workspace) {}
    int run(void *stream, const Arguments &given, const char **call) const final;

protected:
    virtual int run_steps(void *stream, const Arguments &arguments, const char **call) const = 0;
    // `most`: bytes that one of the functions wants.
    void set_workspace(size_t most);
    char *workspace_of(const Arguments &arguments) const {
        return arguments.workspace() + tensors_.bytes();
    }

    PlanTensors tensors_;
    PlanNumbers numbers_;

private:
    size_t wanted_ = 0;
    OwnWorkspace own_;
    const bool has_own_;
};

// Has one of its tensors no elements? Then there is nothing to do, and libraries refuse.
bool has_nothing(const Step &step, const PlanTensors &tensors);

// Adds a piece that is no object of the library's. False: it is one.
bool add_plain(Call &call, const Piece &piece, const PlanNumbers &numbers,
               const PlanTensors &tensors);

}  // namespace infini::vendor_runtime
