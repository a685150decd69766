/* Windows over images as planners see them: the list attributes of an operation, checked against
 * its tensors. For back ends written in C++. Header only. */
#ifndef INFINI_WINDOW_CASE_H
#define INFINI_WINDOW_CASE_H

#include <algorithm>
#include <string>

#include "refuse.h"

namespace infini {

inline constexpr int kImageDims = 3;                      // after the batch and the channels
inline constexpr int64_t kMostWindow = int64_t(1) << 31;  // sizes beyond it are refused
inline constexpr int64_t kMostResultSize = 1 << 26;  // of a dimension: plans have an entry for each

[[noreturn]] inline void refuse_windows(const Operation &operation, infiniStatus_t status,
                                        const std::string &why) {
    throw Refusal{status, std::string(operation.name()) + ": " + why};
}

// Reads a list attribute; defaults remain for the dimensions that it lacks. Values below `least`
// are refused. Returns false if the list was not given.
inline bool read_list(const Operation &operation, int attribute, int rank, int64_t least,
                      const char *name, int64_t *to, int dims = kImageDims) {
    const int64_t *list = operation.list(attribute);
    if (!list) return false;
    for (int i = 0; i < rank && i < int(operation.count(attribute)); ++i) {
        if (list[i] < least || list[i] > kMostWindow)
            refuse_windows(operation, INFINI_STATUS_BAD_PARAM,
                           std::string(name) + "[" + std::to_string(i) + "] is " +
                               std::to_string(list[i]) + ": expected " + std::to_string(least) +
                               " or more");
        to[dims - rank + i] = list[i];
    }
    return true;
}

[[noreturn]] inline void refuse_size(const Operation &operation, int dim, int64_t have,
                                     int64_t expected) {
    refuse_windows(operation, INFINI_STATUS_BAD_TENSOR_SHAPE,
                   "spatial dimension " + std::to_string(dim) + " of the result has size " +
                       std::to_string(have) + ": expected " + std::to_string(expected));
}

// Checks the result's sizes if they are also given as a list.
inline void check_output_size(const Operation &operation, int attribute, int rank,
                              const int64_t *result) {
    int64_t wanted[kImageDims] = {1, 1, 1};
    read_list(operation, attribute, rank, 0, "output_size", wanted);
    for (int d = kImageDims - rank; d < kImageDims; ++d)
        if (result[d] != wanted[d])
            refuse_size(operation, d - (kImageDims - rank), result[d], wanted[d]);
}

inline void check_image_sizes(const Operation &operation, const int64_t *image,
                              const int64_t *result) {
    for (int d = 0; d < kImageDims; ++d)
        if (image[d] > kMostWindow || result[d] > kMostResultSize)
            refuse_windows(operation, INFINI_STATUS_BAD_TENSOR_SHAPE, "the image is too large");
}

// max_pool and avg_pool (`mean`): a window that slides over the image.
struct SlidingWindow {
    int64_t kernel[kImageDims] = {1, 1, 1}, stride[kImageDims] = {1, 1, 1};
    int64_t pad[kImageDims] = {0, 0, 0}, dilation[kImageDims] = {1, 1, 1};
    bool counts_padding = false;  // in the divisor of a mean

