# infini_flags: what every library and program of the project is compiled and linked with.

add_library(infini_flags INTERFACE)
target_compile_options(infini_flags INTERFACE -Wall -Wextra)
# Symbols are bound when a library loads: no indirection through the PLT on a call, and no surprise later.
target_compile_options(infini_flags INTERFACE -fno-plt)
target_link_options(infini_flags INTERFACE -Wl,-z,now -Wl,-z,relro -Wl,--no-undefined)

if(INFINI_WERROR)
    target_compile_options(infini_flags INTERFACE -Werror)
endif()

if(INFINI_SANITIZE)
    target_compile_options(infini_flags INTERFACE
        -fsanitize=${INFINI_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
    target_link_options(infini_flags INTERFACE -fsanitize=${INFINI_SANITIZE})
endif()
