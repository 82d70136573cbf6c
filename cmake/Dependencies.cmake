# SPDX-License-Identifier: Apache-2.0
# Looks for everything a build uses before any target is made, so that what is missing is said at
# once and by the name under which Debian and Ubuntu have it. The folders' own find_package calls
# then find it again, and say what they leave out where it is optional (libdw).

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
  # The libraries that are installed are for this machine; their sources lie beside them.
  set(CUVMM_GTEST_SOURCE /usr/src/googletest CACHE PATH "GoogleTest's sources, for cross compilation")
  set(INSTALL_GTEST OFF)
  add_subdirectory("${CUVMM_GTEST_SOURCE}" googletest EXCLUDE_FROM_ALL SYSTEM)
elseif(BUILD_TESTING)
  find_package(GTest QUIET)
  if(NOT TARGET GTest::gmock OR NOT TARGET GTest::gtest_main)
    list(APPEND missing libgtest-dev libgmock-dev)
  endif()
endif()
# Archives, so that the emulator needs no library of theirs; those of this machine are none for another.
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
