# SPDX-License-Identifier: Apache-2.0
# `cmake --install BUILD --prefix ANY`: all paths are relative, so the folder can be moved
# afterwards. Target `installed` builds the files for it.
include(CMakePackageConfigHelpers)

set(libraries cuvmm_shim cuvmm_other_libc)
if(TARGET cuvmm_symbolize)
  list(APPEND libraries cuvmm_symbolize)
endif()
set(emulator cuvmm_emulator cuvmm_nvml cuvmm_runtime_12 cuvmm_runtime_13 cuvmm_blas)
if(TARGET cuvmm_static_cudart)
  list(APPEND emulator cuvmm_static_cudart)
endif()

# The manual page and the shells' completions; the command writes them.
set(pages "${CMAKE_BINARY_DIR}/pages")
file(MAKE_DIRECTORY "${pages}")
find_program(CUVMM_GZIP gzip)
mark_as_advanced(CUVMM_GZIP)
if(CUVMM_SANITIZE)  # a build runs no sanitized program
  add_custom_target(cuvmm_pages)
  add_custom_target(cuvmm_docs)
else()
  set(man_page "${pages}/cuvmm.1")
  set(compress "")
  if(CUVMM_GZIP)
    set(man_page "${pages}/cuvmm.1.gz")
    set(compress | "${CUVMM_GZIP}" -9nc)
  endif()
  add_custom_command(
    OUTPUT "${man_page}" "${pages}/cuvmm.bash" "${pages}/_cuvmm" "${pages}/cuvmm.fish"
    COMMAND cuvmm shell-page man ${compress} > "${man_page}"
    COMMAND cuvmm shell-page bash > "${pages}/cuvmm.bash"
    COMMAND cuvmm shell-page zsh > "${pages}/_cuvmm"
    COMMAND cuvmm shell-page fish > "${pages}/cuvmm.fish"
    DEPENDS cuvmm VERBATIM)
  add_custom_target(cuvmm_pages ALL DEPENDS "${man_page}" "${pages}/cuvmm.bash" "${pages}/_cuvmm" "${pages}/cuvmm.fish")
  # `man` and the shells look in the folders beside the command's, which of a virtual environment
  # is not in the package.
  set(shared "")
  if(CUVMM_WHEEL)
    set(shared "${SKBUILD_DATA_DIR}/")
  endif()
  install(FILES "${man_page}" DESTINATION "${shared}${CMAKE_INSTALL_MANDIR}/man1")
  install(FILES "${pages}/cuvmm.bash" DESTINATION "${shared}${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME cuvmm)
  install(FILES "${pages}/_cuvmm" DESTINATION "${shared}${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions")
  install(FILES "${pages}/cuvmm.fish" DESTINATION "${shared}${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")

  # The pages that follow from rules, recordings and decisions.
  set(generated "${CMAKE_BINARY_DIR}/docs")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
    "${CMAKE_SOURCE_DIR}/conformance/recorded/*" "${CMAKE_SOURCE_DIR}/conformance/results/*"
    "${CMAKE_SOURCE_DIR}/api/decisions/*.txt" "${CMAKE_SOURCE_DIR}/dev-tools/watch/*.py")
  add_custom_command(OUTPUT "${generated}.stamp"
    COMMAND "${CMAKE_SOURCE_DIR}/docs/generate" "${generated}" ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:cuvmm>
    COMMAND ${CMAKE_COMMAND} -E touch "${generated}.stamp"
    DEPENDS cuvmm ${sources} "${CMAKE_SOURCE_DIR}/docs/generate" "${CMAKE_SOURCE_DIR}/conformance/unpack"
            "${CMAKE_SOURCE_DIR}/conformance/answers.tar.xz"
            "${CMAKE_SOURCE_DIR}/api/entry_points.def" VERBATIM)
  add_custom_target(cuvmm_docs ALL DEPENDS "${generated}.stamp")
  install(DIRECTORY "${generated}/" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endif()

add_custom_target(installed DEPENDS cuvmm cuvmm_pages cuvmm_docs ${libraries} ${emulator})

install(TARGETS cuvmm RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS ${libraries} LIBRARY DESTINATION "${CUVMM_PRIVATE_LIBDIR}")
if(CUVMM_WHEEL)
  install(TARGETS ${emulator} LIBRARY DESTINATION "${CUVMM_PRIVATE_LIBDIR}/emulator" NAMELINK_SKIP)
else()
  install(TARGETS ${emulator} LIBRARY DESTINATION "${CUVMM_PRIVATE_LIBDIR}/emulator")
  # dlopen("libcuda.so") and dlopen("libcuda.so.1") both find the shim when this folder is searched first.
  foreach(name libcuda.so libcuda.so.1)
    install(CODE "
      set(links \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CUVMM_PRIVATE_LIBDIR}/links\")
      file(MAKE_DIRECTORY \"\${links}\")
      file(CREATE_LINK ../libcuvmm-shim.so \"\${links}/${name}\" SYMBOLIC)")
  endforeach()
  # The preloaded objects, also under the names for which glibc's $LIB may stand
  # (tools/installation/layout.h).
  foreach(folder IN LISTS CUVMM_PRELOAD_FOLDERS)
    string(REGEX REPLACE "[^/]+" ".." up "${folder}")
    foreach(name IN LISTS CUVMM_PRELOADED)
      get_filename_component(file "${name}" NAME)
      install(CODE "
        set(preload \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CUVMM_PRIVATE_LIBDIR}/preload/${folder}\")
        file(MAKE_DIRECTORY \"\${preload}\")
        file(CREATE_LINK ../${up}/${name} \"\${preload}/${file}\" SYMBOLIC)")
    endforeach()
  endforeach()
endif()
install(DIRECTORY "${CMAKE_SOURCE_DIR}/emulator/python/hook/" DESTINATION "${CUVMM_PRIVATE_LIBDIR}/emulator/python"
        PATTERN __pycache__ EXCLUDE)
install(FILES "${CMAKE_SOURCE_DIR}/emulator/python/hook/cuvmm_start.py"
              "${CMAKE_SOURCE_DIR}/emulator/python/hook/sitecustomize.py"
        DESTINATION "${CUVMM_PRIVATE_LIBDIR}/emulator/torch")
install(DIRECTORY "${CMAKE_SOURCE_DIR}/emulator/python/torch_hook/" DESTINATION "${CUVMM_PRIVATE_LIBDIR}/emulator/torch"
        PATTERN __pycache__ EXCLUDE PATTERN parts_test.py EXCLUDE)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/docs/" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
        FILES_MATCHING PATTERN "*.md" PATTERN "*.json")
# The first example: `python3 -m cuvmm.first_finding` after the installation of a wheel.
if(CUVMM_WHEEL)
  install(FILES "${CMAKE_SOURCE_DIR}/examples/first_finding.py" DESTINATION .)
else()
  install(FILES "${CMAKE_SOURCE_DIR}/examples/first_finding.py" DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")
endif()
if(CUVMM_GZIP)  # as Debian does
  execute_process(COMMAND ${CUVMM_GZIP} -9nc "${CMAKE_SOURCE_DIR}/CHANGELOG.md" OUTPUT_FILE "${pages}/changelog.gz")
  install(FILES "${pages}/changelog.gz" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endif()

# For find_package(cuvmm) and pkg-config.
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/cuvmm")
set(made "${CMAKE_BINARY_DIR}/package")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/package/cuvmm-config.cmake.in" "${made}/cuvmm-config.cmake"
  INSTALL_DESTINATION "${package}"
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR CUVMM_PRIVATE_LIBDIR)
write_basic_package_version_file("${made}/cuvmm-config-version.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${made}/cuvmm-config.cmake" "${made}/cuvmm-config-version.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/package/CuvmmAddTest.cmake" DESTINATION "${package}")
file(RELATIVE_PATH CUVMM_PREFIX_FROM_PKGCONFIG "/prefix/${CMAKE_INSTALL_DATADIR}/pkgconfig" "/prefix")
foreach(name cuvmm cuvmm-emulator)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/package/${name}.pc.in" "${made}/${name}.pc" @ONLY)
  install(FILES "${made}/${name}.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")
endforeach()
