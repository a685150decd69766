// Basic types of namespace infinicore: sizes, devices, element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "infinicore.h"

namespace infinicore {

using Size = std::size_t;
using Stride = std::ptrdiff_t;  // in elements
using Shape = std::vector<Size>;
using Strides = std::vector<Stride>;

// A device: its type and its ordinal within that type. Types without a name here (third-party back
// ends) have the numbers that infinirtGetBackendInfo reports.
class INFINI_EXPORT Device {
public:
    using Index = std::size_t;
    enum class Type {
        CPU = INFINI_DEVICE_CPU,
        NVIDIA = INFINI_DEVICE_NVIDIA,
        CAMBRICON = INFINI_DEVICE_CAMBRICON,
        ASCEND = INFINI_DEVICE_ASCEND,
        METAX = INFINI_DEVICE_METAX,
        MOORE = INFINI_DEVICE_MOORE,
        ILUVATAR = INFINI_DEVICE_ILUVATAR,
        KUNLUN = INFINI_DEVICE_KUNLUN,
        HYGON = INFINI_DEVICE_HYGON,
        QY = INFINI_DEVICE_QY,
        ALI = INFINI_DEVICE_ALI,
        COUNT = INFINI_DEVICE_TYPE_COUNT
    };

    Device(Type type = Type::CPU, Index index = 0) : type_(type), index_(index) {}
    static Device cpu() { return {}; }

    const Type &getType() const { return type_; }
    const Index &getIndex() const { return index_; }
    std::string toString() const;  // "NVIDIA:0"
    static std::string toString(const Type &type);

    bool operator==(const Device &other) const {
        return type_ == other.type_ && index_ == other.index_;
    }
    bool operator!=(const Device &other) const { return !(*this == other); }

private:
    Type type_;
    Index index_;
};

enum class DataType {
    BYTE = INFINI_DTYPE_BYTE,
    BOOL = INFINI_DTYPE_BOOL,
    I8 = INFINI_DTYPE_I8,
    I16 = INFINI_DTYPE_I16,
    I32 = INFINI_DTYPE_I32,
    I64 = INFINI_DTYPE_I64,
    U8 = INFINI_DTYPE_U8,
    U16 = INFINI_DTYPE_U16,
    U32 = INFINI_DTYPE_U32,
    U64 = INFINI_DTYPE_U64,
    F8 = INFINI_DTYPE_F8,
    F16 = INFINI_DTYPE_F16,
    F32 = INFINI_DTYPE_F32,
    F64 = INFINI_DTYPE_F64,
    C16 = INFINI_DTYPE_C16,
    C32 = INFINI_DTYPE_C32,
    C64 = INFINI_DTYPE_C64,
    C128 = INFINI_DTYPE_C128,
    BF16 = INFINI_DTYPE_BF16
};

INFINI_EXPORT std::string toString(const DataType &dtype);  // "F32"
INFINI_EXPORT size_t dsize(const DataType &dtype);          // bytes per element

}  // namespace infinicore

template <>
struct std::hash<infinicore::Device> {
    size_t operator()(const infinicore::Device &device) const {
        return size_t(device.getType()) << 16 ^ device.getIndex();
    }
};

#include "pybind11.hpp"
