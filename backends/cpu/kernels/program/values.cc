// Looks up functors, and assigns buffers to the values that they compute.
#include <algorithm>
#include <cstring>

#include "program/runner.h"

namespace infini::cpu::program {

const Functor *find_functor(const char *name) {
    for (size_t list = 0; list < kFunctorListCount; ++list)
        for (size_t i = 0; i < kFunctorLists[list]->count; ++i)
            if (std::strcmp(kFunctorLists[list]->functors[i].name, name) == 0)
                return &kFunctorLists[list]->functors[i];
    return nullptr;
}

void share_places(LoopNest &nest, const std::vector<char> &kind) {
    constexpr int kNowhere = -1;
    std::vector<size_t> last(nest.slots.size(), 0);  // the last stage that reads it, counted from 1
    for (size_t s = 0; s < nest.stages.size(); ++s)
        for (int number : nest.stages[s].inputs) last[size_t(number)] = s + 1;
    auto is_temporary = [&](int number) {
        return number >= 0 && nest.slots[size_t(number)].kind == Slot::kElement;
    };
    for (size_t n = 0; n < nest.slots.size(); ++n)
        if (is_temporary(int(n))) nest.slots[n].number = kNowhere;
    std::vector<int> free[2];
    auto free_of = [&](int number) -> std::vector<int> & {
        return free[!kind.empty() && kind[size_t(number)]];
    };
    auto release = [&](std::vector<int> numbers, size_t stage) {
        std::sort(numbers.begin(), numbers.end());
        numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
        for (int number : numbers)
            if (is_temporary(number) && last[size_t(number)] <= stage)
                free_of(number).push_back(nest.slots[size_t(number)].number);
    };
    nest.element_count = 0;
    for (size_t s = 0; s < nest.stages.size(); ++s) {
        release(nest.stages[s].inputs, s + 1);
        for (int number : nest.stages[s].outputs) {
            if (!is_temporary(number) || nest.slots[size_t(number)].number != kNowhere) continue;
            std::vector<int> &places = free_of(number);
            nest.slots[size_t(number)].number =
                places.empty() ? nest.element_count++ : places.back();
            if (!places.empty()) places.pop_back();
        }
        release(nest.stages[s].outputs, s);  // outputs that are never read
    }
}

}  // namespace infini::cpu::program
