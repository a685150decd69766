// The fast path of the allocator: memory objects, lanes, and what moves between lanes and stores.
#include "allocator.h"

#include <algorithm>

#include "allocator_state.h"
#include "object_pool.h"
#include "runtime_services.h"

namespace infinicore::detail {
namespace {

constexpr size_t kLaneBytes = size_t{8} << 20;  // a lane that holds more passes blocks on
constexpr size_t kBatchBytes = size_t{64} << 10;
constexpr ptrdiff_t kUnreported = 64 << 10;
constexpr size_t kMostLanes = 32;   // of a thread
constexpr size_t kMostStores = 64;  // above this, the memory of destroyed streams is freed

class CachedMemory final : public Memory {
public:
    CachedMemory(Allocator::State &state, Block *block, size_t bytes, Device device, bool pinned)
        : Memory(block ? block->data : nullptr, bytes, device), state_(state), block_(block) {
        pinned_ = pinned;
    }
    ~CachedMemory() override {
        if (block_) state_.give(block_, uses_.load(std::memory_order_acquire));
    }
    void use(infinirtStream_t stream) {
        for (StreamUse *use = uses_.load(std::memory_order_acquire); use; use = use->next)
            if (use->stream == stream) return;
        auto *added = new StreamUse{stream, uses_.load(std::memory_order_relaxed)};
        while (!uses_.compare_exchange_weak(added->next, added, std::memory_order_release,
                                            std::memory_order_relaxed)) {
        }
    }
    bool has_block() const { return block_; }

private:
    Allocator::State &state_;
    Block *const block_;
    std::atomic<StreamUse *> uses_{nullptr};
};

// The lanes of a thread. The one used last is found without a search.
struct Lanes {
    std::vector<std::unique_ptr<Lane>> all;
    ~Lanes();
};

INFINI_STATIC_TLS constinit thread_local Lane *last_lane = nullptr;
INFINI_STATIC_TLS constinit thread_local bool lanes_ended = false;
thread_local Lanes lanes;

Lanes::~Lanes() {
    last_lane = nullptr;
    lanes_ended = true;
    for (auto &lane : all) lane->owner->leave(*lane);
}

// A new lane replaces the lane of a destroyed stream, but not while blocks are being freed: an
// allocation may be in progress.
Lane *find_lane(Allocator::State &state, infinirtStream_t stream, bool make_room) {
    if (lanes_ended) return nullptr;
    for (auto &lane : lanes.all)
        if (lane->owner == &state && lane->stream == stream) return last_lane = lane.get();
    if (lanes.all.size() >= kMostLanes) {
        if (!make_room) return nullptr;
        last_lane = nullptr;
        lanes.all.front()->owner->leave(*lanes.all.front());
        lanes.all.erase(lanes.all.begin());
    }
    auto &made = lanes.all.emplace_back(new Lane{&state, stream, 0});
    try {
        state.join(*made);
    } catch (...) {
        lanes.all.pop_back();
        throw;
    }
    return last_lane = made.get();
}

// This thread's lane; null once the thread has begun to end.
inline Lane *lane_of(Allocator::State &state, infinirtStream_t stream, bool make_room) {
    Lane *lane = last_lane;
    if (lane && lane->owner == &state && lane->stream == stream) [[likely]]
        return lane;
    return find_lane(state, stream, make_room);
}

}  // namespace

void empty_own_lanes(Allocator::State &state) {
    if (lanes_ended) return;
    for (auto &lane : lanes.all)
        if (lane->owner == &state) state.follow_trim(*lane);
}

// ---- State --------------------------------------------------------------------------------------

void Allocator::State::join(Lane &lane) {
    std::lock_guard lock(mutex_);
    lane.epoch = epoch_.load(std::memory_order_relaxed);
    lanes_.push_back(&lane);
}

void Allocator::State::leave(Lane &lane) noexcept {
    report(lane);
    spill(lane, true);
    std::lock_guard lock(mutex_);
    past_allocations_ += lane.allocations.load(std::memory_order_relaxed);
    std::erase(lanes_, &lane);
}

// A lane keeps the balance of small amounts, and their highest value, so that the peak is right
// for one thread, and slightly too high for several.
inline void Allocator::State::count(Lane *lane, ptrdiff_t bytes) noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    if (!lane) [[unlikely]] {
        raise(peak_in_use_, in_use_.fetch_add(bytes, relaxed) + bytes);
        return;
    }
    ptrdiff_t used = lane->used.load(relaxed) + bytes;
    lane->used.store(used, relaxed);
    if (used > lane->highest.load(relaxed)) lane->highest.store(used, relaxed);
    if (used > kUnreported || used < -kUnreported) [[unlikely]]
        report(*lane);
}

