#include "header_numbers.h"

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <regex>
#include <sstream>

#include "library.h"

namespace infini::vendor_runtime {
namespace {

std::string without_comments(const std::string &text) {
    static const std::regex comment(R"(/\*[^]*?\*/|//[^\n]*)");
    return std::regex_replace(text, comment, " ");
}

// Values of enumerators, and of macros that are numbers.
std::map<std::string, long> read_numbers(const std::string &header) {
    static const std::regex list(R"(enum\b[^{;]*\{([^}]*)\})");
    static const std::regex entry(R"((\w+)\s*(?:=\s*(-?\w+)\s*)?(?:,|$))");
    static const std::regex macro(R"(#\s*define\s+(\w+)\s+\(?(0[xX][0-9a-fA-F]+|\d+)\)?)");
    std::map<std::string, long> found;
    const std::string text = without_comments(header);
    for (std::sregex_iterator m(text.begin(), text.end(), macro), end; m != end; ++m)
        found[m->str(1)] = strtol(m->str(2).c_str(), nullptr, 0);
    for (std::sregex_iterator l(text.begin(), text.end(), list), end; l != end; ++l) {
        const std::string body = l->str(1);
        long next = 0;
        for (std::sregex_iterator e(body.begin(), body.end(), entry); e != end; ++e) {
            const std::string given = e->str(2);
            if (!given.empty()) {
                char *rest = nullptr;
                const long value = strtol(given.c_str(), &rest, 0);
                const auto known = found.find(given);
                if (*rest && known == found.end()) break;  // an expression: the rest is not known
                next = *rest ? known->second : value;
            }
            found[e->str(1)] = next++;
        }
    }
    return found;
}

std::string text_of(Part part, const char *header) {
    const std::string library = path(part);
    const std::string folder = library.substr(0, library.rfind('/') + 1);
    std::stringstream names(header);
    std::string name, all;
    while (std::getline(names, name, '|'))
        for (const char *where : {"", "../include/", "../../include/"}) {
            std::ifstream file(folder + where + name);
            std::stringstream text;
            text << file.rdbuf();
            if (!file || text.str().empty()) continue;
            all += text.str();
            break;
        }
    return all;
}

}  // namespace

const std::map<std::string, long> &header_numbers(Part part, const char *header) {
    static std::mutex lock;
    static auto &known = *new std::map<std::string, std::map<std::string, long>>;
    std::lock_guard guard(lock);
    auto [at, is_new] = known.try_emplace(header);
    if (is_new) at->second = read_numbers(text_of(part, header));
    return at->second;
}

}  // namespace infini::vendor_runtime
