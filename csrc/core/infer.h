// Shapes and dtypes of an operator's results, from its inputs and attributes.
//
// The declarations become the tables below. Inputs bind the symbols of their declared shapes,
// equations give further ones, and the results' shapes follow. Shapes that contradict a declaration
// are left to the operator's check, which reports the expected shape.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "rows.h"
#include "size_arithmetic.h"
#include "step.h"

namespace infinicore::detail {

using Dims = std::vector<int64_t>;

// ---- Tables -------------------------------------------------------------------------------------

// An entry of a declared shape. Kinds: s a symbol; * a list of sizes, ~ one that broadcasts to it;
// = an expression; - the list before it without the dimensions that an attribute lists; / a single
// element unless an attribute is 0.
struct DeclaredSize {
    char kind;
    signed char index;
};

struct DeclaredShape {
    const DeclaredSize *sizes;
    int count;
};

struct DeclaredTensor {
    const char *name;
    int place;  // index of the tensor; after them: a pointer without a descriptor
    bool is_result, optional, is_array;
    const DeclaredShape *shapes;  // alternatives
    int shape_count;
    const char *conditions;  // expressions that select the alternative of a result, as letters
    const char *same_dtype;  // tensors whose dtype a result has if they are present, as letters
    signed char sum_of;      // the tensor whose sums have its dtype; -1: none
    uint32_t dtypes;         // a bit for each that is allowed
};

// An expression needs symbols and lists: a bit for each.
struct Needs {
    uint32_t symbols, lists;
};

struct DerivedSize {
    bool is_list;
    signed char index, expression;
};

class Inference;

struct InferenceRules {
    const DeclaredTensor *tensors;
    const char *const *symbols, *const *lists;  // names
    const Needs *needs;                         // by expression
    const char *equations;                      // expressions that are 0, as letters
    const DerivedSize *derived;
    const char *together;  // lists that several inputs broadcast to, as letters
    int tensor_count, symbol_count, list_count, derived_count;
    int keepdim;  // the attribute that keeps reduced dimensions with size 1; -1: none
    int64_t (*number)(const Inference &, int expression);
    Dims (*list)(const Inference &, int expression);
};

extern const InferenceRules kInferenceRules[];  // in the order of kRows

// ---- Inference ----------------------------------------------------------------------------------

struct InferredTensor {
    int place;
    Dims shape;
    int dtype;  // infiniDtype_t of a result; -1: an input to expand to this shape
};

// The inputs do not determine a result's shape or dtype.
class UnknownResult : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Operand {
    int dtype;
    Dims shape;
};

// `operands` by place: empty where absent, several for an array. Throws UnknownResult, or
// std::invalid_argument for shapes that do not broadcast.
INFINI_EXPORT std::vector<InferredTensor> infer(const Row &row, int run,
                                                std::vector<std::vector<Operand>> operands,
                                                const Values &attributes, const Values &scalars);

// The variables of the generated expressions.
class Inference {
public:
    struct Symbol {
        bool bound = false;
        int64_t value = 0;
    };
    struct Sizes {
        bool bound = false;
        Dims values = {};
        std::vector<Dims> loose = {};  // what broadcasts to it
    };

    Inference(const Row &row, int run, std::vector<std::vector<Operand>> operands,
              const Values &attributes, const Values &scalars);
    std::vector<InferredTensor> run();

    const Symbol &symbol(int index) const { return symbols_[size_t(index)]; }
    const Sizes &list(int index) const { return lists_[size_t(index)]; }
    bool present(int tensor) const { return !operands_[size_t(tensor)].empty(); }
    int rank(int tensor) const { return int(operands_[size_t(tensor)].at(0).shape.size()); }
    int64_t total(int tensor, int64_t dim) const;  // of an array: the sum of the sizes there

    int64_t integer(int attribute) const { return attributes_.values[size_t(attribute)].i; }
    double number(int attribute) const;
    int64_t scalar(int index) const { return scalars_.values[size_t(index)].i; }
    bool given(int attribute) const { return attributes_.values[size_t(attribute)].list; }
    size_t count(int attribute) const { return attributes_.counts[size_t(attribute)]; }
    int64_t item(int attribute, int64_t index) const;
    bool is_list(int attribute) const;
    Dims integers(int attribute) const;  // empty when it is not given
    std::vector<double> numbers(int attribute) const;
    int64_t extent(const Sizes &sizes, int attribute) const;

private:
    struct Equation {
        int expression;
        int64_t value;
    };

    Operand *single(const DeclaredTensor &tensor);
    void broadcast_operands();
    void bind(const DeclaredTensor &tensor);
    void bind(const DeclaredShape &declared, const Dims &shape);
    void solve();
    bool solve(const Equation &equation);
    bool derive(const DerivedSize &derived);
    bool is_known(int expression) const;
    void add_result(const DeclaredTensor &tensor);
    bool shape_of(const DeclaredShape &declared, Dims &shape, std::string &unknown) const;
    int dtype_of(const DeclaredTensor &tensor) const;
    [[noreturn]] void unknown(const DeclaredTensor &tensor, const std::string &what) const;

    const Row &row_;
    const InferenceRules &rules_;
    const Values &attributes_, &scalars_;
    std::vector<std::vector<Operand>> operands_;
    std::vector<Symbol> symbols_;
    std::vector<Sizes> lists_;
    std::vector<Equation> equations_;
    std::vector<InferredTensor> inferred_;
};

// ---- Functions that declarations name in `sizes` --------------------------------------------------

// Thrown if the attributes do not determine the sizes either.
struct NotGiven {};

Dims operator+(Dims first, const Dims &second);  // concatenation
Dims replaced(const Dims &sizes, int64_t dim, int64_t size);
Dims products(const Dims &a, const Dims &b);
// Windows over images; lists that are not given are all 0 (padding) or 1, a stride is the kernel's.
int64_t conv_size(int64_t size, int64_t dim, const Dims &kernel, const Dims &pads,
                  const Dims &strides, const Dims &dilations);
Dims conv_sizes(const Dims &sizes, const Dims &kernel, const Dims &pads, const Dims &strides,
                const Dims &dilations);
Dims conv_transpose_sizes(const Dims &sizes, const Dims &kernel, const Dims &pads,
                          const Dims &strides, const Dims &dilations, const Dims &output_pads);
int64_t pool_size(int64_t size, int64_t dim, const Dims &kernel, const Dims &strides,
                  const Dims &pads);
Dims pool_sizes(const Dims &sizes, const Dims &kernel, const Dims &strides, const Dims &pads,
                const Dims &dilations, bool ceil_mode);
Dims padded_sizes(const Dims &sizes, const Dims &pads);  // two for each dimension, the last first
Dims scaled_sizes(const Dims &sizes, const Dims &size, const std::vector<double> &factors);

}  // namespace infinicore::detail
