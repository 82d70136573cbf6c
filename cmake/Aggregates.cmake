# SPDX-License-Identifier: Apache-2.0
# Targets over all folders: `libraries` (the objects that programs load) and `demo` (those, the command
# and the examples), for builds that need no test: ./dev demo, the compiler and header matrix.
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
  cuvmm_runtime_12 cuvmm_runtime_13 cuvmm_blas)
cuvmm_aggregate(demo libraries cuvmm cuvmm_tool cuvmm_links ${examples})
