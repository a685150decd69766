// A declaration's rules, applied to the arguments of a create call. The generated check of each
// operator calls these in three passes: per tensor (presence, dtype, layout), sizes that bind
// symbols, then everything computed from symbols and attributes.
#pragma once

#include <initializer_list>

#include "creation.h"
#include "size_arithmetic.h"

namespace infini::op {

using infini::floor_divide, infini::minus, infini::modulo, infini::plus, infini::times;
using infini::product, infini::size_at;

class Checker {
public:
    Checker(const OperatorInfo &info, Creation &creation) : info_(info), creation_(creation) {}

    // ---- Per tensor
    bool present(int tensor) const { return at(tensor) != nullptr; }
    int rank(int tensor) const { return int(at(tensor)->shape.size()); }
    void dtype(int tensor, uint32_t allowed) const;  // a bit for each infiniDtype_t
    void same_dtype(int tensor, int other) const;
    void sum_dtype(int tensor, int summed) const;  // that of floats, I64 for integers and BOOL
    void inner1(int tensor) const;
    void dense(int tensor) const;
    void writable(int tensor) const;  // no two elements at one place by a stride of 0
    [[noreturn]] void bad_rank(int tensor, const char *expected) const;

    // ---- Symbols
    struct Symbol {
        const char *name;
        bool bound = false;
        int64_t value = 0;
        int tensor = 0;  // that bound it
    };
    struct Sizes {
        const char *name;
        bool bound = false;
        std::vector<int64_t> values = {};
        int tensor = 0;
    };
    void bind(int tensor, int dim, Symbol &symbol) const;
    void bind(int tensor, int from, int to, Sizes &sizes) const;

    // ---- Computed values. `expression` is the declaration's text.
    void expect(int tensor, int dim, int64_t value, const char *expression) const;
    void broadcasts(int tensor, const Sizes &sizes, int behind) const;  // its sizes but the last
    void reduced(int tensor, const Sizes &sizes, int attribute) const;
    void one_element(int tensor) const;
    void demand(bool holds, infiniStatus_t status, const char *condition,
                std::initializer_list<const Symbol *> symbols,
                std::initializer_list<int> attributes) const;

    // For checks at each run.
    void keep(const Symbol &symbol) const { creation_.kept_.push_back(symbol.value); }

    int64_t integer(int attribute) const { return creation_.attributes_[attribute].value.i; }
    double number(int attribute) const { return creation_.attributes_[attribute].number; }
    bool given(int attribute) const { return creation_.attributes_[attribute].list != nullptr; }
    size_t count(int attribute) const { return creation_.attributes_[attribute].count; }
    int64_t item(int attribute, int64_t index) const;
    int64_t extent(const Sizes &sizes, int attribute) const;  // the product of the listed ones

private:
    const InfiniopTensorDescriptor *at(int tensor) const {
        return creation_.tensors_[creation_.first_[tensor]];
    }
    const char *name(int tensor) const { return info_.tensors[tensor].name; }
    // A tensor parameter that is an array: checks each of its members.
    template <class Rule>
    void each(int tensor, Rule rule) const;

    const OperatorInfo &info_;
    Creation &creation_;
};

std::string text_of(const std::vector<int64_t> &sizes);

}  // namespace infini::op
