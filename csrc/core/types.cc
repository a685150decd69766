#include "infinicore/types.hpp"

#include <cctype>
#include <utility>

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
    static constexpr std::pair<Type, const char *> kNames[] = {{Type::CPU, "CPU"},
                                                               {Type::NVIDIA, "NVIDIA"},
                                                               {Type::CAMBRICON, "CAMBRICON"},
                                                               {Type::ASCEND, "ASCEND"},
                                                               {Type::METAX, "METAX"},
                                                               {Type::MOORE, "MOORE"},
                                                               {Type::ILUVATAR, "ILUVATAR"},
                                                               {Type::KUNLUN, "KUNLUN"},
                                                               {Type::HYGON, "HYGON"},
                                                               {Type::QY, "QY"},
                                                               {Type::ALI, "ALI"}};
    for (const auto &[known, name] : kNames)
        if (known == type) return name;
    return backend_name(int(type));
}

std::string toString(const DataType &dtype) {
    static constexpr std::pair<DataType, const char *> kNames[] = {
        {DataType::BYTE, "BYTE"}, {DataType::BOOL, "BOOL"}, {DataType::I8, "I8"},
        {DataType::I16, "I16"},   {DataType::I32, "I32"},   {DataType::I64, "I64"},
        {DataType::U8, "U8"},     {DataType::U16, "U16"},   {DataType::U32, "U32"},
        {DataType::U64, "U64"},   {DataType::F8, "F8"},     {DataType::F16, "F16"},
        {DataType::F32, "F32"},   {DataType::F64, "F64"},   {DataType::C16, "C16"},
        {DataType::C32, "C32"},   {DataType::C64, "C64"},   {DataType::C128, "C128"},
        {DataType::BF16, "BF16"}};
    for (const auto &[known, name] : kNames)
        if (known == dtype) return name;
    return "DataType(" + std::to_string(int(dtype)) + ")";
}

size_t dsize(const DataType &dtype) { return infiniSizeOf(infiniDtype_t(dtype)); }

}  // namespace infinicore
