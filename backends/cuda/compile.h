// From text to code: the vendor's run-time compiler, and a cache of its results on disk.
#pragma once

#include <string>
#include <vector>

#include "source.h"

namespace infini::cuda {

class Device;
class Source;

// The code of a source for a device. Looks into the cache first, unless it is to be made anew.
// Throws Refusal.
std::vector<char> code_of(const Source &source, const std::string &text, const Device &device,
                          bool anew = false);

// Compiled code on disk, shared by all processes of the user. A file that was cut short or belongs
// to something else counts as absent. Without a folder that can be written, nothing is kept.
class Cache {
public:
    static const Cache &get();

    bool load(const Key &key, std::vector<char> &code) const;
    // Complete under its name, or not there at all: readers never see a part.
    void store(const Key &key, const std::vector<char> &code) const;

private:
    Cache();
    std::string folder_;  // empty: off
};

}  // namespace infini::cuda
