# SPDX-License-Identifier: Apache-2.0
# The places of installed files: the command in bin/, the objects that programs load in lib/cuvmm/,
# found from bin/.
include(GNUInstallDirs)

# A wheel has no symbolic links. Its bytes depend on the sources alone, not on the build folder.
option(CUVMM_WHEEL "Build and install what a Python wheel holds (preset wheel, ./dev wheel)" OFF)
if(CUVMM_WHEEL)
  add_compile_options("-ffile-prefix-map=${CMAKE_SOURCE_DIR}=/cuvmm")
  set(CMAKE_INSTALL_LIBDIR lib)
endif()

set(CUVMM_PRIVATE_LIBDIR "${CMAKE_INSTALL_LIBDIR}/cuvmm")
# The objects that `cuvmm run` preloads from that folder, and the folders that glibc's $LIB may name
# (tools/installation/layout.h).
set(CUVMM_PRELOADED libcuvmm-shim.so libcuvmm-other-libc.so emulator/libcudart.so.12 emulator/libcudart.so.13
    emulator/libcuvmm-blas.so)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND CUVMM_PRELOADED emulator/libcuvmm-static-cudart.so)
endif()
set(CUVMM_PRELOAD_FOLDERS lib lib64 lib/x86_64-linux-gnu lib/aarch64-linux-gnu)
file(RELATIVE_PATH CUVMM_CMAKE_FROM_BIN "/prefix/${CMAKE_INSTALL_BINDIR}" "/prefix/${CMAKE_INSTALL_LIBDIR}/cmake/cuvmm")
file(RELATIVE_PATH CUVMM_PKGCONFIG_FROM_BIN "/prefix/${CMAKE_INSTALL_BINDIR}" "/prefix/${CMAKE_INSTALL_DATADIR}/pkgconfig")
file(RELATIVE_PATH CUVMM_PRIVATE_FROM_BIN "/prefix/${CMAKE_INSTALL_BINDIR}" "/prefix/${CUVMM_PRIVATE_LIBDIR}")
