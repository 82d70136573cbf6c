# SPDX-License-Identifier: Apache-2.0
# Targets over all folders, for builds without tests (./dev demo, the compiler and header matrix):
# `libraries` has the objects that programs load; `demo` has these, the command and the examples.
function(cuvmm_aggregate name)
  add_custom_target(${name})
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      add_dependencies(${name} ${target})
    endif()
  endforeach()
endfunction()

get_property(examples DIRECTORY examples PROPERTY BUILDSYSTEM_TARGETS)
list(FILTER examples INCLUDE REGEX "^example_")
cuvmm_aggregate(libraries cuvmm_api cuvmm_rulebook cuvmm_profile cuvmm_shim cuvmm_emulator
  cuvmm_runtime_12 cuvmm_runtime_13 cuvmm_static_cudart cuvmm_blas)
cuvmm_aggregate(demo libraries cuvmm cuvmm_tool cuvmm_links ${examples})
