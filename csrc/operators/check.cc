#include "check.h"

namespace infini::op {

std::string text_of(const std::vector<int64_t> &sizes) {
    std::string text = "[";
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (i) text += ", ";
        text += std::to_string(sizes[i]);
    }
    return text + "]";
}

template <class Rule>
void Checker::each(int tensor, Rule rule) const {
    int begin = creation_.first_[tensor];
    int end = tensor + 1 < info_.tensor_count ? creation_.first_[tensor + 1]
                                              : int(creation_.tensors_.size());
    for (int i = begin; i < end; ++i)
        if (creation_.tensors_[i]) rule(*creation_.tensors_[i]);
}

void Checker::dtype(int tensor, uint32_t allowed) const {
    each(tensor, [&](const InfiniopTensorDescriptor &t) {
        if (allowed >> t.dtype & 1) return;
        std::string names;
        for (int dtype = 0; dtype < 32; ++dtype)
            if (allowed >> dtype & 1)
                names += std::string(names.empty() ? "" : ", ") + dtype_name(dtype);
        fail(INFINI_STATUS_BAD_TENSOR_DTYPE, "%s has dtype %s: expected %s%s", name(tensor),
             dtype_name(t.dtype), names.find(',') == std::string::npos ? "" : "one of ",
             names.c_str());
    });
}

void Checker::same_dtype(int tensor, int other) const {
    if (!present(other)) return;
    int expected = at(other)->dtype;
    each(tensor, [&](const InfiniopTensorDescriptor &t) {
        if (t.dtype != expected)
            fail(INFINI_STATUS_BAD_TENSOR_DTYPE, "%s has dtype %s: expected %s, that of %s",
                 name(tensor), dtype_name(t.dtype), dtype_name(expected), name(other));
    });
}

void Checker::sum_dtype(int tensor, int summed) const {
    const int given = at(summed)->dtype;
    const bool real = given == INFINI_DTYPE_F16 || given == INFINI_DTYPE_BF16 ||
                      given == INFINI_DTYPE_F32 || given == INFINI_DTYPE_F64;
    const int expected = real ? given : INFINI_DTYPE_I64;
    if (at(tensor)->dtype != expected)
        fail(INFINI_STATUS_BAD_TENSOR_DTYPE, "%s has dtype %s: expected %s, for sums of %s",
             name(tensor), dtype_name(at(tensor)->dtype), dtype_name(expected), name(summed));
}

void Checker::inner1(int tensor) const {
    each(tensor, [&](const InfiniopTensorDescriptor &t) {
        if (!t.shape.empty() && t.shape.back() > 1 && t.strides.back() != 1)
            fail(INFINI_STATUS_BAD_TENSOR_STRIDES,
                 "%s has stride %lld in its last dimension: expected 1", name(tensor),
                 static_cast<long long>(t.strides.back()));
    });
}

void Checker::dense(int tensor) const {
    each(tensor, [&](const InfiniopTensorDescriptor &t) {
        int64_t expected = 1;
        for (int64_t size : t.shape)
            if (size == 0) return;
        for (size_t i = t.shape.size(); i-- > 0; expected *= t.shape[i])
            if (t.shape[i] != 1 && t.strides[i] != expected)
                fail(INFINI_STATUS_BAD_TENSOR_STRIDES,
                     "%s has strides %s for sizes %s: expected row-major ones without gaps",
                     name(tensor), text_of(t.strides).c_str(), text_of(t.shape).c_str());
    });
}

void Checker::writable(int tensor) const {
    each(tensor, [&](const InfiniopTensorDescriptor &t) {
        for (size_t i = 0; i < t.shape.size(); ++i)
            if (t.strides[i] == 0 && t.shape[i] > 1)
                fail(INFINI_STATUS_BAD_TENSOR_STRIDES,
                     "%s is written and has stride 0 in dimension %zu of size %lld: expected every "
                     "element at a place of its own",
                     name(tensor), i, static_cast<long long>(t.shape[i]));
    });
}

void Checker::bad_rank(int tensor, const char *expected) const {
    fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "%s has shape %s: expected %s", name(tensor),
         text_of(at(tensor)->shape).c_str(), expected);
}

void Checker::bind(int tensor, int dim, Symbol &symbol) const {
    int64_t size = at(tensor)->shape[dim];
    if (!symbol.bound) {
        symbol.bound = true;
        symbol.value = size;
        symbol.tensor = tensor;
    } else if (size != symbol.value) {
        fail(INFINI_STATUS_BAD_TENSOR_SHAPE,
             "%s has shape %s, size %lld in dimension %d: expected %s = %lld as in %s",
             name(tensor), text_of(at(tensor)->shape).c_str(), static_cast<long long>(size), dim,
             symbol.name, static_cast<long long>(symbol.value), name(symbol.tensor));
    }
}

