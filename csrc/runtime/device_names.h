// Names for the values of infiniDevice_t. Defined in the generated device_names.cc.
#pragma once

namespace infini::rt {

const char *device_kind_name(int kind);   // null for a number that infiniDevice_t does not have
int device_kind_value(const char *name);  // -1 for a word that infiniDevice_t does not have

}  // namespace infini::rt
