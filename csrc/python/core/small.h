// An array that needs no allocation while it is small.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace infini::python {

template <class T, size_t kUsual>
class Small {
public:
    void push_back(T value) {
        if (size_ < kUsual)
            usual_[size_] = std::move(value);
        else
            more_.push_back(std::move(value));
        ++size_;
    }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const T &operator[](size_t i) const { return i < kUsual ? usual_[i] : more_[i - kUsual]; }

private:
    std::array<T, kUsual> usual_;
    std::vector<T> more_;
    size_t size_ = 0;
};

}  // namespace infini::python
