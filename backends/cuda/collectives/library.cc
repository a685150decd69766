#include "collectives/library.h"

#include "vendor.h"

namespace infini::cuda::collectives {
namespace {

struct Found {
    Functions functions{};
    std::string why;
    int version = 0;

    template <class F>
    void take(F &member, const char *word) {
        member = function<F>(Part::kCollectives, word);
    }
    template <class F>
    void need(F &member, const char *word) {
        take(member, word);
        if (!member && why.empty())
            why = std::string(path(Part::kCollectives)) + " lacks a function (" + word + ")";
    }

    Found() {
        if (const char *text = problem(Part::kCollectives)) {
            why = text;
            return;
        }
        Functions &f = functions;
        need(f.GetUniqueId, "GetUniqueId");
        need(f.CommInitRank, "CommInitRank");
        need(f.CommInitAll, "CommInitAll");
        need(f.CommDestroy, "CommDestroy");
        need(f.GroupStart, "GroupStart");
        need(f.GroupEnd, "GroupEnd");
        need(f.AllReduce, "AllReduce");
        need(f.Broadcast, "Broadcast");
        need(f.Reduce, "Reduce");
        need(f.AllGather, "AllGather");
        need(f.ReduceScatter, "ReduceScatter");
        need(f.Send, "Send");
        need(f.Recv, "Recv");
        take(f.GetVersion, "GetVersion");
        take(f.CommInitRankConfig, "CommInitRankConfig");
        take(f.CommFinalize, "CommFinalize");
        take(f.CommAbort, "CommAbort");
        take(f.CommGetAsyncError, "CommGetAsyncError");
        take(f.GetErrorString, "GetErrorString");
        take(f.GetLastError, "GetLastError");
        if (f.GetVersion && f.GetVersion(&version) != kSuccess) version = 0;
    }
};

const Found &found() {
    static const Found &once = *new Found;  // leaked: other threads may still call at exit
    return once;
}

}  // namespace

const Functions *functions(std::string *why) {
    if (!found().why.empty()) *why = found().why;
    return found().why.empty() ? &found().functions : nullptr;
}

const Functions &library() { return found().functions; }

bool can_poll() {
    const Functions &f = library();
    return f.CommInitRankConfig && f.CommFinalize && f.CommAbort && f.CommGetAsyncError;
}

int version() { return found().version; }

std::string name() {
    std::string text = vendor.libraries[int(Part::kCollectives)].use;
    // 2.8.4 is 2804, 2.9.6 is 20906.
    const int v = version(), step = v >= 10000 ? 10000 : 1000;
    if (v)
        text += " " + std::to_string(v / step) + "." + std::to_string(v % step / 100) + "." +
                std::to_string(v % 100);
    return text + " (" + path(Part::kCollectives) + ")";
}

std::string words(int code, const char *function, Handle handle) {
    const Functions &f = library();
    std::string text = std::string(vendor.libraries[int(Part::kCollectives)].prefix) + function +
                       " returned " + std::to_string(code);
    if (f.GetErrorString)
        if (const char *string = f.GetErrorString(code)) text += ": " + std::string(string);
    if (f.GetLastError)
        if (const char *last = f.GetLastError(handle); last && *last)
            text += " (" + std::string(last) + ")";
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

infiniStatus_t refuse(infiniStatus_t status, const std::string &sentence) {
    if (host()) host()->explain(sentence.c_str());
    return status;
}

}  // namespace infini::cuda::collectives
