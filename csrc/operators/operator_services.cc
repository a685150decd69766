// Functions for libinfinicore besides the public ones. See base/operator_services.h.
#include "operator_services.h"

#include "creation.h"
#include "fuse.h"
#include "make_handle.h"

struct InfiniFused {
    std::unique_ptr<infini::op::FusedProgram> made;
};

extern "C" {

infiniStatus_t infiniDescribe(int number, const InfiniTarget *target, const InfiniTensor *tensors,
                              const size_t *tensor_counts, const InfiniValue *attributes,
                              const size_t *list_counts, InfiniDescribed *described) try {
    infini::op::prepare_for_forks();
    infini::op::Creation creation(infini::op::kOperators[number], attributes, list_counts);
    creation.take(tensors, tensor_counts);
    InfiniopDescriptor *made = creation.finish(*target);
    *described = {made,          made->attributes.data(), made->attributes.size(),
                  made->program, made->planned->plan,     made->planned->workspace};
    return INFINI_STATUS_SUCCESS;
} catch (...) {
    const std::string name = infini::op::kOperators[number].c_name;
    return infini::op::caught(("infiniopCreate" + name + "Descriptor").c_str());
}

void infiniDropDescriptor(InfiniopDescriptor *descriptor) {
    infini::rt::HandleTable<InfiniopDescriptor>::get().destroy_once(descriptor);
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
