# SPDX-License-Identifier: Apache-2.0
# CUVMM_GLIBC=2.28: the build's objects need no newer glibc, although this machine has one. The
# compiler and the objects do not change, only the libraries with which they are linked
# (old_glibc/stubs.py).
set(CUVMM_GLIBC "" CACHE STRING "Oldest glibc that the installed objects must run on, e.g. 2.28; empty: this machine's")
if(NOT CUVMM_GLIBC)
  return()
endif()
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  message(FATAL_ERROR "CUVMM_GLIBC is for GCC on x86-64; here is ${CMAKE_CXX_COMPILER_ID} on ${CMAKE_SYSTEM_PROCESSOR}")
endif()
if(NOT CUVMM_GLIBC MATCHES "^2\\.[0-9]+$" OR CUVMM_GLIBC VERSION_LESS 2.28)
  message(FATAL_ERROR "CUVMM_GLIBC=${CUVMM_GLIBC}: expected 2.28 or newer")
endif()

set(stubs "${CMAKE_BINARY_DIR}/old-glibc")
find_package(Python3 REQUIRED COMPONENTS Interpreter)
execute_process(
  COMMAND ${Python3_EXECUTABLE} "${CMAKE_CURRENT_LIST_DIR}/old_glibc/stubs.py" "${CUVMM_GLIBC}" "${stubs}" "${CMAKE_C_COMPILER}"
  COMMAND_ERROR_IS_FATAL ANY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  "${CMAKE_CURRENT_LIST_DIR}/old_glibc/stubs.py" "${CMAKE_CURRENT_LIST_DIR}/old_glibc/compat.c"
  "${CMAKE_CURRENT_LIST_DIR}/old_glibc/find_object.c" "${CMAKE_CURRENT_LIST_DIR}/old_glibc/start.c")
# Before glibc 2.34, threads and the loader's functions were separate libraries, so all objects that
# may need them link them.
add_link_options("-L${stubs}" -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--pop-state)
message(STATUS "Linked for glibc ${CUVMM_GLIBC} and newer")
