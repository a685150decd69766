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
    # Back ends are loaded at run time, so nothing else says that the test needs them.
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
    # Its own headers for AVX-512 pass variables that are left undefined on purpose (GCC bug 105593).
    target_compile_options(cpu_math_test PRIVATE -Wno-uninitialized -Wno-maybe-uninitialized)
endif()

# Includes the pool's sources.
target_include_directories(cpu_thread_pool_test PRIVATE "${PROJECT_SOURCE_DIR}/csrc/base"
    "${PROJECT_SOURCE_DIR}/backends/cpu/runtime")

# tests/runtime with these libraries, so that the sanitizers see all that it calls. They are loaded
# before Python, whose own allocator would hide leaks. Left out: calls with pointers that lead nowhere,
# on purpose, and forks, which cpu_fork_test has.
execute_process(COMMAND "${Python_EXECUTABLE}" -c "import hypothesis, numpy, pytest"
    RESULT_VARIABLE missing OUTPUT_QUIET ERROR_QUIET)
set(preload "")
foreach(library IN ITEMS address:libasan.so undefined:libubsan.so thread:libtsan.so)
    string(REPLACE ":" ";" library ${library})
    list(GET library 0 sanitizer)
    if(INFINI_SANITIZE MATCHES "${sanitizer}")
        list(GET library 1 name)
        execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=${name}
            OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
        string(APPEND preload "${found} ")
    endif()
endforeach()
if(missing)
    message(STATUS "tests/runtime is no native test: ${Python_EXECUTABLE} has no pytest, numpy or hypothesis")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT INFINI_SANITIZE)
    add_test(NAME runtime_suite WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
        COMMAND "${Python_EXECUTABLE}" -m pytest -q -p no:cacheprovider tests/runtime
            --ignore tests/runtime/test_bad_calls.py -k "not test_fork")
    set_tests_properties(runtime_suite PROPERTIES TIMEOUT 1500 ENVIRONMENT
        "INFINI_TEST_ROOT=${CMAKE_BINARY_DIR}/root;PYTHONMALLOC=malloc;LD_PRELOAD=${preload}")
endif()
