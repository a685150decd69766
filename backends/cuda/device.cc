// Devices, and their kernels.
#include <algorithm>
#include <vector>

#include "kernel.h"
#include "kernel_loader.h"
#include "libraries.h"
#include "runtime/driver.h"
#include "vendor.h"

namespace infini::cuda {
namespace {

constexpr size_t kSharedWithoutAsking = 48 << 10;
constexpr int kWidestWarp = 64;

int attribute(int device, int number, int otherwise) {
    int value = otherwise;
    return ask_attribute(&value, number, device) == 0 ? value : otherwise;
}

}  // namespace

Device::Device(int index) : index(index) {
    enum {  // of cudaDeviceAttr
        kWarp = 10,
        kMultiprocessors = 16,
        kL2Bytes = 38,
        kThreadsPerMultiprocessor = 39,
        kMajor = 75,
        kMinor = 76,
        kSharedBytesWhenAsked = 97
    };
    InfiniDeviceInfo info{};
    info.size = sizeof info;
    if (device_info(index, &info) == infinirtSuccess) name = info.name;
    major = attribute(index, kMajor, 0);
    minor = attribute(index, kMinor, 0);
    multiprocessors = attribute(index, kMultiprocessors, 1);
    warp = vendor.warp ? vendor.warp : attribute(index, kWarp, 32);
    // On devices with wider warps, kernels work in groups of 32 lanes.
    has_lane_groups = warp > kWidestWarp;
    if (has_lane_groups) warp = 32;
    l2_bytes = size_t(attribute(index, kL2Bytes, 0));
    threads_per_multiprocessor = attribute(index, kThreadsPerMultiprocessor, 2048);
    shared_bytes = size_t(attribute(index, kSharedBytesWhenAsked, int(kSharedWithoutAsking)));
    has_mma = vendor.has_ptx && major >= 8;
    has_wgmma = vendor.has_ptx && major == 9;
    has_early_launch = vendor.has_ptx && major >= 9 && driver_version() >= 12030;  // in graphs, too
}

Device &Device::get(int index) {
    static std::mutex lock;
    static auto &devices = *new std::vector<std::unique_ptr<Device>>;
    std::lock_guard guard(lock);
    if (size_t(index) >= devices.size()) devices.resize(size_t(index) + 1);
    if (!devices[size_t(index)]) devices[size_t(index)] = std::make_unique<Device>(index);
    return *devices[size_t(index)];
}

std::shared_ptr<const Kernel> Device::compile(const Source &source) {
    std::shared_ptr<LoadedKernel> kernel;
    {
        std::lock_guard guard(lock_);
        std::shared_ptr<LoadedKernel> &found = kernels_[source.identity()];
        if (!found) found = std::make_shared<LoadedKernel>(source, *this);
        kernel = found;
    }
    if (!CompileTogether::add(kernel)) kernel->finish();
    return kernel;
}

int64_t Device::blocks_for(int64_t items, int64_t per_block, int waves) const {
    const int64_t needed = (items + per_block - 1) / per_block;
    return std::min(needed, int64_t(multiprocessors) * waves);
}

}  // namespace infini::cuda