void Allocator::State::report(Lane &lane) noexcept {
    ptrdiff_t used = lane.used.load(), highest = lane.highest.load();
    ptrdiff_t before = in_use_.fetch_add(used);
    raise(peak_in_use_, before + highest);
    lane.used.store(0);
    lane.highest.store(0);
}

Block *Allocator::State::take(size_t bytes, infinirtStream_t stream) {
    Lane *lane = lane_of(*this, stream, true);
    if (lane) [[likely]] {
        lane->allocations.store(lane->allocations.load(std::memory_order_relaxed) + 1,
                                std::memory_order_relaxed);
        if (lane->epoch != epoch_.load(std::memory_order_relaxed)) [[unlikely]]
            follow_trim(*lane);
    } else {
        std::lock_guard lock(mutex_);
        ++past_allocations_;
    }
    if (bytes > kLargestClass) {
        Block *block = take_large(bytes, stream);
        count(lane, ptrdiff_t(static_cast<LargeBlock *>(block)->bytes));
        return block;
    }
    unsigned size_class = class_of(bytes);
    Block *block = lane ? lane->lists[size_class] : nullptr;
    if (block) [[likely]] {
        lane->lists[size_class] = block->next;
        lane->bytes -= block->slab->block_bytes;
    } else {
        block = take_small(size_class, lane, stream);
    }
    count(lane, ptrdiff_t(block->slab->block_bytes));
    return block;
}

void Allocator::State::give(Block *block, StreamUse *uses) noexcept {
    Lane *lane = own_lane(block_stream(block));
    const size_t bytes = block_bytes(block);
    count(lane, -ptrdiff_t(bytes));
    if (uses || kind == Kind::Pinned) [[unlikely]] {
        try {
            return wait_for(block, uses);
        } catch (...) {  // no memory for the note of it
            infini::QuietWaits quiet;
            infinirtDeviceSynchronize();
        }
    }
    put(block, lane);
    if (shrink_to_.load(std::memory_order_relaxed)) [[unlikely]]
        keep_less(bytes);
}

void Allocator::State::give_now(Block *block) noexcept {
    put(block, own_lane(block_stream(block)));
}

Lane *Allocator::State::own_lane(infinirtStream_t stream) noexcept try {
    return lane_of(*this, stream, false);
} catch (const std::bad_alloc &) {
    return nullptr;
}

void Allocator::State::put(Block *block, Lane *lane) noexcept {
    Slab *slab = block->slab;
    if (!slab) {
        std::lock_guard lock(mutex_);
        return give_large(static_cast<LargeBlock *>(block));
    }
    if (!lane) [[unlikely]] {
        std::lock_guard lock(mutex_);
        return put_in_store(block);
    }
    block->next = lane->lists[slab->size_class];
    lane->lists[slab->size_class] = block;
    lane->bytes += slab->block_bytes;
    if (lane->epoch != epoch_.load(std::memory_order_relaxed)) [[unlikely]]
        return follow_trim(*lane);
    if (lane->bytes > kLaneBytes) [[unlikely]]
        spill(*lane, false);
}

void Allocator::State::follow_trim(Lane &lane) {
    lane.epoch = epoch_.load(std::memory_order_relaxed);
    spill(lane, true);
}

// Passes on everything, or enough to leave half of a lane's capacity.
void Allocator::State::spill(Lane &lane, bool all) {
    size_t keep = all ? 0 : kLaneBytes / 2;
    std::lock_guard lock(mutex_);
    for (unsigned i = kClasses; i-- > 0 && lane.bytes > keep;) {
        Block *&list = lane.lists[i];
        while (list && lane.bytes > keep) {
            Block *block = list;
            list = block->next;
            lane.bytes -= block->slab->block_bytes;
            put_in_store(block);
        }
    }
}

