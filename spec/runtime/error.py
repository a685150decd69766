"""Errors.

Every thread keeps the code of its last failed call; infini/ext.h adds a sentence that says which
argument was wrong and what was expected.
"""

FUNCTIONS = """
GetLastError()
    Give the calling thread's last error and reset it to success. [anywhere]

PeekAtLastError()
    Give the calling thread's last error and keep it. [anywhere]

const char *GetErrorName(infinirtError_t error)
    Name of an error code as the enum spells it. The text is never freed. [anywhere]

const char *GetErrorString(infinirtError_t error)
    Short text for an error code. The text is never freed. [anywhere]
"""
