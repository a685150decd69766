#include "library.h"

#include <map>
#include <mutex>

#include "../../libraries.h"
#include "../../vendor.h"

namespace infini::cuda::blas {

const Library *Library::get() {
    static const auto library = [] {
        constexpr Part kPart = Part::kBlas;
        Library l{};
        bool complete = !vendor.gemm;  // otherwise the library has a different API
        auto take = [&](auto &to, const char *word) {
            to = function<std::remove_reference_t<decltype(to)>>(kPart, word);
            complete = complete && to;
        };
        take(l.create, "Create");
        take(l.describe, "MatmulDescCreate");
        take(l.describe_set, "MatmulDescSetAttribute");
        take(l.describe_destroy, "MatmulDescDestroy");
        take(l.layout, "MatrixLayoutCreate");
        take(l.layout_set, "MatrixLayoutSetAttribute");
        take(l.layout_destroy, "MatrixLayoutDestroy");
        take(l.preference, "MatmulPreferenceCreate");
        take(l.preference_set, "MatmulPreferenceSetAttribute");
        take(l.preference_destroy, "MatmulPreferenceDestroy");
        take(l.choose, "MatmulAlgoGetHeuristic");
        take(l.multiply, "Matmul");
        l.status_name = function<decltype(l.status_name)>(kPart, "GetStatusName");
        struct Found {
            Library library;
            bool complete;
        };
        return Found{l, complete};
    }();
    return library.complete ? &library.library : nullptr;
}

Handle Library::handle(int device) const {
    static std::mutex lock;
    static std::map<int, Handle> handles;
    std::lock_guard guard(lock);
    auto [place, added] = handles.try_emplace(device, nullptr);
    if (added) {
        use_device(device);
        if (create(&place->second) != 0) place->second = nullptr;
    }
    return place->second;
}

}  // namespace infini::cuda::blas
