#include "dlpack_device.h"

#include <algorithm>
#include <iterator>

#include "infinicore/context.hpp"

namespace infini::python {

using infinicore::Device;
using Type = Device::Type;

namespace {

constexpr int32_t kCuda = 2, kRocm = 10;

// The devices of several vendors are CUDA devices in DLPack: they are numbered consecutively.
constexpr Type kCudaLike[] = {Type::NVIDIA, Type::METAX, Type::ILUVATAR,
                              Type::HYGON,  Type::QY,    Type::ALI};

}  // namespace

dlpack::Device dlpack_device(const Device &device) {
    if (device.getType() == Type::CPU) return {dlpack::kCpu, 0};
    auto found = std::find(std::begin(kCudaLike), std::end(kCudaLike), device.getType());
    size_t number = device.getIndex();
    if (found == std::end(kCudaLike)) return {dlpack::kExtension, int32_t(number)};
    for (auto before = std::begin(kCudaLike); before != found; ++before)
        number += infinicore::context::getDeviceCount(*before);
    return {kCuda, int32_t(number)};
}

std::optional<Device> device_of(const dlpack::Device &device) {
    if (dlpack::is_host(device.type)) return Device::cpu();
    auto left = size_t(device.index);
    if (device.type == kCuda)
        for (Type type : kCudaLike) {
            const size_t count = infinicore::context::getDeviceCount(type);
            if (left < count) return Device{type, left};
            left -= count;
        }
    if (device.type == kRocm && left < infinicore::context::getDeviceCount(Type::HYGON))
        return Device{Type::HYGON, left};
    // Device types without a DLPack number: the thread's current type.
    const Device here = infinicore::context::getDevice();
    if (device.type == dlpack::kExtension && here.getType() != Type::CPU)
        return Device{here.getType(), size_t(device.index)};
    return std::nullopt;
}

}  // namespace infini::python
