// A communicator of ranks on several hosts. Ranks of one host reduce and distribute in shared
// memory, and one of them, the leader, communicates with the other hosts; operations that do not
// gain from this are flat, among all ranks.
#pragma once

#include <vector>

#include "communicator.h"
#include "flat.h"

namespace infini::cpu::collectives {

class NetworkCommunicator final : public Communicator {
public:
    // hosts: by rank, a number for each host. below: the ranks of this host, if there are several
    // and they use shared memory.
    NetworkCommunicator(std::unique_ptr<Links> links, int rank, std::vector<int> hosts,
                        std::unique_ptr<SharedCommunicator> below, bool layered, double timeout);
    ~NetworkCommunicator() override;

    bool run(const InfiniCollective *work, size_t count) override;
    void fail(const std::string &reason) override;
    std::string failure() override;
    void set_timeout(double seconds) override;

private:
    friend class Hierarchy;
    bool do_one(const InfiniCollective &work);
    bool give_up();

    Network network_;
    const std::vector<int> hosts_;
    std::vector<int> everybody_;
    std::unique_ptr<SharedCommunicator> below_;
    const bool
        layered_;  // some host has several ranks that use their memory: the same on all ranks
    std::atomic<double> timeout_;
    std::mutex lock_;  // of the links
};

}  // namespace infini::cpu::collectives
