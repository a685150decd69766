// A non-owning view of a memory block: what a graph's operators keep of their arguments.
#pragma once

#include <memory>

#include "infinicore/memory.hpp"

namespace infinicore::detail {

class INFINI_EXPORT BlobMemory final : public Memory {
public:
    explicit BlobMemory(const std::shared_ptr<Memory> &owner);
    std::shared_ptr<Memory> owner() const { return owner_.lock(); }  // null: it was freed

private:
    void place() override;
    std::weak_ptr<Memory> owner_;
};

}  // namespace infinicore::detail
