// The functors that compute with values, and where these are kept.
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

void share_places(Layout &layout, const std::vector<char> &kind) {
    constexpr int kNowhere = -1;
    std::vector<size_t> last(layout.slots.size(), 0);  // the step that reads it, counted from 1
    for (size_t s = 0; s < layout.steps.size(); ++s)
        for (int number : layout.steps[s].inputs) last[size_t(number)] = s + 1;
    auto is_temporary = [&](int number) {
        return number >= 0 && layout.slots[size_t(number)].kind == Slot::kElement;
    };
    for (size_t n = 0; n < layout.slots.size(); ++n)
        if (is_temporary(int(n))) layout.slots[n].number = kNowhere;
    std::vector<int> free[2];
    auto free_of = [&](int number) -> std::vector<int> & {
        return free[!kind.empty() && kind[size_t(number)]];
    };
    auto release = [&](std::vector<int> numbers, size_t step) {
        std::sort(numbers.begin(), numbers.end());
        numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
        for (int number : numbers)
            if (is_temporary(number) && last[size_t(number)] <= step)
                free_of(number).push_back(layout.slots[size_t(number)].number);
    };
    layout.element_count = 0;
    for (size_t s = 0; s < layout.steps.size(); ++s) {
        release(layout.steps[s].inputs, s + 1);
        for (int number : layout.steps[s].outputs) {
            if (!is_temporary(number) || layout.slots[size_t(number)].number != kNowhere) continue;
            std::vector<int> &places = free_of(number);
            layout.slots[size_t(number)].number =
                places.empty() ? layout.element_count++ : places.back();
            if (!places.empty()) places.pop_back();
        }
        release(layout.steps[s].outputs, s);  // what nobody reads
    }
}

}  // namespace infini::cpu::program
