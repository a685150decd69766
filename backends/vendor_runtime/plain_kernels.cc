#include "plain_kernels.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <string_view>

#include "kernels/random/philox.h"

namespace infini::vendor_runtime {
namespace {

// Calls body(offset...) for each index in row-major order: offsets of elements, one for each shape.
template <class Body, class... Shapes>
void each_element(const Body &body, const Shape &first, const Shapes &...others) {
    int64_t count = 1;
    for (int i = 0; i < first.ndim; ++i) count *= first.size[i];
    auto offset = [&](const Shape &shape, int64_t number) {
        int64_t sum = 0;
        for (int i = first.ndim - 1; i >= 0; number /= first.size[i--])
            sum += number % first.size[i] * shape.stride[i];
        return sum;
    };
    for (int64_t i = 0; i < count; ++i) body(i, offset(first, i), offset(others, i)...);
}

int64_t element_of(const Shape &shape) {
    return int64_t(infiniSizeOf(static_cast<infiniDtype_t>(shape.dtype)));
}

class Rearrange final : public plain::Plan {
public:
    explicit Rearrange(const Operation &operation)
        : to_(operation.tensor(0)), from_(operation.tensor(1)), element_(element_of(to_)) {}

    void run(const Arguments &arguments) const override {
        each_element(
            [&](int64_t, int64_t to, int64_t from) {
                std::memcpy(arguments.pointer<char>(0) + to * element_,
                            arguments.pointer<char>(1) + from * element_, size_t(element_));
            },
            to_, from_);
    }

private:
    const Shape to_, from_;
    const int64_t element_;
};

// The sums have no terms: beta * c is what is left.
class EmptyProduct final : public plain::Plan {
public:
    explicit EmptyProduct(const Operation &operation)
        : shape_(operation.tensor(0)), element_(element_of(shape_)) {}

    void run(const Arguments &arguments) const override {
        const auto storage = plain::storage_of<double>(shape_.dtype);
        const double beta = arguments.number(1);
        each_element(
            [&](int64_t, int64_t offset) {
                char *c = arguments.pointer<char>(0) + offset * element_;
                storage.store(c, beta == 0 ? 0 : beta * storage.load(c));
            },
            shape_);
    }

private:
    const Shape shape_;
    const int64_t element_;
};

// The words of a run's sequence, of 32 bits or of 64, one for each element.
class Words {
public:
    Words(const Arguments &arguments, bool wide)
        : seed_(uint64_t(arguments.integer(0))),
          offset_(uint64_t(arguments.integer(1))),
          wide_(wide) {}

    uint64_t operator()(int64_t i) {
        const int64_t first = wide_ ? 2 * i : i, chunk = first / kChunk;
        if (chunk != made_) {
            cpu::philox(words_, seed_, offset_ + uint64_t(chunk) * kBlocks, kBlocks);
            made_ = chunk;
        }
        const uint32_t *here = words_ + first % kChunk;
        return wide_ ? here[0] | uint64_t(here[1]) << 32 : here[0];
    }

private:
    static constexpr int kBlocks = 16, kChunk = 4 * kBlocks;
    const uint64_t seed_, offset_;
    const bool wide_;
    int64_t made_ = -1;
    uint32_t words_[kChunk];
};

// The topmost digits of words, as numbers from 0 to 1.
class Fractions {
public:
    Fractions(const Arguments &arguments, int digits)
        : words_(arguments, digits > 32), digits_(digits) {}
    double operator()(int64_t i) {
        return std::ldexp(double(words_(i) >> ((digits_ > 32 ? 64 : 32) - digits_)), -digits_);
    }

private:
    Words words_;
    const int digits_;
};

// Of the definitions in spec/operators/declarations/random.
class Random : public plain::Plan {
public:
    explicit Random(const Operation &operation)
        : shape_(operation.tensor(0)), element_(element_of(shape_)) {}

protected:
    template <class V, class Make>
    void fill(const Arguments &arguments, const Make &make) const {
        const auto storage = plain::storage_of<V>(shape_.dtype);
        each_element(
            [&](int64_t i, int64_t to) {
                storage.store(arguments.pointer<char>(0) + to * element_, make(i));
            },
            shape_);
    }

    const Shape shape_;
    const int64_t element_;
};

class Uniform final : public Random {
public:
    using Random::Random;
    void run(const Arguments &arguments) const override {
        const int digits = shape_.dtype == INFINI_DTYPE_F16    ? 11
                           : shape_.dtype == INFINI_DTYPE_BF16 ? 8
                           : shape_.dtype == INFINI_DTYPE_F32  ? 24
                                                               : 53;
        const double low = arguments.number(2), span = arguments.number(3) - low;
        Fractions u(arguments, digits);
        fill<double>(arguments, [&](int64_t i) {
            const volatile double product = span * u(i);  // rounded here, as by the definition
            return low + product;
        });
    }
};

class Normal final : public Random {
public:
    using Random::Random;
    void run(const Arguments &arguments) const override {
        const int digits = shape_.dtype == INFINI_DTYPE_F64 ? 53 : 24;
        Fractions fraction(arguments, digits);
        fill<double>(arguments, [&](int64_t i) {
            const double u = fraction(i / 2 * 2) + std::ldexp(1.0, -digits);
            const double angle = 2 * std::numbers::pi * fraction(i / 2 * 2 + 1);
            const double radius = std::sqrt(-2 * std::log(u));
            return arguments.number(2) +
                   arguments.number(3) * radius * (i % 2 ? std::sin(angle) : std::cos(angle));
        });
    }
};

class Integers final : public Random {
public:
    using Random::Random;
    void run(const Arguments &arguments) const override {
        using Product = unsigned __int128;
        const auto low = uint64_t(arguments.integer(2));
        const uint64_t span = uint64_t(arguments.integer(3)) - low;
        Words word(arguments, true);
        fill<int64_t>(arguments, [&](int64_t i) {
            return int64_t(low + uint64_t(Product(word(i)) * span >> 64));
        });
    }
};

}  // namespace

bool is_empty_product(const Operation &operation) {
    return operation.name() == std::string_view("gemm") &&
           (operation.tensor(0).numel() == 0 || operation.tensor(1).size(-1) == 0);
}

std::unique_ptr<plain::Plan> plan_plain_kernel(const Operation &operation) {
    const std::string_view name = operation.name();
    if (name == "rearrange") return std::make_unique<Rearrange>(operation);
    if (is_empty_product(operation)) return std::make_unique<EmptyProduct>(operation);
    if (name == "random_uniform") return std::make_unique<Uniform>(operation);
    if (name == "random_normal") return std::make_unique<Normal>(operation);
    if (name == "random_integers") return std::make_unique<Integers>(operation);
    return nullptr;
}

}  // namespace infini::vendor_runtime
