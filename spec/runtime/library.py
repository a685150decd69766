"""Libraries: device code that is loaded at run time."""

UNSUPPORTED = "the core loads no compiled device code; operators come from InfiniOP"

FUNCTIONS = """
LibraryLoadData(out infinirtLibrary_t *library, in const void *code,
        list(numJitOptions) enum infinirtJitOption *jitOptions,
        list(numJitOptions) void **jitOptionsValues, unsigned int numJitOptions,
        list(numLibraryOptions) enum infinirtLibraryOption *libraryOptions,
        list?(numLibraryOptions) void **libraryOptionValues, unsigned int numLibraryOptions)
    Load device code from memory.

LibraryLoadFromFile(out infinirtLibrary_t *library, in const char *fileName,
        list(numJitOptions) enum infinirtJitOption *jitOptions,
        list(numJitOptions) void **jitOptionsValues, unsigned int numJitOptions,
        list(numLibraryOptions) enum infinirtLibraryOption *libraryOptions,
        list?(numLibraryOptions) void **libraryOptionValues, unsigned int numLibraryOptions)
    Load device code from a file.

LibraryUnload(infinirtLibrary_t library)
    Unload a library.

LibraryGetKernel(out infinirtKernel_t *pKernel, infinirtLibrary_t library, in const char *name)
    Find a kernel by name.

LibraryGetGlobal(out? void **dptr, out? size_t *bytes, infinirtLibrary_t library,
        in const char *name)
    Find a global variable by name.

LibraryGetManaged(out? void **dptr, out? size_t *bytes, infinirtLibrary_t library,
        in const char *name)
    Find managed memory by name.

LibraryGetUnifiedFunction(out void **fptr, infinirtLibrary_t library, in const char *symbol)
    Find a function that host and device call by one address.

LibraryGetKernelCount(out unsigned int *count, infinirtLibrary_t lib)
    Count a library's kernels.

LibraryEnumerateKernels(fill(numKernels) infinirtKernel_t *kernels, unsigned int numKernels,
        infinirtLibrary_t lib)
    List a library's kernels, as many as there is room for.

KernelSetAttributeForDevice(infinirtKernel_t kernel, enum infinirtFuncAttribute attr, int value,
        int device)
    Set an attribute of a kernel for one device.
"""
