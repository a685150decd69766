/* A typical program of the first generation: it uses none of our headers and does not link; it
 * opens the library under INFINI_ROOT and takes symbols by their names. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Any)(void);
typedef int (*Set)(int, int);
typedef int (*Allocate)(void **, size_t);
typedef int (*Release)(void *);
typedef int (*Copy)(void *, const void *, size_t, int);
typedef int (*Begin)(void *, int);
typedef int (*Give)(void *, void **);
typedef int (*Instantiate)(void **, void *, void **, char *, size_t);
typedef int (*Launch)(void *, void *);
typedef int (*FillAsync)(void *, int, size_t, void *);

static void *library;

static Any find(const char *name) {
    /* POSIX: the result of dlsym may be called; ISO C has no cast for it. */
    union {
        void *object;
        Any function;
    } symbol;
    symbol.object = dlsym(library, name);
    if (!symbol.object) {
        fprintf(stderr, "no symbol %s\n", name);
        exit(1);
    }
    return symbol.function;
}

int main(void) {
    char path[4096];
    const char *root = getenv("INFINI_ROOT");
    void *memory, *stream, *graph, *exec;
    unsigned char host[128];
    if (!root) return 2;
    snprintf(path, sizeof path, "%s/lib/libinfinirt.so", root);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    memset(host, 0, sizeof host);
    if (((Set)find("infinirtSetDevice"))(0, 0)) return 4;
    if (((Allocate)find("infinirtMalloc"))(&memory, sizeof host)) return 5;
    if (((Release)find("infinirtStreamCreate"))(&stream)) return 6;
    if (((Begin)find("infinirtStreamBeginCapture"))(stream, 2)) return 7;
    if (((FillAsync)find("infinirtMemsetAsync"))(memory, 17, sizeof host, stream)) return 8;
    if (((Give)find("infinirtStreamEndCapture"))(stream, &graph)) return 9;
    if (((Instantiate)find("infinirtGraphInstantiate"))(&exec, graph, NULL, NULL, 0)) return 10;
    if (((Launch)find("infinirtGraphLuanch"))(exec, stream)) return 11;
    if (((Release)find("infinirtStreamSynchronize"))(stream)) return 12;
    if (((Copy)find("infinirtMemcpy"))(host, memory, sizeof host, 2) || host[127] != 17) return 13;
    if (((Release)find("infinirtFree"))(memory)) return 14;
    printf("ok\n");
    return 0;
}