    SlidingWindow(const Operation &operation, bool mean, const int64_t *image,
                  const int64_t *result) {
        const int rank = int(operation.integer(mean ? 3 : 4));
        read_list(operation, 0, rank, 1, "kernel_size", kernel);
        if (!read_list(operation, 1, rank, 1, "stride", stride))
            std::copy(kernel, kernel + kImageDims, stride);
        read_list(operation, 2, rank, 0, "padding", pad);
        if (!mean) read_list(operation, 3, rank, 1, "dilation", dilation);
        const bool ceil = operation.integer(mean ? 4 : 5) != 0;
        counts_padding = mean && operation.integer(5) != 0;
        for (int d = 0; d < kImageDims; ++d) {
            const int64_t outputs = count(operation, d, image[d], ceil);
            if (result[d] != outputs)
                refuse_size(operation, d - (kImageDims - rank), result[d], outputs);
        }
    }

private:
    // The windows along one dimension.
    int64_t count(const Operation &operation, int d, int64_t size, bool ceil) const {
        const int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
        const int64_t room = size + 2 * pad[d] - reach, step = stride[d];
        if (2 * pad[d] > reach)
            refuse_windows(operation, INFINI_STATUS_BAD_PARAM,
                           "a padding of more than half the window");
        int64_t last = room >= 0 ? room / step : -1;
        if (ceil && room + step - 1 >= 0 && size + pad[d] > 0)
            last = std::min((room + step - 1) / step, (size + pad[d] - 1) / step);
        if (last < 0)
            refuse_windows(operation, INFINI_STATUS_BAD_PARAM,
                           "a window of " + std::to_string(reach) + " elements does not fit into " +
                               std::to_string(size) + " with a padding of " +
                               std::to_string(pad[d]));
        return last + 1;
    }
};

enum class ResampleMode { kNearest, kExact, kLinear, kCubic, kSmoothLinear, kSmoothCubic };

// resample: the interpolation mode, and the requested sizes.
struct ResampleCase {
    static constexpr int64_t kMostTaps = int64_t(1) << 27;  // elements that outputs are made of
    int rank;
    ResampleMode mode;
    bool corners;

    ResampleCase(const Operation &operation, const int64_t *image, const int64_t *result)
        : rank(int(operation.integer(3))),
          mode(mode_of(operation.text(0) ? operation.text(0) : "", rank)),
          corners(operation.integer(4) != 0),
          scales_(reinterpret_cast<const double *>(operation.list(2))) {
        int64_t wanted[kImageDims] = {1, 1, 1};
        read_list(operation, 1, rank, 0, "size", wanted);
        for (int d = kImageDims - rank; d < kImageDims; ++d) {
            if (result[d] != wanted[d]) refuse_size(operation, own(d), result[d], wanted[d]);
            if (result[d] > kMostResultSize || image[d] >= kMostWindow - 16) refuse_large();
        }
    }

    // The scale of an image dimension; 0: from the sizes.
    double scale(int d) const { return scales_ && own(d) >= 0 ? scales_[own(d)] : 0; }
    int own(int d) const { return d - (kImageDims - rank); }  // number among those that there are
    bool moves() const { return mode <= ResampleMode::kExact; }  // elements are taken as they are
    bool smooth() const { return mode >= ResampleMode::kSmoothLinear; }  // windows differ in size

    [[noreturn]] static void refuse_large() { refuse_shape("resample: the image is too large"); }

private:
    static ResampleMode mode_of(const std::string &text, int rank) {
        if (text == "nearest") return ResampleMode::kNearest;
        if (text == "nearest-exact") return ResampleMode::kExact;
        if (text == "linear") return ResampleMode::kLinear;
        if (text == "cubic" && rank < 3) return ResampleMode::kCubic;
        if (text == "linear-antialias" && rank < 3) return ResampleMode::kSmoothLinear;
        if (text == "cubic-antialias" && rank < 3) return ResampleMode::kSmoothCubic;
        refuse_parameter("resample: mode is \"" + text +
                         "\": expected \"nearest\", \"nearest-exact\", \"linear\" or, for one or "
                         "two dimensions, \"cubic\", \"linear-antialias\" or \"cubic-antialias\"");
    }

    const double *scales_;
};

// fractional_max_pool: windows at positions that each image gives.
inline void check_fractional(const Operation &operation, int rank, const int64_t *image,
                             const int64_t *result, int64_t *kernel) {
    read_list(operation, 0, rank, 1, "kernel_size", kernel);
    check_output_size(operation, 1, rank, result);
    for (int d = kImageDims - rank; d < kImageDims; ++d)
        if (image[d] > kMostWindow || result[d] - 1 > image[d] - kernel[d])
            refuse_windows(operation, INFINI_STATUS_BAD_PARAM,
                           "an image too small (or far too large) for so many windows of this "
                           "size");
}

}  // namespace infini
#endif
