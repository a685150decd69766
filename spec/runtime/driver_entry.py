"""Driver entry points."""

UNSUPPORTED = "there is no driver interface below the core that a client could use"

FUNCTIONS = """
GetDriverEntryPoint(in const char *symbol, out void **funcPtr, unsigned long long flags,
        out? enum infinirtDriverEntryPointQueryResult *driverStatus = NULL)
    Find a function of the driver by name.

GetDriverEntryPointByVersion(in const char *symbol, out void **funcPtr, unsigned int cudaVersion,
        unsigned long long flags,
        out? enum infinirtDriverEntryPointQueryResult *driverStatus = NULL)
    Find a function of the driver by name, in the form that it had in a version.

GetFuncBySymbol(out infinirtFunction_t *functionPtr, ptr const void *symbolPtr)
    Give the driver's handle for a kernel.

GetKernel(out infinirtKernel_t *kernelPtr, ptr const void *entryFuncAddr)
    Give the library handle for a kernel.
"""
