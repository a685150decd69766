#include "kernels/fft/fft_library.h"

#include <map>
#include <tuple>

namespace infini::cuda::fourier {

const Library *Library::get() {
    static Library l{};
    static const bool is_complete = [] {
        FunctionTable table(Part::kFourier);
        table.take(l.create, "Create"), table.take(l.destroy, "Destroy");
        table.take(l.set_auto_allocation, "SetAutoAllocation");
        table.take(l.make_plan, "MakePlanMany64");
        table.take(l.set_stream, "SetStream"), table.take(l.set_work_area, "SetWorkArea");
        table.take(l.single, "ExecC2C"), table.take(l.double_, "ExecZ2Z");
        table.take(l.single_from_real, "ExecR2C"), table.take(l.double_from_real, "ExecD2Z");
        table.take(l.single_to_real, "ExecC2R"), table.take(l.double_to_real, "ExecZ2D");
        return table.is_complete();
    }();
    return is_complete ? &l : nullptr;
}

std::shared_ptr<Blocks> Blocks::get(int device, int type, const Sizes &sizes, int64_t count) {
    using Key = std::tuple<int, int, Sizes, int64_t>;
    static std::mutex lock;
    static auto &known = *new std::map<Key, std::weak_ptr<Blocks>>;
    const Library *library = Library::get();
    if (!library || sizes.size() > kMostDims) return nullptr;
    std::lock_guard guard(lock);
    std::weak_ptr<Blocks> &place = known[{device, type, sizes, count}];
    std::shared_ptr<Blocks> found = place.lock();
    if (found) return found;
    std::shared_ptr<Blocks> made(new Blocks(*library, device, type));
    if (!made->make(sizes, count)) return nullptr;
    place = made;
    return made;
}

bool Blocks::make(const Sizes &sizes, int64_t count) {
    OnDevice here(device_);
    OutsideCapture outside;  // the library allocates its tables
    if (library_.create(&handle_) != 0) {
        handle_ = -1;
        return false;
    }
    if (library_.set_auto_allocation(handle_, 0) != 0) return false;
    // Without explicit layouts the library assumes dense blocks, for which it is fastest.
    std::vector<Long> given(sizes.begin(), sizes.end());
    return library_.make_plan(handle_, int(sizes.size()), given.data(), nullptr, 1, 0, nullptr, 1,
                              0, type_, count, &bytes_) == 0;
}

Blocks::~Blocks() {
    if (handle_ < 0) return;
    OnDevice here(device_);
    OutsideCapture outside;
    library_.destroy(handle_);
}

Error Blocks::run(void *stream, void *area, void *from, void *to, int direction) {
    auto checked = [](int code, const char *word) { return check(Part::kFourier, code, word); };
    std::lock_guard guard(lock_);
    if (const Error error = checked(library_.set_stream(handle_, stream), "SetStream"))
        return error;
    if (bytes_)
        if (const Error error = checked(library_.set_work_area(handle_, area), "SetWorkArea"))
            return error;
    switch (type_) {
        case kSingle:
            return checked(library_.single(handle_, from, to, direction), "ExecC2C");
        case kSingleFromReal:
            return checked(library_.single_from_real(handle_, from, to), "ExecR2C");
        case kSingleToReal:
            return checked(library_.single_to_real(handle_, from, to), "ExecC2R");
        case kDouble:
            return checked(library_.double_(handle_, from, to, direction), "ExecZ2Z");
        case kDoubleFromReal:
            return checked(library_.double_from_real(handle_, from, to), "ExecD2Z");
        default:
            return checked(library_.double_to_real(handle_, from, to), "ExecZ2D");
    }
}

}  // namespace infini::cuda::fourier
