// A checkpoint's `quantization_config`, accessed by key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "../types.hpp"

namespace infinicore::quantization {

namespace detail {
// Reads values other than numbers and strings; base_quantization.hpp defines it where nlohmann/json
// is installed.
template <typename T>
T parse_json(const std::string &text);
}  // namespace detail

// Constructed from an nlohmann::json object, or from {{"bits", 4}, {"group_size", 128}}. The
// library itself does not use JSON: it is read here, in the user's translation unit.
class INFINI_EXPORT Config {
public:
    // Null, a number, a boolean or a string; lists and objects as their JSON text.
    class Value {
    public:
        Value(std::nullptr_t = nullptr) {}
        Value(bool value) : held_(value) {}
        Value(double value) : held_(value) {}
        Value(const char *text) : held_(std::string(text)) {}
        Value(std::string text) : held_(std::move(text)) {}
        template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
        Value(T value) : held_(int64_t(value)) {}
        static Value of_json(std::string text) {
            Value made;
            made.held_ = Json{std::move(text)};
            return made;
        }

        bool is_null() const { return std::holds_alternative<std::nullptr_t>(held_); }

        // False if it has another type. A boolean is also a number, but not vice versa.
        template <typename T>
        bool read(T &to) const {
            if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
                return take<T>(to);
            } else if constexpr (std::is_arithmetic_v<T>) {
                return take<bool>(to) || take<int64_t>(to) || take<double>(to);
            } else {
                const Json *json = std::get_if<Json>(&held_);
                if (json) to = detail::parse_json<T>(json->text);
                return json != nullptr;
            }
        }

    private:
        struct Json {
            std::string text;
        };
        template <typename Held, typename T>
        bool take(T &to) const {
            const Held *held = std::get_if<Held>(&held_);
            if (held) to = T(*held);
            return held != nullptr;
        }
        std::variant<std::nullptr_t, bool, int64_t, double, std::string, Json> held_ = nullptr;
    };

    Config(std::nullptr_t = nullptr) {}
    Config(std::initializer_list<std::pair<const std::string, Value>> values) : values_(values) {}
    template <typename Json, typename = decltype(std::declval<const Json &>().is_discarded())>
    Config(const Json &json) {
        if (json.is_null()) return;
        if (!json.is_object())
            throw std::runtime_error("quantization::Config: " + json.dump() +
                                     " is given: expected an object");
        for (auto item = json.begin(); item != json.end(); ++item)
            values_.emplace(item.key(), value_of(item.value()));
    }

    const Value *find(const std::string &key) const {
        auto found = values_.find(key);
        return found == values_.end() ? nullptr : &found->second;
    }

    template <typename T>
    T get(const std::string &key) const {
        const Value *value = find(key);
        if (!value)
            throw std::out_of_range("quantization: the configuration has no \"" + key + "\"");
        T made{};
        if (!value->read(made))
            throw std::runtime_error("quantization: \"" + key +
                                     "\" in the configuration is of another type");
        return made;
    }

    // The default if it is absent, null or of another type.
    template <typename T>
    T get_or(const std::string &key, const T &otherwise) const {
        const Value *value = find(key);
        T made{};
        return value && value->read(made) ? made : otherwise;
    }

private:
    template <typename Json>
    static Value value_of(const Json &json) {
        if (json.is_boolean()) return json.template get<bool>();
        if (json.is_number_integer()) return json.template get<int64_t>();
        if (json.is_number()) return json.template get<double>();
        if (json.is_string()) return json.template get<std::string>();
        return json.is_null() ? Value() : Value::of_json(json.dump());
    }

    std::map<std::string, Value> values_;
};

}  // namespace infinicore::quantization
