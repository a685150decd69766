// Loads the output of the simulated NVRTC: a host library, passed as bytes.
#include "module.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

namespace simulated {
namespace {

template <class T>
const T *part(const unsigned char *image, uint64_t offset) {
    return reinterpret_cast<const T *>(image + offset);
}

struct Sections {
    const Elf64_Ehdr *header;
    const Elf64_Shdr *list;
    const char *names;
};

// Null header: not a library.
Sections sections_of(const unsigned char *image) {
    auto *header = part<Elf64_Ehdr>(image, 0);
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_type != ET_DYN) return {};
    auto *list = part<Elf64_Shdr>(image, header->e_shoff);
    return {header, list, part<char>(image, list[header->e_shstrndx].sh_offset)};
}

size_t image_bytes(const Sections &sections) {
    // The linker puts the table of sections last.
    return sections.header->e_shoff + sections.header->e_shnum * sizeof(Elf64_Shdr);
}

void *open_bytes(const unsigned char *image, size_t bytes) {
    int file = memfd_create("simulated-kernel", MFD_CLOEXEC);
    if (file < 0) return nullptr;
    size_t done = 0;
    while (done < bytes) {
        ssize_t wrote = write(file, image + done, bytes - done);
        if (wrote <= 0) break;
        done += size_t(wrote);
    }
    // The loader treats libraries with equal paths as one, and file descriptors are reused, so each
    // path is spelled differently.
    static std::atomic<unsigned> counter{0};
    std::string path = "/proc/self/fd";
    for (unsigned number = counter++; number; number /= 2) path += number % 2 ? "/." : "/";
    path += "/" + std::to_string(file);
    void *library = done == bytes ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!library) fprintf(stderr, "simulated CUDA: cannot load a kernel: %s\n", dlerror());
    close(file);
    return library;
}

}  // namespace

Module *load_module(const void *bytes) {
    auto *image = static_cast<const unsigned char *>(bytes);
    Sections sections = sections_of(image);
    if (!sections.header) return nullptr;
    void *library = open_bytes(image, image_bytes(sections));
    if (!library) return nullptr;
    using Ask = State *(*)();
    auto ask = reinterpret_cast<Ask>(dlsym(library, "infini_simulated_state"));
    auto *version = static_cast<const unsigned *>(dlsym(library, "infini_simulated_version"));
    link_map *map = nullptr;
    if (!ask || !version || *version != kServicesVersion ||
        dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) {
        fprintf(stderr, "simulated CUDA: a kernel was compiled by another version of it\n");
        dlclose(library);
        return nullptr;
    }
    auto *module = new Module;
    module->library = library;
    module->state = ask();
    if (auto *warp = static_cast<const unsigned *>(dlsym(library, "infini_simulated_warp")))
        module->warp = *warp;
    module->constants.start = map->l_addr;
    for (int i = 0; i < sections.header->e_shnum; ++i) {
        const Elf64_Shdr &section = sections.list[i];
        if (section.sh_flags & SHF_ALLOC)
            module->constants.end = map->l_addr + section.sh_addr + section.sh_size;
        if (strcmp(sections.names + section.sh_name, ".bss") != 0) continue;
        module->shared = reinterpret_cast<unsigned char *>(map->l_addr + section.sh_addr);
        module->shared_bytes = section.sh_size;
    }
    auto *name = static_cast<const char *>(dlsym(library, "infini_simulated_name"));
    module->name = name ? name : "?";
    if (module->shared_bytes > kShared) {
        fprintf(stderr,
                "simulated CUDA: %s has %zu bytes of static shared memory, more than 48 KiB\n",
                module->name.c_str(), module->shared_bytes);
        unload_module(module);
        return nullptr;
    }
    return module;
}

void unload_module(Module *module) {
    for (auto &[name, function] : module->functions) delete function;
    dlclose(module->library);
    delete module;
}

Function *find_function(Module &module, const std::string &name) {
    std::lock_guard guard(module.lock);
    Function *&function = module.functions[name];
    if (function) return function;
    void *entry = dlsym(module.library, name.c_str());
    auto *bytes = static_cast<const unsigned *>(dlsym(module.library, (name + "_bytes").c_str()));
    auto *threads =
        static_cast<const unsigned *>(dlsym(module.library, (name + "_threads").c_str()));
    if (!entry || !bytes) {
        module.functions.erase(name);
        return nullptr;
    }
    function = new Function;
    function->module = &module;
    function->name = name;
    function->entry = reinterpret_cast<void (*)(const void *)>(entry);
    function->parameter_bytes = *bytes;
    function->most_threads = threads ? *threads : kMaxThreads;
    return function;
}

}  // namespace simulated
