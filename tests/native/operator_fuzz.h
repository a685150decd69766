// Arguments for operators, made up at random: shapes that fit the declaration, then spoiled ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "infiniop.h"

using Sizes = std::vector<int64_t>;

inline Sizes join(std::initializer_list<Sizes> parts) {
    Sizes all;
    for (const Sizes &part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

inline int64_t floor_divide(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a / b; }
inline int64_t modulo(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
// Attributes may have any value: these overflow.
inline int64_t plus(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
inline int64_t minus(int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }
inline int64_t times(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
inline int64_t size_at(const Sizes &sizes, int64_t i) {
    if (i < 0) i += int64_t(sizes.size());
    return i >= 0 && i < int64_t(sizes.size()) ? sizes[size_t(i)] : 0;
}
inline int64_t product(const Sizes &sizes) {
    int64_t count = 1;
    for (int64_t size : sizes) count = times(count, size);
    return count;
}

struct TensorRule {
    uint32_t dtypes;  // allowed ones, a bit each; 0: those of tensor `same`
    int same;
    bool optional, written, dense;
    int array;  // attribute with the number of tensors
};

class Fuzz;

struct Operator {
    const char *name;
    std::vector<TensorRule> tensors;
    int attributes;
    void (*shapes)(Fuzz &);
    infiniStatus_t (*create)(Fuzz &, infiniopHandle_t, InfiniopDescriptor **);
    infiniStatus_t (*workspace)(InfiniopDescriptor *, size_t *);
    std::vector<infiniStatus_t (*)(Fuzz &, InfiniopDescriptor *, void *, size_t, void *)> runs;
    infiniStatus_t (*destroy)(InfiniopDescriptor *);
};

// One case: everything that one create call and its runs are given. Buffers are exactly as large as
// the tensors reach, so that a sanitizer sees any access beyond them.
class Fuzz {
public:
    Fuzz(const Operator &op, uint64_t seed) : op_(op), random_(seed) {
        bool wild = chance(20);
        for (int i = 0; i < op.attributes; ++i) attributes_.push_back(some_number(wild));
        lists_.resize(size_t(op.attributes));
        shapes_.resize(op.tensors.size());
        op.shapes(*this);
        describe();
    }
    ~Fuzz() {
        for (auto &list : described_)
            for (infiniopTensorDescriptor_t descriptor : list)
                if (descriptor) infiniopDestroyTensorDescriptor(descriptor);
        for (void *memory : memory_) std::free(memory);
    }
    Fuzz(const Fuzz &) = delete;

    // ---- For the generated shapes
    int64_t symbol() {
        static constexpr int64_t kUsual[] = {1, 2, 3, 4, 8, 16, 32, 64, 128};
        if (chance(8)) return 0;
        return chance(2) ? kUsual[random_() % std::size(kUsual)] : int64_t(random_() % 12);
    }
    Sizes sizes() {
        // Often of one rank, since many rules want equal ranks.
        if (rank_ == kNoRank || chance(5)) rank_ = random_() % 4;
        Sizes made(rank_);
        for (int64_t &size : made) size = chance(12) ? 0 : 1 + int64_t(random_() % 5);
        return made;
    }
    size_t choice(size_t count) { return random_() % count; }
    Sizes broadcast(Sizes sizes) {
        size_t missing = random_() % (sizes.size() + 1);
        sizes.erase(sizes.begin(), sizes.begin() + long(missing));
        for (int64_t &size : sizes)
            if (chance(3)) size = 1;
        return sizes;
    }
    Sizes reduced(const Sizes &sizes, int attribute) {
        const auto &list = integers(attribute);
        int64_t count = attribute + 1 < op_.attributes ? integer(attribute + 1) : 1;
        Sizes left;
        for (size_t i = 0; i < sizes.size(); ++i) {
            auto end = list.begin() + std::clamp<int64_t>(count, 0, int64_t(list.size()));
            if (std::find(list.begin(), end, int64_t(i)) == end) left.push_back(sizes[i]);
        }
        return left;
    }
    void shape(int tensor, Sizes sizes) { shapes_[size_t(tensor)] = std::move(sizes); }
    int64_t integer(int attribute) const { return int64_t(attributes_[size_t(attribute)]); }
    double number(int attribute) const { return attributes_[size_t(attribute)]; }
    int64_t item(int attribute, int64_t index) {
        const auto &list = integers(attribute);
        return index >= 0 && size_t(index) < list.size() ? list[size_t(index)] : 0;
    }
    bool given(int) const { return true; }

    // ---- For the generated calls
    infiniopTensorDescriptor_t descriptor(int tensor) { return described_[size_t(tensor)][0]; }
    infiniopTensorDescriptor_t *descriptors(int tensor) {
        return described_[size_t(tensor)].data();
    }
    void *data(int tensor) { return data_[size_t(tensor)][0]; }
    const void **data_list(int tensor) {
        return const_cast<const void **>(data_[size_t(tensor)].data());
    }
    const char *text(int) {
        static const char *const kWords[] = {"constant", "reflect",  "replicate", "circular",
                                             "nearest",  "linear",   "bilinear",  "trilinear",
                                             "area",     "nonsense", nullptr};
        return kWords[random_() % std::size(kWords)];
    }
    template <class T>
    T *list(int attribute) {
        if (chance(25)) return nullptr;
        auto *made = static_cast<T *>(memory(kListEntries * sizeof(T)));
        const auto &values = integers(attribute);
        for (size_t i = 0; i < kListEntries; ++i) made[i] = T(values[i]);
        return made;
    }
    template <class T>
    T *fresh_list() {
        auto *made = static_cast<T *>(memory(kListEntries * sizeof(T)));
        for (size_t i = 0; i < kListEntries; ++i) made[i] = T(some_number(false));
        return made;
    }
    double fresh_number() { return some_number(false); }
    int64_t fresh_integer() { return int64_t(some_number(chance(20))); }
    // For pointers without a descriptor: large, and zero.
    void *scratch() {
        void *made = memory(kScratch);
        std::memset(made, 0, kScratch);
        return made;
    }
    // For what an operator allocates for its caller.
    void **result() { return &result_; }
    void free_result() {
        if (std::strcmp(op_.name, "argwhere") == 0)
            delete[] static_cast<int64_t *>(result_);
        else
            std::free(result_);
        result_ = nullptr;
    }
    const void *const *pointers(int attribute) {
        auto count = size_t(std::clamp<int64_t>(integer(attribute), 0, 4096));
        auto *made = static_cast<void **>(memory((count + 1) * sizeof(void *)));
        void *shared = scratch();
        std::fill(made, made + count + 1, shared);
        return made;
    }

    bool too_large() const { return elements_ > (1 << 18); }
    bool chance(uint64_t one_in) { return random_() % one_in == 0; }
    void *memory(size_t bytes) { return memory_.emplace_back(std::malloc(bytes ? bytes : 1)); }
    void null_data() {
        if (!data_.empty()) data_[random_() % data_.size()][0] = nullptr;
    }
    std::string describe_case() const;

private:
    static constexpr size_t kListEntries = 64, kScratch = size_t(1) << 20;

    double some_number(bool wild) {
        static const double kWild[] = {-1,    1e9, -1e9,         9e15,
                                       -9e15, 0.5, 2147483647.0, -2147483648.0};
        if (wild && chance(2)) return kWild[random_() % std::size(kWild)];
        static const double kUsual[] = {0, 0, 1, 1, 1, 2, 2, 3, 4, 8, 16, 64};
        return kUsual[random_() % std::size(kUsual)];
    }
    const Sizes &integers(int attribute) {
        Sizes &list = lists_[size_t(attribute)];
        if (list.empty())
            for (size_t i = 0; i < kListEntries; ++i)
                list.push_back(chance(30) ? -1 : int64_t(random_() % 4));
        return list;
    }
    int pick_dtype(const TensorRule &rule, const std::vector<int> &dtypes) {
        if (chance(40)) return int(random_() % 21);
        if (rule.same >= 0 && rule.same < int(dtypes.size())) return dtypes[size_t(rule.same)];
        int chosen = int(random_() % 20);
        while (rule.dtypes && !(rule.dtypes >> chosen & 1)) chosen = (chosen + 1) % 20;
        return chosen;
    }
    void describe();
    void add_tensor(const TensorRule &rule, size_t tensor, int dtype);

    const Operator &op_;
    std::mt19937_64 random_;
    std::vector<double> attributes_;
    std::vector<Sizes> lists_, shapes_;
    std::vector<std::vector<infiniopTensorDescriptor_t>> described_;
    std::vector<std::vector<void *>> data_;
    std::vector<void *> memory_;
    int64_t elements_ = 0;
    static constexpr size_t kNoRank = SIZE_MAX;
    size_t rank_ = kNoRank;
    void *result_ = nullptr;
};

inline void Fuzz::describe() {
    std::vector<int> dtypes;
    for (size_t i = 0; i < op_.tensors.size(); ++i) {
        const TensorRule &rule = op_.tensors[i];
        dtypes.push_back(pick_dtype(rule, dtypes));
        described_.emplace_back();
        data_.emplace_back();
        int64_t count = rule.array < 0 ? 1 : std::clamp<int64_t>(integer(rule.array), 1, 100);
        for (int64_t k = 0; k < count; ++k) add_tensor(rule, i, dtypes.back());
    }
}

inline void Fuzz::add_tensor(const TensorRule &rule, size_t tensor, int dtype) {
    Sizes sizes = shapes_[tensor];
    if (chance(60) && !sizes.empty()) sizes[random_() % sizes.size()] += 1;
    if (chance(200)) sizes.push_back(2);
    if (chance(400) && !sizes.empty()) sizes[0] = int64_t(1) << (20 + random_() % 44);
    size_t rank = sizes.size();
    std::vector<size_t> shape(sizes.begin(), sizes.end());
    std::vector<ptrdiff_t> strides(rank);
    // Mostly dense; else padded rows, or broadcast, or nonsense.
    bool plain = rule.dense ? !chance(12) : chance(2);
    uint64_t step = 1;
    for (size_t i = rank; i-- > 0;) {
        strides[i] = ptrdiff_t(step & (uint64_t(INT64_MAX) >> 8));
        step *= uint64_t(std::max<int64_t>(sizes[i], 1)) + (plain ? 0 : random_() % 3);
        if (!plain && !rule.written && chance(6)) strides[i] = 0;
    }
    if (chance(300) && rank) strides[random_() % rank] = ptrdiff_t(random_());
    infiniopTensorDescriptor_t made = nullptr;
    bool absent = rule.optional ? chance(2) : chance(100);
    if (!absent)
        infiniopCreateTensorDescriptor(&made, rank, shape.data(), strides.data(),
                                       static_cast<infiniDtype_t>(dtype));
    described_[tensor].push_back(made);
    int64_t reach = 1, count = 1;
    for (size_t i = 0; i < rank && made; ++i) {
        if (sizes[i] == 0) count = 0;
        bool far = strides[i] < 0 || strides[i] > (1 << 20);
        if ((far && sizes[i] > 1) || sizes[i] > (1 << 18)) count = 1 << 20;
        if (count < (1 << 20)) count *= sizes[i];
        if (count <= (1 << 18) && sizes[i] > 1) reach += (sizes[i] - 1) * strides[i];
    }
    size_t bytes = made ? infiniSizeOf(static_cast<infiniDtype_t>(dtype)) : 0;
    if (!made || count == 0) reach = 0;
    if (reach > (1 << 20)) count = 1 << 20;
    elements_ += count;
    if (too_large()) {
        data_[tensor].push_back(nullptr);
        return;
    }
    // One element of room in front, so that addresses are aligned to elements only.
    size_t used = size_t(reach) * bytes;
    char *base = static_cast<char *>(memory(used + bytes));
    for (size_t i = 0; i < used + bytes; ++i)
        base[i] = chance(4) ? char(random_()) : char(random_() % 3);
    bool shifted = chance(2);
    if (!shifted && used) {
        void *exact = memory(used);
        std::memcpy(exact, base, used);
        base = static_cast<char *>(exact);
    } else {
        base += bytes;
    }
    data_[tensor].push_back(used ? base : nullptr);
}

inline std::string Fuzz::describe_case() const {
    std::string text = op_.name;
    for (const Sizes &sizes : shapes_) {
        text += " [";
        for (int64_t size : sizes) text.append(std::to_string(size)).append(",");
        text += "]";
    }
    for (double value : attributes_) text.append(" ").append(std::to_string(value));
    return text;
}
