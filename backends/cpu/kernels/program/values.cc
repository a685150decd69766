// Types of values, and the functors that compute with them.
#include <cstring>

#include "program/layout.h"
#include "types.h"

namespace infini::cpu::program {

int dtype_bytes(int dtype) {
    int bytes = 0;
    visit_dtype(dtype, [&]<class T>(Type<T>) { bytes = int(sizeof(T)); });
    return bytes;
}

ValueType value_type(const Operation &operation, const InfiniProgram &program) {
    bool floats = false, unsigned_ = false;
    for (int i = 0; i < operation.tensor_count(); ++i) {
        switch (operation.tensor(i).dtype) {
            case INFINI_DTYPE_F64:
                return kDouble;
            case INFINI_DTYPE_F8:
            case INFINI_DTYPE_F16:
            case INFINI_DTYPE_BF16:
            case INFINI_DTYPE_F32:
                floats = true;
                break;
            case INFINI_DTYPE_U64:
                unsigned_ = true;
                break;
            default:
                break;
        }
    }
    if (floats) return program.flags & INFINI_PROGRAM_WIDE ? kDouble : kFloat;
    return unsigned_ ? kUint64 : kInt64;
}

const Functor *find_functor(const char *name) {
    for (size_t list = 0; list < kFunctorListCount; ++list)
        for (size_t i = 0; i < kFunctorLists[list]->count; ++i)
            if (std::strcmp(kFunctorLists[list]->functors[i].name, name) == 0)
                return &kFunctorLists[list]->functors[i];
    return nullptr;
}

}  // namespace infini::cpu::program
