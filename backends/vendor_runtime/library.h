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

// Why a library or one of its required functions is missing; empty: all there.
const std::string &problem(Part part);
// Where it was found.
const std::string &path(Part part);
// A function by its symbol; null: the library has none.
void *find(Part part, const char *symbol);
template <class F>
F function(Part part, const char *symbol) {
    return reinterpret_cast<F>(find(part, symbol));
}

bool has(Word word);
// The symbol that was found, or the first of its row.
const char *name_of(Word word);
// Calls it; the vendor's code. It must be there.
int call(Word word, const Values &values);
// Calls it and turns the code into an error with an explanation.
Error check(Word word, const Values &values);
Error fail_call(int code, const char *symbol);
// Success, NotReady, or an explained error, of kStreamQuery and kEventQuery.
Error query(Word word, Values values);

const InfiniHost *host();
void set_host(const InfiniHost *host);
Error explain(Error error, const std::string &sentence);
// What the calling thread explained last.
const std::string &last_sentence();
Error last_error();
// What a plan returns for a failure that it has explained; no vendor's code is this one.
constexpr int kExplained = INT_MIN;

// Names in the table that no vendor's header or second source confirms; empty: none.
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
