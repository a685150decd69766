// Modules: trees of parameters with dotted names, as in checkpoints.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

// Some engines expect this header to include spdlog. It is used header-only, so that programs need
// not link its library.
#if __has_include(<spdlog/spdlog.h>) && !defined(INFINI_BUILD)
#if !defined(SPDLOG_COMPILED_LIB) && !defined(FMT_VERSION) && !defined(FMT_HEADER_ONLY)
#define FMT_HEADER_ONLY
#endif
#include <spdlog/spdlog.h>
#endif

#include "../context/context.hpp"
#include "../tensor.hpp"
#include "parameter.hpp"

namespace infinicore::nn {

// A module owns parameters, buffers (tensors that are not loaded) and child modules. Names may
// contain dots: in "layers.0.q_proj.weight" the child is "layers.0" and its parameter
// "q_proj.weight", if it has one of that name. If several children match, the one with the longest
// name is tried first.
class INFINI_EXPORT Module {
public:
    Module() = default;
    virtual ~Module();

    // The parameters of this module and of those below it, by name.
    std::unordered_map<std::string, Parameter> state_dict() const;
    std::vector<std::string> state_dict_keys() const;

    // Unknown names, wrong shapes and wrong element types throw an error that names the parameter.
    // Parameters that are not mentioned are unchanged.
    void load_state_dict(const std::unordered_map<std::string, Tensor> &state_dict);
    void load_parameter(const std::string &name, const Tensor &param);
    void load_parameter_(const std::string &name, const Tensor &param);
    void load_parameter_from_blob(const std::string &name, const void *data);
    // These only enqueue the copies; the tensors must not change until the caller synchronises the
    // stream. Unknown names are an error only if `strict`.
    void load_parameter_no_sync(const std::string &name, const Tensor &param);
    void load_parameters_no_sync(const std::unordered_map<std::string, Tensor> &params,
                                 bool strict = true);

    // The modules below this one, by dotted name.
    std::unordered_map<std::string, Module *> modules_dict() const;
    const std::unordered_map<std::string, std::shared_ptr<Module>> &children() const {
        return submodules_;
    }

    // Hooks for engines, which call them on every module of a tree. Both do nothing here.
    virtual void process_weights_after_loading();
    virtual void reset_runtime_state() const;

protected:
    // Registering a name again replaces the earlier one.
    Tensor register_parameter(const std::string &name, Parameter param);
    Tensor register_buffer(const std::string &name, Parameter buffer);

    template <typename M>
    std::shared_ptr<M> add_module(const std::string &name, std::shared_ptr<M> submodule) {
        static_assert(std::is_base_of_v<Module, M>, "M has to be derived from nn::Module");
        keep_module(name, submodule);
        return submodule;
    }

    template <typename M, typename... Args>
    std::shared_ptr<M> register_module(const std::string &name, Args &&...args) {
        static_assert(std::is_base_of_v<Module, M>, "M has to be derived from nn::Module");
        return add_module(name, std::make_shared<M>(std::forward<Args>(args)...));
    }

    // Named name.0, name.1, …, all constructed with the same arguments.
    template <typename M, typename... Args>
    std::vector<std::shared_ptr<M>> register_modules(size_t count, const std::string &name,
                                                     const Args &...args) {
        std::vector<std::shared_ptr<M>> made;
        made.reserve(count);
        for (size_t i = 0; i < count; ++i)
            made.push_back(register_module<M>(name + "." + std::to_string(i), args...));
        return made;
    }

    Device device_;
    std::unordered_map<std::string, std::shared_ptr<Module>> submodules_;
    std::unordered_map<std::string, Parameter> buffers_;
    std::unordered_map<std::string, Parameter> parameters_;

private:
    void keep_module(const std::string &name, std::shared_ptr<Module> submodule);
    Parameter *find(const std::string &name);
    Parameter &get(const char *function, const std::string &name);
    void collect(const std::string &prefix, std::unordered_map<std::string, Parameter> &all) const;
    void collect(const std::string &prefix, std::unordered_map<std::string, Module *> &all) const;
};

}  // namespace infinicore::nn

// Members whose names are those in the checkpoint followed by `_`:
//
//     class Block : public infinicore::nn::Module {
//     public:
//         Block(size_t size) {
//             INFINICORE_NN_MODULE_INIT(norm, size, 1e-6);
//             INFINICORE_NN_PARAMETER_INIT(scale, ({size}, DataType::F32, Device()));
//         }
//     protected:
//         INFINICORE_NN_MODULE(infinicore::nn::RMSNorm, norm);
//         INFINICORE_NN_PARAMETER(scale);
//     };
#define INFINICORE_NN_MODULE(Type, name) std::shared_ptr<Type> name##_
#define INFINICORE_NN_MODULE_VEC(Type, name) std::vector<std::shared_ptr<Type>> name##_
#define INFINICORE_NN_PARAMETER(name) ::infinicore::nn::Parameter name##_
#define INFINICORE_NN_BUFFER(name) ::infinicore::nn::Parameter name##_

// The lambdas take the arguments, because C++17 has no way to omit a comma before none.
#define INFINICORE_NN_MODULE_INIT(name, ...)                         \
    name##_ = ([&](auto &&...arguments) {                            \
        using Made = std::remove_reference_t<decltype(*name##_)>;    \
        return this->template register_module<Made>(                 \
            #name, std::forward<decltype(arguments)>(arguments)...); \
    })(__VA_ARGS__)
#define INFINICORE_NN_MODULE_VEC_INIT(name, count, Type, ...)               \
    name##_ = ([&](auto &&...arguments) {                                   \
        return this->template register_modules<Type>(                       \
            count, #name, std::forward<decltype(arguments)>(arguments)...); \
    })(__VA_ARGS__)
#define INFINICORE_NN_PARAMETER_INIT(name, arguments) \
    this->register_parameter(#name, name##_ = ::infinicore::nn::Parameter arguments)
#define INFINICORE_NN_BUFFER_INIT(name, arguments) \
    this->register_buffer(#name, name##_ = ::infinicore::nn::Parameter arguments)
