// The aligned face from C++17, with the default arguments that its header gives to C++.
#include <infinirt_runtime_api.h>

#include <cstdio>
#include <thread>
#include <vector>

int main() {
    std::vector<std::thread> threads;
    std::vector<int> failed(8, 1);
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&failed, i] {
            infinirtStream_t stream = nullptr;
            infinirtEvent_t event = nullptr;
            void *memory = nullptr;
            std::vector<unsigned char> host(1000);
            if (infinirtStreamCreate(&stream) || infinirtEventCreate(&event)) return;
            if (infinirtMallocAsync(&memory, host.size(), stream)) return;
            if (infinirtMemsetAsync(memory, i, host.size(), stream)) return;
            if (infinirtEventRecord(event, stream) || infinirtStreamWaitEvent(stream, event))
                return;
            if (infinirtMemcpyAsync(host.data(), memory, host.size(), infinirtMemcpyDeviceToHost,
                                    stream))
                return;
            if (infinirtFreeAsync(memory, stream) || infinirtStreamSynchronize(stream)) return;
            failed[i] = host[999] != i;
            infinirtEventDestroy(event);
            infinirtStreamDestroy(stream);
        });
    for (std::thread &thread : threads) thread.join();
    for (int bad : failed)
        if (bad) return 1;
    std::puts("ok");
}
