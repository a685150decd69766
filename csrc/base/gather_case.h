/* Gather programs, as planners see them: the form of a definition that an operation takes, with the
 * sizes and strides that it asks for. For back ends that are written in C++. Header only; see
 * spec/operators/language/gather.py. */
#ifndef INFINI_GATHER_CASE_H
#define INFINI_GATHER_CASE_H

#include <infini/operation.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace infini {

constexpr int64_t kAnyCase = std::numeric_limits<int64_t>::min();

enum class GatherWay { kBatch, kLast, kAxis, kAxisOf, kFlat };

struct GatherInfo {
    GatherWay way;
    int amount;  // dimensions, the axis, or the attribute that holds it
    int inputs;
    const char *attributes;  // a letter each: s number, l list, t text
    int case_attribute;
    const char *otherwise;  // text of a case that serves for all others
};

[[noreturn]] inline void refuse_gather(const Operation &operation, infiniStatus_t status,
                                       const char *why) {
    throw Refusal{status, std::string(operation.name()) + ": " + why};
}

// A tensor with its carried dimensions first.
struct GatherView : Shape {
    int carried = 0;

    GatherView() = default;
    GatherView(const Operation &operation, const Tensor &tensor, const GatherInfo &info,
               int carried)
        : Shape(tensor), carried(carried) {
        if (tensor.ndim == 0) ndim = 1, size[0] = 1, stride[0] = 1;
        if (info.way == GatherWay::kFlat) {
            ndim = 1, size[0] = tensor.numel(), stride[0] = 1;
        } else if (info.way == GatherWay::kAxis || info.way == GatherWay::kAxisOf) {
            int axis =
                info.way == GatherWay::kAxis ? info.amount : int(operation.integer(info.amount));
            if (axis < 0) axis += tensor.ndim;
            if (axis < 0 || axis >= tensor.ndim)
                refuse_gather(operation, INFINI_STATUS_BAD_PARAM, "there is no such dimension");
            std::rotate(size + axis, size + axis + 1, size + ndim);
            std::rotate(stride + axis, stride + axis + 1, stride + ndim);
        }
        if (ndim < carried)
            refuse_gather(operation, INFINI_STATUS_BAD_TENSOR_SHAPE,
                          "a tensor has too few dimensions");
    }
    int named() const { return ndim - carried; }
};

// `Gather` is what the code of a definition reads, `Form` a way through the definition; both are the
// back end's.
template <class Gather, class Form>
struct GatherCase {
    static constexpr int kMost = 16;  // coordinates
    const Form *form;
    int carried;
    GatherView out, in[Gather::kInputs];
    Gather gather = {};
    // Of the coordinates. Those of a split dimension share its stride.
    int64_t sizes[kMost], steps[kMost];  // steps in elements of the output

    GatherCase(const Operation &operation, const GatherInfo &info, const Form *forms,
               size_t count) {
        const int rank = operation.tensor(0).ndim;
        carried = info.way == GatherWay::kFlat    ? 0
                  : info.way == GatherWay::kBatch ? info.amount
                  : info.way == GatherWay::kLast  ? rank - info.amount
                                                  : rank - 1;
        if (carried < 0)
            refuse_gather(operation, INFINI_STATUS_BAD_TENSOR_SHAPE, "too few dimensions");
        out = GatherView(operation, operation.tensor(0), info, carried);
        form = choose(operation, info, forms, count);
        if (!form)
            refuse_gather(
                operation,
                info.case_attribute < 0 ? INFINI_STATUS_BAD_TENSOR_SHAPE : INFINI_STATUS_BAD_PARAM,
                "not for this number of dimensions, or this mode");
        read_inputs(operation, info);
        read_attributes(operation, info);
        find_coordinates(operation);
    }

private:
    // The form for this rank and for the value of the attribute that makes cases.
    const Form *choose(const Operation &operation, const GatherInfo &info, const Form *forms,
                       size_t count) const {
        for (int again = 0; again < 2; ++again) {
            const char *text = nullptr;
            if (info.case_attribute >= 0 && info.attributes[info.case_attribute] == 't')
                text = again ? info.otherwise : operation.text(info.case_attribute);
            for (const Form *form = forms; form != forms + count; ++form) {
                if (form->rank != out.named()) continue;
                if (form->text && (!text || std::strcmp(text, form->text) != 0)) continue;
                if (form->value != kAnyCase &&
                    form->value != operation.integer(info.case_attribute))
                    continue;
                return form;
            }
        }
        return nullptr;
    }

    void read_inputs(const Operation &operation, const GatherInfo &info) {
        for (int n = 0; n < info.inputs; ++n) {
            const Tensor tensor = operation.tensor(n + 1);
            in[n] = GatherView(operation, tensor, info, carried);
            gather.wide[n] = tensor.dtype == INFINI_DTYPE_I64;
            if (!std::equal(out.size, out.size + carried, in[n].size))
                refuse_gather(operation, INFINI_STATUS_BAD_TENSOR_SHAPE,
                              "tensors differ in batch sizes");
            std::copy(in[n].size + carried, in[n].size + in[n].ndim, gather.size[n]);
            std::copy(in[n].stride + carried, in[n].stride + in[n].ndim, gather.stride[n]);
        }
    }

    void read_attributes(const Operation &operation, const GatherInfo &info) {
        for (int i = 0; info.attributes[i]; ++i) {
            gather.integer[i] = operation.integer(i), gather.number[i] = operation.number(i);
            if (info.attributes[i] != 'l' || !operation.list(i)) continue;
            gather.count[i] = std::min<int64_t>(Gather::kItems, int64_t(operation.count(i)));
            std::copy(operation.list(i), operation.list(i) + gather.count[i], gather.item[i]);
        }
    }

    void find_coordinates(const Operation &operation) {
        std::copy(out.size + carried, out.size + out.ndim, gather.extent);
        int dims[kMost];
        if (form->split) {
            form->split(gather, sizes, dims);
        } else {
            for (int i = 0; i < form->coordinates; ++i) sizes[i] = gather.extent[i], dims[i] = i;
        }
        int64_t inside = 1, covered[Gather::kDims];
        std::fill(covered, covered + Gather::kDims, 1);
        for (int i = form->coordinates - 1; i >= 0; --i) {
            if (i + 1 == form->coordinates || dims[i + 1] != dims[i]) inside = 1;
            steps[i] = out.stride[carried + dims[i]] * inside;
            inside *= sizes[i], covered[dims[i]] *= sizes[i];
        }
        for (int d = 0; d < out.named(); ++d)
            if (covered[d] != gather.extent[d])
                refuse_gather(operation, INFINI_STATUS_BAD_TENSOR_SHAPE,
                              "the output has another size");
    }
};

}  // namespace infini
#endif
