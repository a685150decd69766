# What keeps a build short. Most files of the libraries are small, and most of their compile time is headers; see
# docs/install.md, "How long it takes", and tools/build_time.py.

# Files of a library are compiled in batches. `-DINFINI_UNITY=OFF` compiles them one by one, for frequent edits.
option(INFINI_UNITY "Compile the files of the libraries in batches" ON)

# Headers that are parsed once. A file still includes what it uses, so that it compiles without this too
# (-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON).
set(INFINI_STANDARD_HEADERS
    <algorithm> <array> <atomic> <bit> <chrono> <cmath> <condition_variable> <cstddef> <cstdint> <cstdio> <cstdlib>
    <cstring> <deque> <functional> <limits> <map> <memory> <mutex> <new> <numeric> <optional> <set> <shared_mutex>
    <span> <stdexcept> <string> <string_view> <thread> <tuple> <type_traits> <unordered_map> <unordered_set> <utility>
    <variant> <vector>)

# For a library that is compiled with the flags of all: batches, and the precompiled headers of csrc/base.
function(infini_compile_quickly target)
    target_precompile_headers(${target} REUSE_FROM infini_precompiled)
    infini_compile_in_batches(${target})
endfunction()

function(infini_compile_in_batches target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${INFINI_UNITY} UNITY_BUILD_BATCH_SIZE 10)
endfunction()
