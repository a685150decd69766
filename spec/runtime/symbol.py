"""Symbols: variables of device code, reached by name."""

UNSUPPORTED = "the core runs no compiled device code, so there are no symbols in it"

FUNCTIONS = """
MemcpyToSymbol(ptr const void *symbol, ptr const void *src, size_t count, size_t offset = 0,
        enum infinirtMemcpyKind kind = infinirtMemcpyHostToDevice)
    Copy bytes into a symbol.

MemcpyFromSymbol(ptr void *dst, ptr const void *symbol, size_t count, size_t offset = 0,
        enum infinirtMemcpyKind kind = infinirtMemcpyDeviceToHost)
    Copy bytes out of a symbol.

MemcpyToSymbolAsync(ptr const void *symbol, ptr const void *src, size_t count, size_t offset,
        enum infinirtMemcpyKind kind, infinirtStream_t stream = 0)
    Copy bytes into a symbol in stream order.

MemcpyFromSymbolAsync(ptr void *dst, ptr const void *symbol, size_t count, size_t offset,
        enum infinirtMemcpyKind kind, infinirtStream_t stream = 0)
    Copy bytes out of a symbol in stream order.

GetSymbolAddress(out void **devPtr, ptr const void *symbol)
    Tell a symbol's address.

GetSymbolSize(out size_t *size, ptr const void *symbol)
    Tell a symbol's size in bytes.
"""
