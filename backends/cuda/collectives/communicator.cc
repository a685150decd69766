#include "collectives/communicator.h"

#include <cstring>
#include <map>
#include <thread>

#include "runtime/vendor_call.h"

namespace infini::cuda::collectives {
namespace {

constexpr auto kPause = std::chrono::microseconds(200);

std::string seconds_in_words(double seconds) {
    char text[32];
    snprintf(text, sizeof text, "%g s", seconds);
    return text;
}

bool too_late(Clock::time_point since, double seconds) {
    return seconds > 0 && std::chrono::duration<double>(Clock::now() - since).count() > seconds;
}

}  // namespace

// ---- Ranks of one process -----------------------------------------------------------------------

std::shared_ptr<World> World::of(const UniqueId &id) {
    static std::mutex lock;
    static auto &known = *new std::map<std::string, std::weak_ptr<World>>;
    std::lock_guard guard(lock);
    std::erase_if(known, [](const auto &entry) { return entry.second.expired(); });
    std::weak_ptr<World> &at = known[std::string(id.bytes, sizeof id.bytes)];
    std::shared_ptr<World> world = at.lock();
    if (!world) at = world = std::make_shared<World>();
    return world;
}

void World::add(const std::shared_ptr<Communicator> &communicator) {
    std::lock_guard guard(lock);
    ranks.push_back(communicator);
}

std::vector<std::shared_ptr<Communicator>> World::all() {
    std::lock_guard guard(lock);
    std::vector<std::shared_ptr<Communicator>> alive;
    for (const auto &weak : ranks)
        if (auto communicator = weak.lock()) alive.push_back(std::move(communicator));
    return alive;
}

// ---- Communicators ------------------------------------------------------------------------------

Communicator::~Communicator() {
    if (kept_.is_lost()) return;
    OutsideCapture outside;
    OnDevice here(device);
    for (const Pending &pending : pending_)
        for (infinirtEvent_t event : {pending.before, pending.after})
            INFINI_CALL(EventDestroy, event);
    for (infinirtEvent_t event : spare_) INFINI_CALL(EventDestroy, event);
}

infiniStatus_t Communicator::check_device(std::string *reason) {
    if (!kept_.is_lost()) return INFINI_STATUS_SUCCESS;
    *reason = "the communicator of rank " + std::to_string(rank) + " is gone; " + how_lost(device);
    fail_all(INFINI_STATUS_INTERNAL_ERROR, *reason);
    return INFINI_STATUS_INTERNAL_ERROR;
}

infiniStatus_t Communicator::with_handle(const std::function<infiniStatus_t(Handle)> &call) {
    std::lock_guard guard(lock_);
    if (failure_ != INFINI_STATUS_SUCCESS) return refuse(failure_, reason_);
    return call(handle);
}

infiniStatus_t Communicator::settle(const char *function, const std::string &late) {
    const auto begun = Clock::now();
    while (polls) {
        int code = kSuccess;
        std::string said;
        double seconds = 0;
        {
            std::lock_guard guard(lock_);
            // Another thread has found a failure and waits for this one to finish.
            if (failure_ != INFINI_STATUS_SUCCESS) return refuse(failure_, reason_);
            library().CommGetAsyncError(handle, &code);
            if (code != kSuccess && code != kInProgress) said = words(code, function, handle);
            seconds = timeout_;
        }
        if (code == kSuccess) break;
        if (said.empty() && too_late(begun, seconds)) said = late + seconds_in_words(seconds);
        if (!said.empty()) {
            fail_all(INFINI_STATUS_INTERNAL_ERROR, said);
            return refuse(INFINI_STATUS_INTERNAL_ERROR, said);
        }
        std::this_thread::sleep_for(kPause);
    }
    return INFINI_STATUS_SUCCESS;
}

void Communicator::mark(infiniStatus_t status, const std::string &sentence) {
    std::lock_guard guard(lock_);
    if (failure_ != INFINI_STATUS_SUCCESS) return;
    failure_ = status;
    reason_ = sentence;
}

void Communicator::fail(infiniStatus_t status, const std::string &sentence) {
    constexpr auto kPatience = std::chrono::seconds(1);
    mark(status, sentence);
    if (!library().CommAbort || kept_.is_lost()) return;
    std::unique_lock enqueuing(turn.mutex, std::defer_lock);
    if (turn.holder != std::this_thread::get_id()) (void)enqueuing.try_lock_for(kPatience);
    Handle taken = nullptr;
    {
        std::lock_guard guard(lock_);
        std::swap(taken, handle);
    }
    OnDevice here(device);
    if (taken) library().CommAbort(taken);
}

void Communicator::fail_all(infiniStatus_t status, const std::string &sentence) {
    if (is_forked()) return;  // locks may be held by threads that exist only in the parent
    std::vector<std::shared_ptr<Communicator>> members{shared_from_this()};
    if (world) members = world->all();
    // All are notified before pending work in streams continues.
    for (const auto &member : members) member->mark(status, sentence);
    for (const auto &member : members) member->fail(status, sentence);
}

void Communicator::set_timeout(double seconds) {
    std::lock_guard guard(lock_);
    timeout_ = seconds;
}

infiniStatus_t Communicator::state(std::string *reason) {
    std::string said;
    if (infiniStatus_t status = check_device(reason)) return status;
    {
        std::lock_guard guard(lock_);
        if (failure_ != INFINI_STATUS_SUCCESS) {
            *reason = reason_;
            return failure_;
        }
        int code = kSuccess;
        if (handle && library().CommGetAsyncError) library().CommGetAsyncError(handle, &code);
        if (code != kSuccess && code != kInProgress)
            said = "rank " + std::to_string(rank) + ": " + words(code, "CommGetAsyncError", handle);
        else
            said = look();
    }
    if (said.empty()) return INFINI_STATUS_SUCCESS;
    fail_all(INFINI_STATUS_INTERNAL_ERROR, said);
    *reason = said;
    return INFINI_STATUS_INTERNAL_ERROR;
}

std::string Communicator::look() {
    if (pending_.empty()) return "";
    OutsideCapture outside;
    OnDevice here(device);
    while (!pending_.empty()) {
        Pending &first = pending_.front();
        const Error after = INFINI_CALL(EventQuery, first.after);
        if (after != infinirtSuccess && after != infinirtErrorNotReady)
            return first.what + " of rank " + std::to_string(rank) +
                   " failed on its device, maybe by something that was enqueued before";
        if (after == infinirtErrorNotReady) {
            if (first.since == Clock::time_point{}) {
                if (INFINI_CALL(EventQuery, first.before) == infinirtSuccess)
                    first.since = Clock::now();
            } else if (too_late(first.since, timeout_)) {
                return first.what + " of rank " + std::to_string(rank) + " was not done within " +
                       seconds_in_words(timeout_) +
                       ": another rank did not come, died, or called something else";
            }
            return "";
        }
        spare_.push_back(first.before);
        spare_.push_back(first.after);
        pending_.pop_front();
    }
    return "";
}

bool Communicator::has_pending() {
    std::lock_guard guard(lock_);
    return !pending_.empty() && failure_ == INFINI_STATUS_SUCCESS;
}

// ---- Work in streams -------------------------------------------------------------------------

infinirtEvent_t Communicator::take_event() {
    infinirtEvent_t event = nullptr;
    std::lock_guard guard(lock_);
    if (!spare_.empty()) {
        event = spare_.back();
        spare_.pop_back();
    } else if (INFINI_CALL(EventCreateWithFlags, &event, unsigned(infinirtEventDisableTiming))) {
        return nullptr;
    }
    return event;
}

infiniStatus_t Communicator::begin(void *stream, Pending *pending) {
    OutsideCapture outside;
    OnDevice here(device);
    {
        // The streams of earlier operations may be gone: only their events are safe to wait for.
        std::lock_guard guard(lock_);
        for (const Pending &earlier : pending_)
            if (earlier.stream != stream &&
                INFINI_CALL(StreamWaitEvent, static_cast<infinirtStream_t>(stream), earlier.after,
                            0u))
                return INFINI_STATUS_INTERNAL_ERROR;  // the vendor's call has set the message
    }
    pending->before = take_event();
    pending->after = take_event();
    if (pending->before && pending->after &&
        !INFINI_CALL(EventRecord, pending->before, static_cast<infinirtStream_t>(stream)))
        return INFINI_STATUS_SUCCESS;
    std::lock_guard guard(lock_);
    for (infinirtEvent_t event : {pending->before, pending->after})
        if (event) spare_.push_back(event);
    return INFINI_STATUS_INTERNAL_ERROR;  // the vendor's call has set the message
}

infiniStatus_t Communicator::end(void *stream, Pending pending) {
    OutsideCapture outside;
    OnDevice here(device);
    const Error error =
        INFINI_CALL(EventRecord, pending.after, static_cast<infinirtStream_t>(stream));
    std::lock_guard guard(lock_);
    if (error == infinirtSuccess) {
        pending_.push_back(std::move(pending));
        return INFINI_STATUS_SUCCESS;
    }
    spare_.push_back(pending.before);
    spare_.push_back(pending.after);
    return INFINI_STATUS_INTERNAL_ERROR;
}

// ---- The end ------------------------------------------------------------------------------------

bool Communicator::leave(bool wait) {
    constexpr auto kPatience = std::chrono::seconds(1);
    for (Clock::time_point begun{};; std::this_thread::sleep_for(kPause)) {
        std::string ignored;
        if (state(&ignored) != INFINI_STATUS_SUCCESS) return true;  // it was aborted
        const int code = try_to_end();
        if (code == kSuccess) return true;
        if (code != kInProgress) break;
        if (!wait) return false;
        if (!finalizing_) continue;
        // The rest waits until other ranks have left, and graphs that use it are destroyed.
        if (begun == Clock::time_point{}) begun = Clock::now();
        if (Clock::now() - begun > kPatience) return false;
    }
    fail(INFINI_STATUS_INTERNAL_ERROR, "the communicator could not be ended");
    return true;
}

int Communicator::try_to_end() {
    constexpr int kTooLate = -1;
    std::lock_guard guard(lock_);
    if (!handle) return kSuccess;
    OnDevice here(device);
    if (!polls) return library().CommDestroy(std::exchange(handle, nullptr));
    if (!finalizing_) {
        if (!pending_.empty()) return kInProgress;
        finalizing_ = true;
        left_ = Clock::now();
        const int code = library().CommFinalize(handle);
        if (code != kSuccess && code != kInProgress) return code;
    }
    int code = kSuccess;
    library().CommGetAsyncError(handle, &code);
    if (code == kSuccess) return library().CommDestroy(std::exchange(handle, nullptr));
    return code == kInProgress && !captured && too_late(left_, timeout_) ? kTooLate : code;
}

}  // namespace infini::cuda::collectives
