# Options every target shares, and the one way to declare a GoogleTest binary.

option(CUVMM_WERROR "Treat warnings as errors" ON)
set(CUVMM_SANITIZE "" CACHE STRING "Sanitizers for all targets, e.g. address;undefined or thread")

add_library(cuvmm_options INTERFACE)
target_compile_options(cuvmm_options INTERFACE -Wall -Wextra $<$<BOOL:${CUVMM_WERROR}>:-Werror>)
if(CUVMM_SANITIZE)
  list(JOIN CUVMM_SANITIZE "," sanitizers)
  target_compile_options(cuvmm_options INTERFACE -fsanitize=${sanitizers} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=undefined)
  target_link_options(cuvmm_options INTERFACE -fsanitize=${sanitizers})
endif()

find_package(GTest REQUIRED)

# cuvmm_test(NAME sources... LIBS libs...): one test binary; ctest sees each of its cases.
function(cuvmm_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gmock GTest::gtest_main)
  if(BUILD_TESTING)
    include(GoogleTest)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 120)
  endif()
endfunction()
