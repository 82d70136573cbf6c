# SPDX-License-Identifier: Apache-2.0
# Looks for all packages of a build before any target is made, so that the user gets all missing
# packages at once, by their names in Debian and Ubuntu. The folders' own find_package calls then
# find them again, and say what is left out where a package is optional (libdw).

set(missing "")
set(lost "")

# needs(PACKAGE DEBIAN_NAME): the build fails without it.
macro(needs package debian)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND missing ${debian})
  endif()
endmacro()

# wants(PACKAGE DEBIAN_NAME WHAT_IS_LOST): the build goes on without it.
macro(wants package debian what)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND lost "${debian}: ${what}")
  endif()
endmacro()

needs(CLI11 libcli11-dev)
needs(nlohmann_json nlohmann-json3-dev)
needs(fmt libfmt-dev)
needs(tomlplusplus libtomlplusplus-dev)
find_package(Python3 QUIET COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND)
  list(APPEND missing python3)
endif()
if(BUILD_TESTING AND CMAKE_CROSSCOMPILING)
  # The installed libraries are for this machine; their sources lie beside them.
  set(CUVMM_GTEST_SOURCE /usr/src/googletest CACHE PATH "GoogleTest's sources, for cross compilation")
  set(INSTALL_GTEST OFF)
  add_subdirectory("${CUVMM_GTEST_SOURCE}" googletest EXCLUDE_FROM_ALL SYSTEM)
elseif(BUILD_TESTING)
  find_package(GTest QUIET)
  if(NOT TARGET GTest::gmock OR NOT TARGET GTest::gtest_main)
    list(APPEND missing libgtest-dev libgmock-dev)
  endif()
endif()
# Archives, so that the emulator needs no shared library of these packages. This machine's archives
# do not fit another architecture.
find_library(CUVMM_ZSTD_ARCHIVE libzstd.a)
find_library(CUVMM_LZ4_ARCHIVE liblz4.a)
set(CUVMM_UNPACKS OFF)
if(CUVMM_ZSTD_ARCHIVE AND CUVMM_LZ4_ARCHIVE AND NOT CMAKE_CROSSCOMPILING)
  set(CUVMM_UNPACKS ON)
else()
  list(APPEND lost "libzstd-dev liblz4-dev: the emulator reads no compressed parts of fat binaries")
endif()
if(BUILD_TESTING)
  wants(rapidcheck librapidcheck-dev "the property tests (the model against its naive twin) are left out")
endif()
if(missing)
  list(JOIN missing " " names)
  message(FATAL_ERROR "Missing: ${names}\nInstall them (apt-get install ${names}), or run `./dev setup`, which does.")
endif()
foreach(line IN LISTS lost)
  message(STATUS "Going on without ${line}")
endforeach()
