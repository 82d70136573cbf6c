# SPDX-License-Identifier: Apache-2.0
# CUDA::headers: cuda.h and cudaTypedefs.h from, in this order, CUVMM_CUDA_INCLUDE, the installed
# toolkit, the wheels that `./dev headers` unpacked under .deps/ (13.0 first, then the newest), the
# system's own folders. Nothing of NVIDIA's is linked.
set(CUVMM_CUDA_INCLUDE "" CACHE PATH "Folder that holds cuda.h and cudaTypedefs.h")
set(CUVMM_CUDA_OLDEST 12040)

if(CUVMM_CUDA_INCLUDE)
  set(places "${CUVMM_CUDA_INCLUDE}")
else()
  file(GLOB wheels "${CMAKE_SOURCE_DIR}/.deps/cuda-*/include")
  list(SORT wheels COMPARE NATURAL ORDER DESCENDING)
  set(places $ENV{CUDA_HOME}/include /usr/local/cuda/include "${CMAKE_SOURCE_DIR}/.deps/cuda-13.0/include" ${wheels})
endif()
find_path(CUVMM_CUDA_INCLUDE_FOUND NAMES cudaTypedefs.h PATHS ${places} NO_DEFAULT_PATH NO_CACHE)
if(CUVMM_CUDA_INCLUDE AND NOT CUVMM_CUDA_INCLUDE_FOUND)
  message(FATAL_ERROR "CUVMM_CUDA_INCLUDE=${CUVMM_CUDA_INCLUDE} holds no cudaTypedefs.h")
endif()
find_path(CUVMM_CUDA_INCLUDE_FOUND NAMES cudaTypedefs.h NO_CACHE)
if(NOT CUVMM_CUDA_INCLUDE_FOUND)
  message(FATAL_ERROR "No CUDA headers: install the toolkit, pass -DCUVMM_CUDA_INCLUDE=DIR, or run "
                      "`./dev headers`, which unpacks them from the nvidia-cuda-runtime wheel.")
endif()

file(STRINGS "${CUVMM_CUDA_INCLUDE_FOUND}/cuda.h" version_line REGEX "^#define CUDA_VERSION [0-9]+" LIMIT_COUNT 1)
string(REGEX MATCH "[0-9]+" CUVMM_CUDA_VERSION "${version_line}")
if(NOT CUVMM_CUDA_VERSION OR CUVMM_CUDA_VERSION LESS CUVMM_CUDA_OLDEST)
  message(FATAL_ERROR "${CUVMM_CUDA_INCLUDE_FOUND}/cuda.h is version '${CUVMM_CUDA_VERSION}'; cuvmm needs "
                      "${CUVMM_CUDA_OLDEST} (CUDA 12.4) or newer. `./dev headers` fetches one.")
endif()
message(STATUS "CUDA headers: ${CUVMM_CUDA_INCLUDE_FOUND} (${CUVMM_CUDA_VERSION})")

add_library(CUDA::headers INTERFACE IMPORTED)
# SYSTEM, because NVIDIA's headers may cause warnings.
target_include_directories(CUDA::headers SYSTEM INTERFACE "${CUVMM_CUDA_INCLUDE_FOUND}")
