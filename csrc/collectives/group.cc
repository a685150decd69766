// Groups: the operations between GroupStart and GroupEnd are enqueued together.
#include <system_error>
#include <thread>

#include "comm.h"
#include "infini/ext.h"

namespace infini::ccl {
namespace {

struct Group {
    int depth = 0;
    infiniStatus_t status = INFINI_STATUS_SUCCESS;  // of the first call that failed
    std::vector<Operation> operations;
    std::vector<std::function<infiniStatus_t()>> tasks;
};

Group &mine() {
    static thread_local Group group;
    return group;
}

// Each waits for the others, so each but the first gets a thread. The message of the first failure
// is passed to this thread.
infiniStatus_t run_together(const char *function,
                            const std::vector<std::function<infiniStatus_t()>> &tasks) {
    std::vector<infiniStatus_t> statuses(tasks.size());
    std::vector<std::string> sentences(tasks.size());
    std::vector<std::thread> threads;
    auto run = [&](size_t i) {
        try {
            statuses[i] = tasks[i]();
        } catch (...) {
            statuses[i] = failed(function);
        }
        if (statuses[i] != INFINI_STATUS_SUCCESS) sentences[i] = infiniGetLastErrorMessage();
    };
    threads.reserve(tasks.size());
    for (size_t i = 1; i < tasks.size(); ++i) {
        try {
            threads.emplace_back(run, i);
        } catch (const std::system_error &) {
            statuses[i] = INFINI_STATUS_INTERNAL_ERROR;
            sentences[i] = "the system gives no thread to a rank that joins in a group";
        }
    }
    run(0);
    for (std::thread &thread : threads) thread.join();
    if (statuses[0] != INFINI_STATUS_SUCCESS) return statuses[0];  // its message is already set
    for (size_t i = 1; i < tasks.size(); ++i)
        if (statuses[i] != INFINI_STATUS_SUCCESS)
            return infiniRecordFailure(function, statuses[i], sentences[i].c_str());
    return INFINI_STATUS_SUCCESS;
}

}  // namespace

infiniStatus_t refused(infiniStatus_t status) {
    Group &group = mine();
    if (group.depth > 0 && group.status == INFINI_STATUS_SUCCESS) group.status = status;
    return status;
}

infiniStatus_t group_start(const char *) {
    ++mine().depth;
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t group_end(const char *function) {
    Group &group = mine();
    if (group.depth == 0)
        return infiniRecordFailure(function, INFINI_STATUS_BAD_PARAM,
                                   "no group was begun on this thread with infinicclGroupStart");
    if (--group.depth > 0) return INFINI_STATUS_SUCCESS;
    Group ended = std::move(group);
    group = Group();
    if (ended.status != INFINI_STATUS_SUCCESS)
        return infiniRecordFailure(
            function, ended.status,
            "a call of the group failed, so that nothing of it was enqueued");
    if (!ended.tasks.empty())
        if (infiniStatus_t status = run_together(function, ended.tasks)) return status;
    return ended.operations.empty() ? INFINI_STATUS_SUCCESS
                                    : launch(function, std::move(ended.operations));
}

infiniStatus_t enqueue(const char *function, Operation operation) {
    if (infiniStatus_t status = check(function, operation)) return refused(status);
    if (mine().depth > 0) {
        mine().operations.push_back(std::move(operation));
        return INFINI_STATUS_SUCCESS;
    }
    return launch_one(function, std::move(operation));
}

infiniStatus_t do_together(const char *, std::function<infiniStatus_t()> task) {
    if (mine().depth == 0) return task();
    mine().tasks.push_back(std::move(task));
    return INFINI_STATUS_SUCCESS;
}

}  // namespace infini::ccl
