#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "config.hpp"
#include "quantization_scheme.hpp"

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>

template <typename T>
T infinicore::quantization::detail::parse_json(const std::string &text) {
    return nlohmann::json::parse(text).get<T>();
}
#endif

namespace infinicore::quantization {

// Defines which tensors a linear layer loads and how it multiplies with them.
class INFINI_EXPORT BaseQuantization {
public:
    explicit BaseQuantization(Config quant_config = {}) : quant_config_(std::move(quant_config)) {}
    virtual ~BaseQuantization();

    virtual QuantScheme get_quant_scheme() const = 0;

    const Config &get_config() const { return quant_config_; }
    template <typename T>
    T get(const std::string &key) const {
        return quant_config_.get<T>(key);
    }
    template <typename T>
    T get_or(const std::string &key, const T &default_value) const {
        return quant_config_.get_or<T>(key, default_value);
    }

protected:
    Config quant_config_;
};

// 4-bit weights, eight to a word, with a scale and a zero point for each group of inputs.
class INFINI_EXPORT GroupQuantization : public BaseQuantization {
public:
    using BaseQuantization::BaseQuantization;
    int get_bits() const { return get_or<int>("bits", get_or<int>("w_bit", 4)); }
    int get_packing_num() const {
        const int bits = get_bits();
        if (bits < 1 || bits > 32)
            throw std::runtime_error("quantization: bits is " + std::to_string(bits) +
                                     ": expected 1 to 32");
        return 32 / bits;
    }
    int get_group_size() const { return get_or<int>("group_size", 128); }  // -1: all inputs
};

}  // namespace infinicore::quantization
