# SPDX-License-Identifier: Apache-2.0
# `cpack` in a build folder makes the Debian package of the files that `cmake --install` installs:
# ./dev package.
if(CUVMM_WHEEL)
  return()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cuvmm)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_VENDOR cuvmm)
set(CPACK_PACKAGE_CONTACT "cuvmm maintainers <cuvmm@invalid>")
set(CPACK_PACKAGE_DIRECTORY "${CMAKE_SOURCE_DIR}/build/dist")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_BINARY_DIR}/lib" "${CMAKE_BINARY_DIR}/lib/emulator")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "checker and emulator for the CUDA driver's memory APIs
cuvmm finds misuse of the CUDA driver's memory APIs (virtual memory
management, multicast, legacy IPC, external memory, stream-ordered pools)
in programs as they are, and says who made the objects involved and what to
change. Where there is no GPU, its emulated libcuda runs them.")

# Files that Debian demands in each package.
string(TIMESTAMP CUVMM_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH, where it is set
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/package/changelog.Debian" @ONLY CONTENT
"cuvmm (@PROJECT_VERSION@-1) unstable; urgency=medium

  * What changed stands in CHANGELOG.md.

 -- cuvmm maintainers <cuvmm@invalid>  @CUVMM_DATE@
")
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/package/copyright" @ONLY CONTENT
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: cuvmm

Files: *
Copyright: 2026 the authors of cuvmm
License: Apache-2.0

License: Apache-2.0
 The full text is in /usr/share/common-licenses/Apache-2.0.
")
install(FILES "${CMAKE_BINARY_DIR}/package/copyright" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(CUVMM_GZIP)
  execute_process(COMMAND ${CUVMM_GZIP} -9nkf "${CMAKE_BINARY_DIR}/package/changelog.Debian")
  install(FILES "${CMAKE_BINARY_DIR}/package/changelog.Debian.gz" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endif()
include(CPack)
