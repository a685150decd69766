// Devices as DLPack numbers them.
#pragma once

#include <optional>

#include "../runtime/dlpack.h"
#include "infinicore/types.hpp"

namespace infini::python {

dlpack::Device dlpack_device(const infinicore::Device &device);
std::optional<infinicore::Device> device_of(
    const dlpack::Device &device);  // nullopt: there is no such device

}  // namespace infini::python
