# CUDA::headers: cuda.h and cudaTypedefs.h from, in this order, CUVMM_CUDA_INCLUDE, the installed
# toolkit, the wheels that `./dev headers` unpacked under .deps/. Nothing of NVIDIA's is linked.
set(CUVMM_CUDA_INCLUDE "" CACHE PATH "Folder that holds cuda.h and cudaTypedefs.h")

file(GLOB CUVMM_WHEEL_INCLUDES "${CMAKE_SOURCE_DIR}/.deps/cuda-*/include")
list(SORT CUVMM_WHEEL_INCLUDES COMPARE NATURAL ORDER DESCENDING)
find_path(CUVMM_CUDA_INCLUDE_FOUND NAMES cudaTypedefs.h
  HINTS ${CUVMM_CUDA_INCLUDE}
  PATHS $ENV{CUDA_HOME}/include /usr/local/cuda/include ${CUVMM_WHEEL_INCLUDES}
  NO_CACHE)
if(CUVMM_CUDA_INCLUDE AND NOT EXISTS "${CUVMM_CUDA_INCLUDE}/cudaTypedefs.h")
  message(FATAL_ERROR "CUVMM_CUDA_INCLUDE=${CUVMM_CUDA_INCLUDE} holds no cudaTypedefs.h")
endif()
if(NOT CUVMM_CUDA_INCLUDE_FOUND)
  message(FATAL_ERROR "No CUDA headers: install the toolkit, pass -DCUVMM_CUDA_INCLUDE=DIR, or run "
                      "`./dev headers`, which unpacks them from the nvidia-cuda-runtime wheel.")
endif()
message(STATUS "CUDA headers: ${CUVMM_CUDA_INCLUDE_FOUND}")
add_library(CUDA::headers INTERFACE IMPORTED)
# SYSTEM: NVIDIA's headers are not ours to make warning-free.
target_include_directories(CUDA::headers SYSTEM INTERFACE "${CUVMM_CUDA_INCLUDE_FOUND}")
