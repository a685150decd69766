#include "dtypes.h"

#include <cstring>
#include <utility>

#include "infinicore.h"

namespace infini::python {
namespace {

constexpr std::pair<const char *, int> kDtypes[] = {
    {"BYTE", INFINI_DTYPE_BYTE}, {"BOOL", INFINI_DTYPE_BOOL}, {"I8", INFINI_DTYPE_I8},
    {"I16", INFINI_DTYPE_I16},   {"I32", INFINI_DTYPE_I32},   {"I64", INFINI_DTYPE_I64},
    {"U8", INFINI_DTYPE_U8},     {"U16", INFINI_DTYPE_U16},   {"U32", INFINI_DTYPE_U32},
    {"U64", INFINI_DTYPE_U64},   {"F8", INFINI_DTYPE_F8},     {"F16", INFINI_DTYPE_F16},
    {"F32", INFINI_DTYPE_F32},   {"F64", INFINI_DTYPE_F64},   {"C16", INFINI_DTYPE_C16},
    {"C32", INFINI_DTYPE_C32},   {"C64", INFINI_DTYPE_C64},   {"C128", INFINI_DTYPE_C128},
    {"BF16", INFINI_DTYPE_BF16},
};

}  // namespace

int dtype_of(const char *name) {
    for (const auto &[known, dtype] : kDtypes)
        if (std::strcmp(known, name) == 0) return dtype;
    return 0;
}

const char *name_of(int dtype) {
    for (const auto &[name, known] : kDtypes)
        if (known == dtype) return name;
    return "INVALID";
}

// Codes of DLPack: 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool, 10 float8_e4m3fn.
int dtype_from_dlpack(const dlpack::DataType &type) {
    if (type.lanes != 1) return 0;
    switch (type.code << 8 | type.bits) {
        case 0 << 8 | 8:
            return INFINI_DTYPE_I8;
        case 0 << 8 | 16:
            return INFINI_DTYPE_I16;
        case 0 << 8 | 32:
            return INFINI_DTYPE_I32;
        case 0 << 8 | 64:
            return INFINI_DTYPE_I64;
        case 1 << 8 | 8:
            return INFINI_DTYPE_U8;
        case 1 << 8 | 16:
            return INFINI_DTYPE_U16;
        case 1 << 8 | 32:
            return INFINI_DTYPE_U32;
        case 1 << 8 | 64:
            return INFINI_DTYPE_U64;
        case 2 << 8 | 16:
            return INFINI_DTYPE_F16;
        case 2 << 8 | 32:
            return INFINI_DTYPE_F32;
        case 2 << 8 | 64:
            return INFINI_DTYPE_F64;
        case 4 << 8 | 16:
            return INFINI_DTYPE_BF16;
        case 5 << 8 | 32:
            return INFINI_DTYPE_C32;
        case 5 << 8 | 64:
            return INFINI_DTYPE_C64;
        case 5 << 8 | 128:
            return INFINI_DTYPE_C128;
        case 6 << 8 | 8:
            return INFINI_DTYPE_BOOL;
        case 10 << 8 | 8:
            return INFINI_DTYPE_F8;
        default:
            return 0;
    }
}

int dtype_of_integer(size_t bytes, bool with_sign) {
    switch (bytes) {
        case 1:
            return with_sign ? INFINI_DTYPE_I8 : INFINI_DTYPE_U8;
        case 2:
            return with_sign ? INFINI_DTYPE_I16 : INFINI_DTYPE_U16;
        case 4:
            return with_sign ? INFINI_DTYPE_I32 : INFINI_DTYPE_U32;
        case 8:
            return with_sign ? INFINI_DTYPE_I64 : INFINI_DTYPE_U64;
        default:
            return 0;
    }
}

// Formats of the struct module, in the machine's byte order.
int dtype_from_format(const char *format, size_t bytes) {
    if (!format) return INFINI_DTYPE_U8;
    if (*format == '@' || *format == '=' || *format == '<') ++format;
    if (format[0] == 'Z' && format[1] && !format[2])
        return bytes == 8 ? INFINI_DTYPE_C64 : bytes == 16 ? INFINI_DTYPE_C128 : 0;
    if (!format[0] || format[1]) return 0;
    switch (format[0]) {
        case '?':
            return INFINI_DTYPE_BOOL;
        case 'e':
            return INFINI_DTYPE_F16;
        case 'f':
            return INFINI_DTYPE_F32;
        case 'd':
            return INFINI_DTYPE_F64;
        case 'b':
        case 'h':
        case 'i':
        case 'l':
        case 'q':
        case 'n':
            return dtype_of_integer(bytes, true);
        case 'B':
        case 'H':
        case 'I':
        case 'L':
        case 'Q':
        case 'N':
            return dtype_of_integer(bytes, false);
        case 'c':
            return INFINI_DTYPE_BYTE;
        default:
            return 0;
    }
}

// What NumPy calls the types that neither protocol can name.
int dtype_from_numpy(const std::string &name) {
    if (name == "bfloat16") return INFINI_DTYPE_BF16;
    if (name == "float8_e4m3fn") return INFINI_DTYPE_F8;
    if (name == "float16") return INFINI_DTYPE_F16;
    if (name == "float32") return INFINI_DTYPE_F32;
    if (name == "float64") return INFINI_DTYPE_F64;
    if (name == "bool") return INFINI_DTYPE_BOOL;
    return 0;
}

}  // namespace infini::python
