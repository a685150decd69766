#include "plain_kernels.h"

#include <cmath>
#include <numbers>

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

// The definitions are in spec/operators/declarations/random. An element has one word of the
// sequence, or the two of a wide one.
class Random : public plain::Plan {
public:
    explicit Random(const Operation &operation)
        : shape_(operation.tensor(0)), element_(element_of(shape_)) {}

protected:
    static uint64_t word(const Arguments &arguments, int64_t i, bool wide) {
        const int64_t first = wide ? 2 * i : i;
        uint32_t words[4];
        cpu::philox(words, uint64_t(arguments.integer(0)),
                    uint64_t(arguments.integer(1)) + uint64_t(first / 4), 1);
        const uint32_t *here = words + first % 4;
        return wide ? here[0] | uint64_t(here[1]) << 32 : here[0];
    }
    // The topmost digits of a word, as a number from 0 to 1.
    static double fraction(const Arguments &arguments, int64_t i, int digits) {
        const bool wide = digits > 32;
        return std::ldexp(double(word(arguments, i, wide) >> ((wide ? 64 : 32) - digits)), -digits);
    }
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
        fill<double>(arguments, [&](int64_t i) {
            const volatile double product = span * fraction(arguments, i, digits);
            return low + product;  // rounded twice, as the definition is
        });
    }
};

class Normal final : public Random {
public:
    using Random::Random;
    void run(const Arguments &arguments) const override {
        const int digits = shape_.dtype == INFINI_DTYPE_F64 ? 53 : 24;
        fill<double>(arguments, [&](int64_t i) {
            const double u = fraction(arguments, i / 2 * 2, digits) + std::ldexp(1.0, -digits);
            const double angle = 2 * std::numbers::pi * fraction(arguments, i / 2 * 2 + 1, digits);
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
        fill<int64_t>(arguments, [&](int64_t i) {
            return int64_t(low + uint64_t(Product(word(arguments, i, true)) * span >> 64));
        });
    }
};

}  // namespace

std::unique_ptr<plain::Plan> plan_plain_kernel(const Operation &operation) {
    const std::string_view name = operation.name();
    if (name == "rearrange") return std::make_unique<Rearrange>(operation);
    if (name == "random_uniform") return std::make_unique<Uniform>(operation);
    if (name == "random_normal") return std::make_unique<Normal>(operation);
    if (name == "random_integers") return std::make_unique<Integers>(operation);
    return nullptr;
}

}  // namespace infini::vendor_runtime
