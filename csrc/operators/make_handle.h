// New objects in handle tables, for functions that report failures by exceptions.
#pragma once

#include <new>
#include <utility>

#include "../runtime/handles.h"
#include "core.h"

namespace infini::op {

template <class T>
T *make_handle(const char *objects, T &&made) {
    auto &table = rt::HandleTable<T>::get();
    if (T *object = table.make(std::move(made))) return object;
    if (!table.full()) throw std::bad_alloc();
    fail(INFINI_STATUS_INTERNAL_ERROR, "too many %s", objects);
}

}  // namespace infini::op
