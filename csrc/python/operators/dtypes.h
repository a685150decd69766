// Names of element types in other libraries; 0 where operators have none.
#pragma once

#include <cstddef>
#include <string>

#include "../runtime/dlpack.h"

namespace infini::python {

int dtype_of(const char *name);  // "F32" -> infiniDtype_t
const char *name_of(int dtype);

int dtype_of_integer(size_t bytes, bool with_sign);
int dtype_from_dlpack(const dlpack::DataType &type);
int dtype_from_format(const char *format, size_t bytes);  // of the struct module
int dtype_from_numpy(const std::string &name);

}  // namespace infini::python
