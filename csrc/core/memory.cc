#include "infinicore/memory.hpp"

#include <stdexcept>
#include <utility>

namespace infinicore {

Memory::Memory(std::byte *data, size_t size, Device device, Deleter deleter, bool pin_memory)
    : data_(data), size_(size), device_(device), pinned_(pin_memory), deleter_(std::move(deleter)) {
    if (!data && size != 0)
        throw std::runtime_error("Memory: data is null: expected the address of " +
                                 std::to_string(size) + " bytes");
}

Memory::~Memory() {
    if (deleter_) deleter_(data_);
}

void Memory::place() {
    throw std::runtime_error("Memory: it has no place, and its kind never gets one");
}

}  // namespace infinicore
