#include "infinicore/nn/module.hpp"

#include <algorithm>
#include <stdexcept>

#include "layout.h"

namespace infinicore::nn {

using namespace detail;

namespace {

std::string joined(const std::string &prefix, const std::string &name) {
    return prefix.empty() ? name : prefix + "." + name;
}

// An unknown name, with some existing names: those with a common prefix come first.
[[noreturn]] void fail_unknown(const char *function, const std::string &name,
                               std::vector<std::string> known) {
    auto common = [&](const std::string &other) {
        size_t length = std::min(name.size(), other.size());
        return std::mismatch(name.begin(), name.begin() + Stride(length), other.begin()).first -
               name.begin();
    };
    std::sort(known.begin(), known.end(), [&](const auto &a, const auto &b) {
        return std::make_pair(-common(a), a) < std::make_pair(-common(b), b);
    });
    std::string text = "\"" + name + "\" is no parameter of the module: expected one of its " +
                       std::to_string(known.size());
    for (size_t i = 0; i < known.size() && i < 3; ++i)
        text += (i ? ", \"" : ", e.g. \"") + known[i] + "\"";
    fail(function, text);
}

// Runs a load, and names the parameter in what it throws.
template <class Load>
void named(const char *function, const std::string &name, Load load) {
    try {
        load();
    } catch (const std::exception &error) {
        fail(function, "\"" + name + "\": " + error.what());
    }
}

}  // namespace

Module::~Module() = default;

void Module::process_weights_after_loading() {}
void Module::reset_runtime_state() const {}

// ---- The tree -----------------------------------------------------------------------------------

Tensor Module::register_parameter(const std::string &name, Parameter param) {
    return parameters_[name] = std::move(param);
}

Tensor Module::register_buffer(const std::string &name, Parameter buffer) {
    return buffers_[name] = std::move(buffer);
}

void Module::keep_module(const std::string &name, std::shared_ptr<Module> submodule) {
    if (!submodule) fail("Module::add_module", "\"" + name + "\" is null: expected a module");
    submodules_[name] = std::move(submodule);
}

void Module::collect(const std::string &prefix,
                     std::unordered_map<std::string, Parameter> &all) const {
    for (const auto &[name, parameter] : parameters_) all.emplace(joined(prefix, name), parameter);
    // Of several parameters with the same name the first is kept, as find() returns it.
    std::vector<const std::string *> names;
    for (const auto &[name, child] : submodules_) names.push_back(&name);
    std::sort(names.begin(), names.end(),
              [](const auto *a, const auto *b) { return a->size() > b->size(); });
    for (const std::string *name : names)
        submodules_.at(*name)->collect(joined(prefix, *name), all);
}

void Module::collect(const std::string &prefix,
                     std::unordered_map<std::string, Module *> &all) const {
    for (const auto &[name, child] : submodules_) {
        all.insert_or_assign(joined(prefix, name), child.get());
        child->collect(joined(prefix, name), all);
    }
}

std::unordered_map<std::string, Parameter> Module::state_dict() const {
    std::unordered_map<std::string, Parameter> all;
    collect("", all);
    return all;
}

std::vector<std::string> Module::state_dict_keys() const {
    std::vector<std::string> keys;
    for (const auto &[name, parameter] : state_dict()) keys.push_back(name);
    std::sort(keys.begin(), keys.end());
    return keys;
}

std::unordered_map<std::string, Module *> Module::modules_dict() const {
    std::unordered_map<std::string, Module *> all;
    collect("", all);
    return all;
}

Parameter *Module::find(const std::string &name) {
    if (auto own = parameters_.find(name); own != parameters_.end()) return &own->second;
    for (size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0;
         dot = name.rfind('.', dot - 1)) {
        auto child = submodules_.find(name.substr(0, dot));
        if (child == submodules_.end()) continue;
        if (Parameter *found = child->second->find(name.substr(dot + 1))) return found;
    }
    return nullptr;
}

Parameter &Module::get(const char *function, const std::string &name) {
    Parameter *found = find(name);
    if (!found) fail_unknown(function, name, state_dict_keys());
    return *found;
}

// ---- Loading ------------------------------------------------------------------------------------

void Module::load_parameter(const std::string &name, const Tensor &param) {
    const char *function = "Module::load_parameter";
    Parameter &target = get(function, name);
    named(function, name, [&] { target.load(param); });
}

void Module::load_parameter_(const std::string &name, const Tensor &param) {
    load_parameter(name, param);
}

void Module::load_parameter_no_sync(const std::string &name, const Tensor &param) {
    const char *function = "Module::load_parameter_no_sync";
    Parameter &target = get(function, name);
    named(function, name, [&] { target.load_no_sync(param); });
}

void Module::load_parameter_from_blob(const std::string &name, const void *data) {
    const char *function = "Module::load_parameter_from_blob";
    Parameter &target = get(function, name);
    named(function, name, [&] { target.load_blob(data); });
}

void Module::load_state_dict(const std::unordered_map<std::string, Tensor> &state_dict) {
    const char *function = "Module::load_state_dict";
    // All names are looked up before anything is changed.
    for (const auto &[name, tensor] : state_dict) get(function, name);
    for (const auto &[name, tensor] : state_dict)
        named(function, name, [&] { find(name)->load(tensor); });
}

void Module::load_parameters_no_sync(const std::unordered_map<std::string, Tensor> &params,
                                     bool strict) {
    const char *function = "Module::load_parameters_no_sync";
    if (strict)
        for (const auto &[name, tensor] : params) get(function, name);
    for (const auto &[name, tensor] : params)
        if (Parameter *target = find(name))
            named(function, name, [&] { target->load_no_sync(tensor); });
}

}  // namespace infinicore::nn
