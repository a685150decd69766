// Prints which of the instruction sets that it is given this processor has. Run by the build.
#include <cstdio>

#include "processor.h"

int main(int count, char **names) {
    for (int i = 1; i < count; ++i)
        if (infini::cpu::processor_has(names[i])) std::printf("%s;", names[i]);
}
