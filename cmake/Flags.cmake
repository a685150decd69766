# infini_warnings: for everything that is compiled. infini_flags: for every library and program, too.

add_library(infini_warnings INTERFACE)
target_compile_options(infini_warnings INTERFACE -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # False positives where a literal and a string are joined (GCC bug 105651).
    target_compile_options(infini_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(INFINI_WERROR)
    target_compile_options(infini_warnings INTERFACE -Werror)
endif()

add_library(infini_flags INTERFACE)
target_link_libraries(infini_flags INTERFACE infini_warnings)
# Symbols are bound when a library loads: no indirection through the PLT on a call, and no surprise later.
target_compile_options(infini_flags INTERFACE -fno-plt)
target_link_options(infini_flags INTERFACE -Wl,-z,now -Wl,-z,relro -Wl,--no-undefined)
if(INFINI_SANITIZE)
    # A client may pass any number as an enumerator, so that is not reported. Copies of no bytes
    # from null pointers are not reported either. -O1 -g1, whatever the build type says, and no
    # checks of pointers that AddressSanitizer makes anyway: instrumented code would take three
    # times as long to compile.
    target_compile_options(infini_flags INTERFACE
        -O1 -g1 -fsanitize=${INFINI_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
        -fno-sanitize=enum,nonnull-attribute,null,vptr,object-size,pointer-overflow)
    target_link_options(infini_flags INTERFACE -fsanitize=${INFINI_SANITIZE})
endif()
