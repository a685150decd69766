#include <cstring>

#include "call.h"
#include "infinicore/ops/run.hpp"
#include "layout.h"
#include "step.h"

namespace infinicore::op {

using namespace detail;

namespace {

template <class To, class From>
void *keep(Values &values, const std::vector<From> &list) {
    // One entry more than needed, so that an empty list has an address too.
    auto copy = std::make_shared<std::vector<To>>(list.begin(), list.end());
    copy->push_back(To{});
    values.kept.push_back(copy);
    values.counts.back() = list.size();
    return copy->data();
}

template <class To>
void *keep_numbers(const char *name, Values &values, const Value &value) {
    if (auto *whole = std::get_if<std::vector<int64_t>>(&value)) return keep<To>(values, *whole);
    if (auto *real = std::get_if<std::vector<double>>(&value); real && std::is_floating_point_v<To>)
        return keep<To>(values, *real);
    fail(name, "a value is of a wrong kind: expected a list of numbers");
}

detail::Value as_number(const char *name, const Value &value, bool real) {
    detail::Value made{};
    if (auto *whole = std::get_if<int64_t>(&value)) {
        real ? void(made.f = double(*whole)) : void(made.i = *whole);
        return made;
    }
    auto *number = std::get_if<double>(&value);
    if (!number || !real)
        fail(name, std::string("a value is of a wrong kind: expected ") +
                       (real ? "a number" : "a whole number"));
    made.f = *number;
    return made;
}

Values convert(const char *name, const char *what, const char *kinds,
               const std::vector<Value> &given) {
    size_t count = std::strlen(kinds);
    if (given.size() != count)
        fail(name, std::to_string(given.size()) + " " + what + " are given: expected " +
                       std::to_string(count));
    Values values;
    for (size_t i = 0; i < count; ++i) {
        detail::Value value{};
        values.counts.push_back(0);
        switch (kinds[i]) {
            case '-':
                break;
            case 'I':
                value.list = keep_numbers<int32_t>(name, values, given[i]);
                break;
            case 'L':
                value.list = keep_numbers<int64_t>(name, values, given[i]);
                break;
            case 'F':
                value.list = keep_numbers<float>(name, values, given[i]);
                break;
            case 'D':
                value.list = keep_numbers<double>(name, values, given[i]);
                break;
            case 's': {
                auto *text = std::get_if<std::string>(&given[i]);
                if (!text) fail(name, "a value is of a wrong kind: expected a text");
                auto copy = std::make_shared<std::string>(*text);
                value.list = copy->data();
                values.counts.back() = copy->size();
                values.kept.push_back(copy);
                break;
            }
            default:
                value = as_number(name, given[i], kinds[i] == 'f');
        }
        values.values.push_back(value);
    }
    return values;
}

std::vector<GivenValue> as_given(const Values &values) {
    std::vector<GivenValue> made(values.values.size());
    for (size_t i = 0; i < made.size(); ++i) made[i] = {values.values[i], values.counts[i]};
    return made;
}

}  // namespace

void run(const std::string &name, const std::vector<Argument> &tensors,
         const std::vector<Value> &attributes, const std::vector<Value> &scalars) {
    const Row *row = find_row(name);
    if (!row) fail("op::run", "no operator is called \"" + name + "\"");
    const RunRow &running = row->runs[0];
    size_t count = std::strlen(row->tensors);
    if (tensors.size() != count)
        fail(row->name, std::to_string(tensors.size()) + " tensors are given: expected " +
                            std::to_string(count));
    for (size_t i = 0; running.pointers[i]; ++i)
        if (running.tensors[i] < 0)
            fail(row->name, "it takes memory without a tensor: use its C functions");
    std::vector<Given> given;
    for (size_t i = 0; i < count; ++i) {
        if (tensors[i].is_list() != (row->tensors[i] == 'a'))
            fail(row->name, "argument " + std::to_string(i) + " is " +
                                (tensors[i].is_list() ? "a list: expected a tensor"
                                                      : "a tensor: expected a list of them"));
        given.push_back(tensors[i].is_list() ? Given(tensors[i].tensors())
                                             : Given(tensors[i].tensors()[0]));
    }
    const Values of_create = convert(row->name, "attributes", row->attributes, attributes);
    const Values of_run = convert(row->name, "scalars", running.scalars, scalars);
    call(int(row - kRows), 0, given.data(), as_given(of_create).data(), as_given(of_run).data());
}

}  // namespace infinicore::op
