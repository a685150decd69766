// Switching between stacks. A fiber is a CUDA thread: it runs until it waits for others.
#pragma once

#include <cstddef>

extern "C" {
// Saves this stack in *from, and continues where `to` was saved.
void simulated_switch(void **from, void *to);
// The entry of a new stack: calls the function of fiber_stack with its argument. Never called
// directly.
void simulated_begin();
}

namespace simulated {

// Makes the top of a new stack so that switching to it calls function(argument), which must not
// return.
void *fiber_stack(void *end, void (*function)(void *), void *argument);

// `count` consecutive stacks, each above a guard page.
class Stacks {
public:
    static constexpr size_t kBytes = size_t(128) << 10;  // of one, with its guard
    static constexpr size_t kGuard = size_t(64) << 10;   // no page is larger

    // The end (highest address) of stack `index`. Made when first asked for; null without memory.
    void *end(unsigned index);
    bool holds(const void *address) const;
    bool is_guard(const void *address) const;

private:
    char *base_ = nullptr;
    unsigned made_ = 0;
};

}  // namespace simulated