void Allocator::State::put_in_store(Block *block) {
    Slab &slab = *block->slab;
    // The store was made with the stream's first slab.
    Block *&list = stores_.find(slab.stream)->second.lists[slab.size_class];
    block->next = list;
    list = block;
    ++slab.stored;
}

bool Allocator::State::many_stores() {
    std::lock_guard lock(mutex_);
    if (stores_.size() <= kMostStores) return false;
    std::erase_if(stores_, [&](const auto &store) {
        return std::none_of(slabs_.begin(), slabs_.end(),
                            [&](const auto &slab) { return slab->stream == store.first; });
    });
    return stores_.size() > kMostStores;
}

Block *Allocator::State::take_small(unsigned size_class, Lane *lane, infinirtStream_t stream) {
    if (waiting_.load(std::memory_order_relaxed)) collect(false);
    size_t bytes = class_bytes(size_class);
    {
        std::lock_guard lock(mutex_);
        auto store = stores_.find(stream);
        if (store != stores_.end()) {
            Block *&list = store->second.lists[size_class];
            auto next = [&] {
                Block *block = list;
                list = block->next;
                --block->slab->stored;
                return block;
            };
            if (list) {
                Block *wanted = next();
                for (size_t taken = bytes; lane && list && taken + bytes <= kBatchBytes;
                     taken += bytes) {
                    Block *block = next();
                    block->next = lane->lists[size_class];
                    lane->lists[size_class] = block;
                    lane->bytes += bytes;
                }
                return wanted;
            }
        }
    }
    if (many_stores()) release_unused(false);
    // Starts with few blocks: most classes never need many.
    size_t slab_bytes = std::clamp<size_t>(bytes * 32, 64 << 10, 2 << 20);
    auto slab = std::make_unique<Slab>();
    slab->count = slab_bytes / bytes;
    slab->bytes = slab->count * bytes;
    slab->blocks = std::make_unique<Block[]>(slab->count);
    slab->stream = stream;
    slab->size_class = size_class;
    slab->block_bytes = bytes;
    slab->stored = 0;
    slab->memory = static_cast<std::byte *>(from_device(slab->bytes, bytes));
    for (size_t i = 0; i < slab->count; ++i)
        slab->blocks[i] = {slab->memory + i * bytes, slab.get(), nullptr};
    std::lock_guard lock(mutex_);
    stores_[stream];
    Slab &made = *slabs_.emplace_back(std::move(slab));
    for (size_t i = made.count; i-- > 1;) put_in_store(&made.blocks[i]);
    return &made.blocks[0];
}

// ---- Allocator ----------------------------------------------------------------------------------

Allocator::Allocator(DeviceRuntime &runtime, Kind kind)
    : state_(std::make_unique<State>(runtime, kind)) {}
Allocator::~Allocator() = default;

std::shared_ptr<Memory> Allocator::allocate(size_t bytes, infinirtStream_t stream) {
    State &state = *state_;
    bool pinned = state.kind == Kind::Pinned;
    Device device = pinned ? Device::cpu() : state.runtime.device;
    auto *keeper = thread_state().keeper;
    if (keeper) [[unlikely]]
        stream = state.runtime.stream;  // the current one will be gone
    Block *block = bytes > 0 ? state.take(bytes, stream) : nullptr;
    bool owned = false;  // by the memory
    try {
        std::shared_ptr<Memory> made =
            make_pooled<CachedMemory>(state, block, bytes, device, pinned);
        owned = true;
        if (keeper) [[unlikely]]
            keeper->push_back(made);
        return made;
    } catch (...) {
        if (block && !owned) state.give(block, nullptr);
        throw;
    }
}

void Allocator::record_stream(Memory &memory, infinirtStream_t stream) {
    auto *cached = dynamic_cast<CachedMemory *>(&memory);
    if (cached && cached->has_block()) cached->use(stream);
}

void Allocator::trim() { state_->trim(true); }
void Allocator::note_shortage() noexcept { state_->note_shortage(); }
context::MemoryStats Allocator::stats() const { return state_->stats(); }
void Allocator::reset_peaks() { state_->reset_peaks(); }

}  // namespace infinicore::detail
