# SPDX-License-Identifier: Apache-2.0
# Options every target shares, and the one way to declare a GoogleTest binary.

option(CUVMM_WERROR "Treat warnings as errors" ON)
set(CUVMM_SANITIZE "" CACHE STRING "Sanitizers for all targets, e.g. address;undefined or thread")

add_library(cuvmm_options INTERFACE)
target_compile_options(cuvmm_options INTERFACE -Wall -Wextra $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety> $<$<BOOL:${CUVMM_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # GCC's generic tuning clears and copies small structures by `rep stos` and `rep movs`, whose start takes a
  # tenth of an intercepted call. Not in Debug builds, whose commands clang-tidy reads.
  foreach(option memset memcpy)
    target_compile_options(cuvmm_options INTERFACE
      "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<NOT:$<CONFIG:Debug>>>:-m${option}-strategy=vector_loop:256:noalign,libcall:-1:noalign>")
  endforeach()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # What a call runs waits for the lines of its code more than for anything else (docs/performance.md): no padding in it.
  target_compile_options(cuvmm_options INTERFACE
    "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<NOT:$<CONFIG:Debug>>>:-fno-align-jumps;-fno-align-loops;-fno-align-labels>")
endif()
if(CUVMM_SANITIZE)
  list(JOIN CUVMM_SANITIZE "," sanitizers)
  # Not `enum`: C callers put any number into <cuda.h>'s enumerations, and judging such calls is our job.
  # Not clang's `function`: libraries of C are called through the types that their callers have for enumerations.
  # Not maybe-uninitialized: what the sanitizers add makes GCC see it where it is not (gcc(1), -fsanitize).
  target_compile_options(cuvmm_options INTERFACE -fsanitize=${sanitizers} -fno-sanitize=enum -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
                                                 $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(cuvmm_options INTERFACE -fsanitize=${sanitizers})
endif()
if(CUVMM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "CUVMM_FUZZ needs clang: cmake --preset fuzz")
  endif()
  # Coverage counters in everything, the engine only in the targets. A target asks for less by its property
  # CUVMM_COVERAGE: `none`, or `counters` without the operands of comparisons and without what every program reaches
  # or none (cmake/uncounted.txt): the engine looks at each counter after each input. (An option of the target's own
  # to the same end would come before this one, and be overruled.)
  target_compile_options(cuvmm_options INTERFACE
    "$<$<NOT:$<STREQUAL:$<TARGET_PROPERTY:CUVMM_COVERAGE>,none>>:-fsanitize=fuzzer-no-link>"
    "$<$<STREQUAL:$<TARGET_PROPERTY:CUVMM_COVERAGE>,counters>:-fno-sanitize-coverage=trace-cmp,indirect-calls,stack-depth;-fsanitize-coverage-ignorelist=${CMAKE_SOURCE_DIR}/cmake/uncounted.txt>")
endif()

# cuvmm_address_checks_soon(TARGET): the same checks by AddressSanitizer, compiled in two thirds of the time.
function(cuvmm_address_checks_soon target)
  if("address" IN_LIST CUVMM_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# cuvmm_compile_soon(TARGET...): what a command does once, and no program that is checked ever runs, need
# not be fast. It is compiled in two thirds of the time.
function(cuvmm_compile_soon)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo,Release>:-O1>)
    cuvmm_address_checks_soon(${target})
  endforeach()
endfunction()

# cuvmm_own_lines(TARGET...): each function that may be hot begins a cache line. How many lines a call touches then
# depends on the functions that it runs, and no more on where code that it does not run lies before them
# (bench.cache_lines). What is marked cold stays packed.
function(cuvmm_own_lines)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE
      "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo,Release>>:-falign-functions=64>")
  endforeach()
endfunction()

# cuvmm_test(NAME sources... LIBS libs...): one test binary; ctest sees each of its cases.
function(cuvmm_test name)
  if(NOT BUILD_TESTING)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gmock GTest::gtest_main)
  cuvmm_address_checks_soon(${name})  # what takes long in a test is compiling it, not running it
  include(GoogleTest)
  # PRE_TEST: a build runs nothing. Sanitized binaries may need what only the test run sets up
  # (`./dev tsan` turns address randomisation off), and two cores have better to do.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 120)
endfunction()
