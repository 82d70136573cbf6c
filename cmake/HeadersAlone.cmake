# SPDX-License-Identifier: Apache-2.0
# Target `headers_alone` compiles each header without a .cc of its own alone, to prove that the
# header includes what it uses. A header with a .cc is that file's first include, which
# cuvmm_includes tests.
set(patterns api bench conformance emulator frames fuzz injected_failures kernels program recorder rulebook shim tools)
list(TRANSFORM patterns REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/\\1/*.h")
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}" ${patterns})
set(units "")
foreach(header IN LISTS headers)
  string(REGEX REPLACE "\\.h$" ".cc" unit "${header}")
  if(NOT EXISTS "${CMAKE_SOURCE_DIR}/${unit}")
    file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/headers_alone/${unit}" CONTENT "#include \"${header}\"\n" @ONLY)
    list(APPEND units "${CMAKE_BINARY_DIR}/headers_alone/${unit}")
  endif()
endforeach()
add_library(headers_alone OBJECT EXCLUDE_FROM_ALL ${units})
set_target_properties(headers_alone PROPERTIES UNITY_BUILD OFF)
target_include_directories(headers_alone PRIVATE "${CMAKE_BINARY_DIR}/shim")
target_compile_options(headers_alone PRIVATE -O0 -g0 -Wno-unused-function -Wno-unused-variable -Wno-unused-const-variable)
# The definitions of the targets that use the headers.
target_compile_definitions(headers_alone PRIVATE CUVMM_RUNTIME_MAJOR=13 CUVMM_EMULATOR="" CUVMM_EMULATOR_PATH="" CUVMM_CORPUS="")
