# What a C or C++ user gets: headers, libraries, the CMake package, the pkg-config file, the reference
# pages, and the null back end as sources to clone. All of it works wherever the folder is moved.

include(CMakePackageConfigHelpers)
set(cmake_dir "${INFINI_LIBDIR}/cmake/Infini")

install(TARGETS infinirt infiniop infiniccl infinicore_core infini_headers EXPORT InfiniTargets
    LIBRARY DESTINATION "${INFINI_LIBDIR}")
# For programs that link the C++ library under its former name.
file(WRITE "${CMAKE_BINARY_DIR}/libinfinicore.so" "INPUT(-linfinicore_cpp_api)\n")
install(FILES "${CMAKE_BINARY_DIR}/libinfinicore.so" DESTINATION "${INFINI_LIBDIR}")
install(TARGETS infini_cpu ${INFINI_CUDA_LIKE} ${INFINI_OWN_RUNTIMES} LIBRARY DESTINATION "${INFINI_LIBDIR}/backends")
install(TARGETS infini-probe RUNTIME DESTINATION "${INFINI_LIBDIR}")
install(DIRECTORY "${INFINI_GENERATED}/include/" "${PROJECT_SOURCE_DIR}/include/"
    "${INFINI_CONTRACT}/" DESTINATION "${INFINI_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/" "${INFINI_GENERATED}/docs/" DESTINATION "${INFINI_SHAREDIR}/docs")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/backends/null" DESTINATION "${INFINI_SHAREDIR}")

install(EXPORT InfiniTargets NAMESPACE Infini:: DESTINATION "${cmake_dir}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/InfiniConfig.cmake.in"
    "${CMAKE_BINARY_DIR}/InfiniConfig.cmake" INSTALL_DESTINATION "${cmake_dir}"
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/InfiniConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/InfiniConfig.cmake" "${CMAKE_BINARY_DIR}/InfiniConfigVersion.cmake"
    DESTINATION "${cmake_dir}")

# What `infini conformance` draws operators' cases from and checks them with: the declarations and the suites' own tools.
set(conformance "${INFINI_SHAREDIR}/conformance")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/spec" DESTINATION "${conformance}"
    FILES_MATCHING PATTERN "*.py" PATTERN "generate" EXCLUDE PATTERN "cpp" EXCLUDE PATTERN "__pycache__" EXCLUDE)
foreach(module IN ITEMS __init__ binding drawing latch layouts memory operator_factors operator_runs operators
        pairwise reference types)
    install(FILES "${PROJECT_SOURCE_DIR}/tests/kit/${module}.py" DESTINATION "${conformance}/kit")
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/tests/operators/cases" DESTINATION "${conformance}"
    FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)

# A second Python package, beside infinicore: what is generated of it joins its hand-written modules.
if(INFINI_PYTHON)
    install(DIRECTORY "${INFINI_GENERATED}/python/libinfiniop" DESTINATION "..")
endif()

configure_file("${CMAKE_CURRENT_LIST_DIR}/infini.pc.in" "${CMAKE_BINARY_DIR}/infini.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/infini.pc" DESTINATION "${INFINI_LIBDIR}/pkgconfig")
