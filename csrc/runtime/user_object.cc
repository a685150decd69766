// User objects: client objects that live as long as graphs refer to them.
#include <algorithm>
#include <climits>

#include "graph_memory.h"
#include "impl.h"

namespace infini::rt {

GraphLock::~GraphLock() {
    graph_mutex().unlock();
    sweep_graph_leftovers();
}

namespace {

void destroy_unused(UserObject &object) {
    if (object.references > 0 || object.held > 0) return;
    leave_over({object.destroy, object.pointer});
    UserObjectTable::get().destroy(&object);
}

Error check_count(Call &call, unsigned count, int index) {
    if (count > 0 && count <= INT_MAX) return infinirtSuccess;
    return call.invalid("argument %d (count) is %u: expected 1 to %d", index, count, INT_MAX);
}

// The client can release only its own references, not those of graphs.
Error check_owned(Call &call, const UserObject &object, unsigned count, int index) {
    if (count <= object.references) return infinirtSuccess;
    return call.invalid(
        "argument %d (count) is %u, but %llu references to the object are left outside of graphs",
        index, count, static_cast<unsigned long long>(object.references));
}

}  // namespace

void retain(const UserObjectReferences &objects) {
    for (auto [object, count] : objects) object->held += count;
}

void release(const UserObjectReferences &objects) {
    for (auto [object, count] : objects) {
        object->held -= count;
        destroy_unused(*object);
    }
}

namespace impl {

Error UserObjectCreate(Call &call, infinirtUserObject_t *object_out, void *ptr,
                       infinirtHostFn_t destroy, unsigned int initialRefcount, unsigned int flags) {
    if (flags != infinirtUserObjectNoDestructorSync)
        return call.invalid(
            "argument 5 (flags) is 0x%x: expected infinirtUserObjectNoDestructorSync", flags);
    if (Error error = check_count(call, initialRefcount, 4)) return error;
    UserObject *object = UserObjectTable::get().make(ptr, destroy, initialRefcount);
    if (!object) return call.fail(infinirtErrorMemoryAllocation, "too many user objects");
    *object_out = reinterpret_cast<infinirtUserObject_t>(object);
    return infinirtSuccess;
}

Error UserObjectRetain(Call &call, UserObject &object, unsigned int count) {
    if (Error error = check_count(call, count, 2)) return error;
    GraphLock lock;
    object.references += count;
    return infinirtSuccess;
}

Error UserObjectRelease(Call &call, UserObject &object, unsigned int count) {
    if (Error error = check_count(call, count, 2)) return error;
    GraphLock lock;
    if (Error error = check_owned(call, object, count, 2)) return error;
    object.references -= count;
    destroy_unused(object);
    return infinirtSuccess;
}

Error GraphRetainUserObject(Call &call, Graph &graph, UserObject &object, unsigned int count,
                            unsigned int flags) {
    if (Error error = check_count(call, count, 3)) return error;
    if (flags & ~static_cast<unsigned>(infinirtGraphUserObjectMove))
        return call.invalid("argument 4 (flags) is 0x%x: expected 0 or infinirtGraphUserObjectMove",
                            flags);
    GraphLock lock;
    if (flags & infinirtGraphUserObjectMove) {
        if (Error error = check_owned(call, object, count, 3)) return error;
        object.references -= count;
    }
    object.held += count;
    auto &held = graph.user_objects;
    auto entry = std::find_if(held.begin(), held.end(),
                              [&](const auto &each) { return each.first == &object; });
    if (entry == held.end()) {
        held.emplace_back(&object, count);
    } else {
        entry->second += count;
    }
    return infinirtSuccess;
}

Error GraphReleaseUserObject(Call &call, Graph &graph, UserObject &object, unsigned int count) {
    if (Error error = check_count(call, count, 3)) return error;
    GraphLock lock;
    auto &held = graph.user_objects;
    auto entry = std::find_if(held.begin(), held.end(),
                              [&](const auto &each) { return each.first == &object; });
    uint64_t own = entry == held.end() ? 0 : entry->second;
    if (count > own)
        return call.invalid(
            "argument 3 (count) is %u, but the graph holds %llu references to the object", count,
            static_cast<unsigned long long>(own));
    entry->second -= count;
    if (entry->second == 0) held.erase(entry);
    release({{&object, count}});
    return infinirtSuccess;
}

}  // namespace impl
}  // namespace infini::rt
