// What libinfinicore uses beyond the public functions. See base/described.h.
#include "described.h"

#include "core.h"
#include "fuse.h"

struct InfiniFused {
    std::unique_ptr<infini::op::FusedProgram> made;
};

extern "C" {

infiniStatus_t infiniLookBehind(const void *handle, InfiniDescribed *described) {
    InfiniopDescriptor *found = infini::op::find_descriptor(handle);
    if (!found) return INFINI_STATUS_BAD_PARAM;
    *described = {found->attributes.data(), found->attributes.size(), found->program,
                  found->planned->plan, found->planned->workspace};
    return INFINI_STATUS_SUCCESS;
}

InfiniFused *infiniFuse(const InfiniProgram *first, const InfiniProgram *second,
                        const InfiniJoin *join) try {
    infini::op::Join joined{{}, join->tensors, join->pointers, join->attributes, join->scalars};
    for (int i = 0; i < join->link_count; ++i) {
        const InfiniLink &link = join->links[i];
        joined.links.push_back(
            {link.output, {link.inputs, link.inputs + link.input_count}, link.keep != 0});
    }
    auto made = infini::op::fuse(*first, *second, joined);
    return made ? new InfiniFused{std::move(made)} : nullptr;
} catch (...) {
    return nullptr;
}

const InfiniProgram *infiniFusedProgram(const InfiniFused *fused) {
    return &fused->made->program();
}

void infiniDropFused(InfiniFused *fused) { delete fused; }

const InfiniProgram *infiniKernelResult(void) { return &infini::op::kernel_result(); }

const InfiniProgram *infiniCopy(void) { return &infini::op::copy_program(); }

}  // extern "C"
