// The used part of the vendor's library of Fourier transforms (cuFFT); enumerators are those of its
// headers.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "libraries.h"

namespace infini::cuda::fourier {

using Handle = int;
using Long = long long;

enum Type {  // cufftType
    kSingle = 0x29,
    kSingleFromReal = 0x2a,
    kSingleToReal = 0x2c,
    kDouble = 0x69,
    kDoubleFromReal = 0x6a,
    kDoubleToReal = 0x6c,
};
enum Direction { kForward = -1, kBackward = 1 };

struct Library {
    int (*create)(Handle *);
    int (*destroy)(Handle);
    int (*set_auto_allocation)(Handle, int is_automatic);
    int (*make_plan)(Handle, int rank, Long *n, Long *in_embed, Long in_step, Long in_distance,
                     Long *out_embed, Long out_step, Long out_distance, int type, Long batch,
                     size_t *bytes);
    int (*set_stream)(Handle, void *stream);
    int (*set_work_area)(Handle, void *area);
    int (*single)(Handle, void *from, void *to, int direction);
    int (*single_from_real)(Handle, void *from, void *to);
    int (*single_to_real)(Handle, void *from, void *to);
    int (*double_)(Handle, void *from, void *to, int direction);
    int (*double_from_real)(Handle, void *from, void *to);
    int (*double_to_real)(Handle, void *from, void *to);

    // Null if it is missing or incomplete.
    static const Library *get();
};

// The library's plan for dense blocks of elements: `sizes` are those of the transformed dimensions.
// It belongs to one device, and is cached for later plans of the same kind.
class Blocks {
public:
    using Sizes = std::vector<int64_t>;
    static constexpr size_t kMostDims = 3;

    // Null: unsupported by the library.
    static std::shared_ptr<Blocks> get(int device, int type, const Sizes &sizes, int64_t count);
    ~Blocks();
    Blocks(const Blocks &) = delete;

    size_t bytes() const { return bytes_; }  // of `area`
    // Enqueued, also into a capture: the library supports CUDA graphs.
    Error run(void *stream, void *area, void *from, void *to, int direction);

private:
    Blocks(const Library &library, int device, int type)
        : library_(library), device_(device), type_(type) {}
    bool make(const Sizes &sizes, int64_t count);

    const Library &library_;
    const int device_, type_;
    Handle handle_ = -1;
    size_t bytes_ = 0;
    std::mutex lock_;  // stream and area belong to the handle
};

}  // namespace infini::cuda::fourier
