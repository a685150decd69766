// The vendor's libraries, opened at run time, and calls into them.
#pragma once

#include <climits>
#include <cstdint>

#include "table.h"

namespace infini::vendor_runtime {

using Error = infinirtError_t;

// The values that arguments of a row stand for.
struct Values {
    void *out = nullptr, *out2 = nullptr, *dst = nullptr;
    const void *src = nullptr;
    size_t bytes = 0;
    int direction = 0;
    void *stream = nullptr, *event = nullptr, *event2 = nullptr;
    int device = 0, device2 = 0, value = 0;
    size_t count = 0;
    int type = 0, op = 0, root = 0, rank = 0, ranks = 0;
    void *communicator = nullptr, *id = nullptr;
    const int *devices = nullptr, *rank_list = nullptr;
};

// The missing library or required functions, as text; empty: none.
const std::string &problem(Part part);
// The path where it was found.
const std::string &path(Part part);
// A function by its symbol; null: the library has none.
void *find(Part part, const char *symbol);
template <class F>
F function(Part part, const char *symbol) {
    return reinterpret_cast<F>(find(part, symbol));
}

bool has(Word word);
// The symbol that was resolved, or the first of its row.
const char *name_of(Word word);
// Calls it; returns the vendor's code. It must exist.
int call(Word word, const Values &values);
// Calls it and converts the code to an error with a message.
Error check(Word word, const Values &values);
Error fail_call(int code, const char *symbol);
// For kStreamQuery and kEventQuery: success, NotReady, or an error with a message.
Error query(Word word, Values values);

const InfiniHost *host();
void set_host(const InfiniHost *host);
Error explain(Error error, const std::string &sentence);
// The calling thread's last message.
const std::string &last_sentence();
Error last_error();
// The code of a plan's failure whose message was already set; different from all vendor codes.
constexpr int kExplained = INT_MIN;

// Names in the table that are not confirmed by a vendor's header or a second source; empty: none.
const std::string &doubts();

// The calling thread's device, for a scope.
class OnDevice {
public:
    explicit OnDevice(int device);
    ~OnDevice();
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;

private:
    int before_ = -1;
};

}  // namespace infini::vendor_runtime
