// Where the Python package's extension module registers its conversions for other modules.
#include <atomic>
#include <stdexcept>

#include "infinicore/pybind11.hpp"

namespace infinicore::python {
namespace {

std::atomic<const Conversions *> current{nullptr};

}  // namespace

const Conversions *conversions() noexcept { return current.load(std::memory_order_acquire); }

void set_conversions(const Conversions *conversions) noexcept {
    current.store(conversions, std::memory_order_release);
}

void throw_no_conversions() {
    throw std::runtime_error(
        "infinicore: the Python package has loaded another copy of libinfinicore_cpp_api.so than "
        "this module: let the module find the one in $(infini config --lib)");
}

}  // namespace infinicore::python