void Checker::bind(int tensor, int from, int to, Sizes &sizes) const {
    const std::vector<int64_t> &shape = at(tensor)->shape;
    std::vector<int64_t> values(shape.begin() + from, shape.begin() + to);
    if (!sizes.bound) {
        sizes.bound = true;
        sizes.values = std::move(values);
        sizes.tensor = tensor;
    } else if (values != sizes.values) {
        fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "%s has shape %s: expected %s = %s as in %s",
             name(tensor), text_of(shape).c_str(), sizes.name, text_of(sizes.values).c_str(),
             name(sizes.tensor));
    }
}

void Checker::expect(int tensor, int dim, int64_t value, const char *expression) const {
    const std::vector<int64_t> &shape = at(tensor)->shape;
    if (shape[dim] != value)
        fail(INFINI_STATUS_BAD_TENSOR_SHAPE,
             "%s has shape %s, size %lld in dimension %d: expected %lld (%s)", name(tensor),
             text_of(shape).c_str(), static_cast<long long>(shape[dim]), dim,
             static_cast<long long>(value), expression);
}

void Checker::one_element(int tensor) const {
    const std::vector<int64_t> &shape = at(tensor)->shape;
    if (shape.size() > 1 || (shape.size() == 1 && shape[0] != 1))
        fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "%s has shape %s: expected [] or [1] with a reduction",
             name(tensor), text_of(shape).c_str());
}

void Checker::reduced(int tensor, const Sizes &sizes, int attribute) const {
    const InfiniAttribute &dims = creation_.attributes_[attribute];
    std::vector<int64_t> kept = sizes.values, left;
    std::vector<bool> gone(kept.size(), false);
    bool list = dims.list != nullptr;
    for (size_t i = 0; i < (list ? dims.count : 1); ++i) {
        int64_t dim = list ? item(attribute, int64_t(i)) : dims.value.i;
        if (!list && dim < 0) dim += int64_t(kept.size());
        if (dim < 0 || size_t(dim) >= kept.size() || gone[size_t(dim)])
            fail(INFINI_STATUS_BAD_PARAM,
                 "%s holds %lld: expected each dimension below %zu at most once",
                 info_.attributes[attribute], static_cast<long long>(dim), kept.size());
        gone[size_t(dim)] = true;
        kept[size_t(dim)] = 1;
    }
    for (size_t i = 0; i < kept.size(); ++i)
        if (!gone[i]) left.push_back(kept[i]);
    const std::vector<int64_t> &shape = at(tensor)->shape;
    bool one = left.empty() && shape.size() == 1 && shape[0] == 1;
    if (shape != left && shape != kept && !one)
        fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "%s has shape %s: expected %s, or %s with keepdim",
             name(tensor), text_of(shape).c_str(), text_of(left).c_str(), text_of(kept).c_str());
}

void Checker::broadcasts(int tensor, const Sizes &sizes, int behind) const {
    if (!sizes.bound) return;
    each(tensor, [&](const InfiniopTensorDescriptor &whole) {
        InfiniopTensorDescriptor t{whole.dtype, whole.shape, {}};
        t.shape.resize(t.shape.size() - size_t(behind));
        size_t rank = t.shape.size(), full = sizes.values.size();
        bool fits = rank <= full;
        for (size_t i = 0; fits && i < rank; ++i) {
            int64_t size = t.shape[rank - 1 - i];
            fits = size == 1 || size == sizes.values[full - 1 - i];
        }
        if (!fits)
            fail(INFINI_STATUS_BAD_TENSOR_SHAPE,
                 "%s has shape %s: expected one that broadcasts to %s", name(tensor),
                 text_of(t.shape).c_str(), text_of(sizes.values).c_str());
    });
}

void Checker::demand(bool holds, infiniStatus_t status, const char *condition,
                     std::initializer_list<const Symbol *> symbols,
                     std::initializer_list<int> attributes) const {
    if (holds) return;
    std::string values;
    auto add = [&](const std::string &name, const std::string &value) {
        values += (values.empty() ? "" : ", ") + name + " = " + value;
    };
    for (const Symbol *symbol : symbols) add(symbol->name, std::to_string(symbol->value));
    for (int attribute : attributes) {
        if (given(attribute)) {
            std::vector<int64_t> items;
            for (size_t i = 0; i < count(attribute); ++i)
                items.push_back(item(attribute, int64_t(i)));
            add(info_.attributes[attribute], text_of(items));
            continue;
        }
        char text[32];
        snprintf(text, sizeof text, "%g", number(attribute));
        add(info_.attributes[attribute], text);
    }
    fail(status, "expected %s, but %s", condition,
         values.empty() ? "it is not so" : values.c_str());
}

int64_t Checker::item(int attribute, int64_t index) const {
    const InfiniAttribute &list = creation_.attributes_[attribute];
    if (!list.list || index < 0 || size_t(index) >= list.count) return 0;
    return static_cast<const int64_t *>(list.list)[index];
}

int64_t Checker::extent(const Sizes &sizes, int attribute) const {
    const InfiniAttribute &dims = creation_.attributes_[attribute];
    if (!dims.list) return size_at(sizes, dims.value.i);
    int64_t result = 1;
    for (size_t i = 0; i < dims.count; ++i)
        result = times(result, size_at(sizes, item(attribute, int64_t(i))));
    return result;
}

}  // namespace infini::op
