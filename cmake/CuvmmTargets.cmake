# SPDX-License-Identifier: Apache-2.0
# The options of every target, and the function that declares a GoogleTest binary.

option(CUVMM_WERROR "Treat warnings as errors" ON)
set(CUVMM_SANITIZE "" CACHE STRING "Sanitizers for all targets, e.g. address;undefined or thread")

add_library(cuvmm_options INTERFACE)
target_compile_options(cuvmm_options INTERFACE -Wall -Wextra $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety> $<$<BOOL:${CUVMM_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # GCC's generic tuning clears and copies small structures by `rep stos` and `rep movs`, whose
  # start takes a tenth of an intercepted call. Debug builds do without, because clang-tidy reads
  # their commands.
  foreach(option memset memcpy)
    target_compile_options(cuvmm_options INTERFACE
      "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<NOT:$<CONFIG:Debug>>>:-m${option}-strategy=vector_loop:256:noalign,libcall:-1:noalign>")
  endforeach()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Code without padding, because a call mostly waits for the cache lines of its code
  # (docs/performance.md).
  target_compile_options(cuvmm_options INTERFACE
    "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<NOT:$<CONFIG:Debug>>>:-fno-align-jumps;-fno-align-loops;-fno-align-labels>")
endif()
if(CUVMM_SANITIZE)
  list(JOIN CUVMM_SANITIZE "," sanitizers)
  # Not `enum`: C callers pass any number in <cuda.h>'s enumerations, and cuvmm must judge such
  # calls.
  # Not clang's `function`: programs call C libraries through types with their own enumerations.
  # Not maybe-uninitialized: the sanitizers' code makes GCC warn where nothing is wrong (gcc(1),
  # -fsanitize).
  target_compile_options(cuvmm_options INTERFACE -fsanitize=${sanitizers} -fno-sanitize=enum -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
                                                 $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(cuvmm_options INTERFACE -fsanitize=${sanitizers})
endif()
if(CUVMM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "CUVMM_FUZZ needs clang: cmake --preset fuzz")
  endif()
  # All code has coverage counters; only the targets have the engine. A target lowers that by its
  # property CUVMM_COVERAGE: `none`, or `counters` without the operands of comparisons and without
  # code that all programs reach or none (cmake/uncounted.txt), because the engine reads each
  # counter after each input. (A target's own option would come before this one and be overruled.)
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

# cuvmm_compile_soon(TARGET...): for code that a command runs once and no checked program runs, so
# that it need not be fast. It compiles in two thirds of the time.
function(cuvmm_compile_soon)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo,Release>:-O1>)
    cuvmm_address_checks_soon(${target})
  endforeach()
endfunction()

# cuvmm_own_lines(TARGET...): each function that may be hot begins a cache line. The number of lines
# that a call touches then depends only on the functions that it runs, not on the code before them
# (bench.cache_lines). Functions marked cold stay packed.
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
  cuvmm_address_checks_soon(${name})  # a test takes longer to compile than to run
  include(GoogleTest)
  # PRE_TEST, because a build must not run tests: sanitized binaries may need the setup of the test
  # run (`./dev tsan` turns address randomisation off), and listing takes time.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 120)
endfunction()

# cuvmm_python_test(NAME SCRIPT arguments... [VENV]): a test in Python. SCRIPT lies in this folder. VENV: ./dev has
# installed the packages that the script reads with into .deps/venv.
function(cuvmm_python_test name script)
  cmake_parse_arguments(PARSE_ARGV 2 arg "VENV" "" "")
  set(python "${Python3_EXECUTABLE}")
  if(arg_VENV AND EXISTS "${CMAKE_SOURCE_DIR}/.deps/venv/bin/python3")
    set(python "${CMAKE_SOURCE_DIR}/.deps/venv/bin/python3")
  endif()
  cmake_path(ABSOLUTE_PATH script BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND "${python}" -B "${script}" ${arg_UNPARSED_ARGUMENTS})
endfunction()
