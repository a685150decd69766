# Every tests/native/*.cc or *.c is one program and one test, named after its file. The target
# native_tests is all of them with what they use.

add_custom_target(native_tests)
find_package(Threads REQUIRED)
file(GLOB native_tests CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/tests/native/*.cc" "${PROJECT_SOURCE_DIR}/tests/native/*.c")
foreach(source IN LISTS native_tests)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(${name} "${source}")
    target_link_libraries(${name} PRIVATE infinirt infiniop infini_flags Threads::Threads)
    if(name MATCHES "^core_")
        target_link_libraries(${name} PRIVATE infinicore_core)
    endif()
    target_include_directories(${name} PRIVATE "${INFINI_GENERATED}")
    # Back ends are loaded at run time, so this dependency has to be explicit.
    add_dependencies(${name} infini_cpu infini_null infini-probe)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    add_dependencies(native_tests ${name})
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 1500)
endforeach()

# Includes the kernels' headers: compiled for the machine that builds it, as one of their sets is.
target_include_directories(cpu_math_test PRIVATE "${PROJECT_SOURCE_DIR}/backends/cpu/kernels")
target_compile_options(cpu_math_test PRIVATE -march=native -fwrapv -fno-math-errno -fno-trapping-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC's AVX-512 headers use deliberately uninitialised variables (GCC bug 105593).
    target_compile_options(cpu_math_test PRIVATE -Wno-uninitialized -Wno-maybe-uninitialized)
endif()

# Includes the pool's sources.
target_include_directories(cpu_thread_pool_test PRIVATE "${PROJECT_SOURCE_DIR}/csrc/base"
    "${PROJECT_SOURCE_DIR}/backends/cpu/runtime")
