# Runs the generator over spec/ when CMake configures, and again whenever a file of spec/ changes.
# It does not depend on what is generated: all files under generated/ are used.

set(components Interpreter)
if(INFINI_PYTHON)
    list(APPEND components Development.Module)
    set(optional OPTIONAL_COMPONENTS Development.SABIModule)
endif()
find_package(Python 3.10 COMPONENTS ${components} ${optional})
if(NOT Python_Interpreter_FOUND)
    message(FATAL_ERROR "Python 3.10 or newer is needed")
elseif(INFINI_PYTHON AND NOT Python_Development.Module_FOUND)
    message(FATAL_ERROR "Python.h of ${Python_EXECUTABLE} is missing: install python3-dev (Debian, Ubuntu) or "
        "python3-devel (Fedora)")
endif()

set(INFINI_GENERATED "${CMAKE_BINARY_DIR}/generated")
file(GLOB_RECURSE spec_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/spec/*.py"
    "${PROJECT_SOURCE_DIR}/spec/*.json")
# The stubs and pages of the package are derived from its sources.
file(GLOB_RECURSE package_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/infinicore/*.py")
file(GLOB read_files "${PROJECT_SOURCE_DIR}/csrc/python/*/*.pyi"
    "${PROJECT_SOURCE_DIR}/csrc/base/operator_services.h" "${PROJECT_SOURCE_DIR}/include/infini/op_ext.h")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${spec_files} ${package_files} ${read_files})

# The generator leaves files alone that would not change, so an edit of one declaration recompiles only
# what it touches. Files that an earlier run wrote and this one did not are removed.
execute_process(
    COMMAND "${Python_EXECUTABLE}" -B -m spec.generate --out "${INFINI_GENERATED}" --list
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    OUTPUT_VARIABLE written
    COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "[\r\n]+" ";" written "${written}")
file(GLOB_RECURSE stale RELATIVE "${INFINI_GENERATED}" "${INFINI_GENERATED}/*")
list(REMOVE_ITEM stale ${written})
foreach(file IN LISTS stale)
    file(REMOVE "${INFINI_GENERATED}/${file}")
endforeach()

# The contract is read as csrc/base/*.h here and included as <infini/backend.h> everywhere.
set(INFINI_CONTRACT "${CMAKE_BINARY_DIR}/contract")
file(GLOB stale "${INFINI_CONTRACT}/infini/*.h")
foreach(header backend collectives program expression operation loop_nest make_loop_nest)
    configure_file("${PROJECT_SOURCE_DIR}/csrc/base/${header}.h"
        "${INFINI_CONTRACT}/infini/${header}.h" COPYONLY)
    list(REMOVE_ITEM stale "${INFINI_CONTRACT}/infini/${header}.h")
endforeach()
if(stale)
    file(REMOVE ${stale})  # headers that an earlier build put into this folder
endif()

# infini_headers: the public headers, for clients and for back ends alike.
add_library(infini_headers INTERFACE)
add_library(Infini::headers ALIAS infini_headers)
set_target_properties(infini_headers PROPERTIES EXPORT_NAME headers)
target_include_directories(infini_headers INTERFACE
    "$<BUILD_INTERFACE:${INFINI_GENERATED}/include>"
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    "$<BUILD_INTERFACE:${INFINI_CONTRACT}>"
    "$<INSTALL_INTERFACE:${INFINI_INCLUDEDIR}>")
