# SPDX-License-Identifier: Apache-2.0
# Compiles through ccache where ccache is installed and the user chose no launcher.
option(CUVMM_CCACHE "Compile through ccache when it is installed" ON)
find_program(CUVMM_CCACHE_PROGRAM ccache)
mark_as_advanced(CUVMM_CCACHE_PROGRAM)
if(CUVMM_CCACHE AND CUVMM_CCACHE_PROGRAM)
  foreach(language C CXX ASM)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER "${CUVMM_CCACHE_PROGRAM}")
    endif()
  endforeach()
endif()
