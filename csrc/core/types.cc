#include "infinicore/types.hpp"

#include <cctype>

#include "infini/ext.h"

namespace infinicore {
namespace {

// The name of a device type that the enumeration does not have, as its back end reports it.
std::string backend_name(int type) {
    for (int i = 0; i < infinirtGetBackendCount(); ++i) {
        infinirtBackendInfo info{};
        info.size = sizeof info;
        if (infinirtGetBackendInfo(i, &info) == INFINI_STATUS_SUCCESS && info.device_type == type) {
            std::string name = info.name;
            for (char &letter : name)
                letter = char(std::toupper(static_cast<unsigned char>(letter)));
            return name;
        }
    }
    return "DEVICE" + std::to_string(type);
}

}  // namespace

std::string Device::toString() const { return toString(type_) + ":" + std::to_string(index_); }

std::string Device::toString(const Type &type) {
    switch (type) {
        case Type::CPU:
            return "CPU";
        case Type::NVIDIA:
            return "NVIDIA";
        case Type::CAMBRICON:
            return "CAMBRICON";
        case Type::ASCEND:
            return "ASCEND";
        case Type::METAX:
            return "METAX";
        case Type::MOORE:
            return "MOORE";
        case Type::ILUVATAR:
            return "ILUVATAR";
        case Type::KUNLUN:
            return "KUNLUN";
        case Type::HYGON:
            return "HYGON";
        case Type::QY:
            return "QY";
        case Type::ALI:
            return "ALI";
        case Type::COUNT:
            break;
    }
    return backend_name(int(type));
}

std::string toString(const DataType &dtype) {
    switch (dtype) {
        case DataType::BYTE:
            return "BYTE";
        case DataType::BOOL:
            return "BOOL";
        case DataType::I8:
            return "I8";
        case DataType::I16:
            return "I16";
        case DataType::I32:
            return "I32";
        case DataType::I64:
            return "I64";
        case DataType::U8:
            return "U8";
        case DataType::U16:
            return "U16";
        case DataType::U32:
            return "U32";
        case DataType::U64:
            return "U64";
        case DataType::F8:
            return "F8";
        case DataType::F16:
            return "F16";
        case DataType::F32:
            return "F32";
        case DataType::F64:
            return "F64";
        case DataType::C16:
            return "C16";
        case DataType::C32:
            return "C32";
        case DataType::C64:
            return "C64";
        case DataType::C128:
            return "C128";
        case DataType::BF16:
            return "BF16";
    }
    return "DataType(" + std::to_string(int(dtype)) + ")";
}

size_t dsize(const DataType &dtype) { return infiniSizeOf(infiniDtype_t(dtype)); }

}  // namespace infinicore
