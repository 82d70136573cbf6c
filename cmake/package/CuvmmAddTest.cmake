# SPDX-License-Identifier: Apache-2.0
# cuvmm_add_test(NAME name COMMAND program [arguments...]
#                [DRIVER emulate|real] [PROFILE name] [DEVICES n] [ALLOW rules...] [OPTIONS options...]
#                [ALLOW_UNCHECKED])
#
# A CTest test that runs the program under cuvmm. It fails where the program fails, and with exit code 99 where cuvmm
# finds an error, undefined behaviour or a leak, and with 122 where nothing was checked or the emulator skipped kernels.
#   COMMAND  a target of this project, or a path; then its arguments
#   DRIVER   emulate (the default): the emulated driver. real: this machine's; the test is skipped where there is none
#   PROFILE  the GPU and driver that the emulator behaves as (cuvmm run --emulate=PROFILE)
#   DEVICES  how many devices the emulator has
#   ALLOW    rules that this test may break, by id or glob
#   OPTIONS  more of `cuvmm run`
#   ALLOW_UNCHECKED  the test passes where it uses no CUDA, too, or launches kernels that the emulator skips
# The test has the label cuvmm; set_tests_properties(name PROPERTIES ...) works as for any other.
function(cuvmm_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "ALLOW_UNCHECKED" "NAME;DRIVER;PROFILE;DEVICES" "COMMAND;ALLOW;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cuvmm_add_test: unexpected '${arg_UNPARSED_ARGUMENTS}'; expected NAME, COMMAND, DRIVER, PROFILE, "
                        "DEVICES, ALLOW, OPTIONS or ALLOW_UNCHECKED")
  endif()
  if(NOT arg_NAME OR NOT arg_COMMAND)
    message(FATAL_ERROR "cuvmm_add_test: expected NAME and COMMAND")
  endif()
  if(NOT arg_DRIVER)
    set(arg_DRIVER emulate)
  endif()
  set(options "")
  if(arg_ALLOW_UNCHECKED)
    list(APPEND options --allow-unchecked)
  endif()
  if(arg_DRIVER STREQUAL "emulate")
    string(JOIN "=" emulate --emulate ${arg_PROFILE})
    list(APPEND options "${emulate}")
    if(DEFINED arg_DEVICES)
      list(APPEND options --devices "${arg_DEVICES}")
    endif()
  elseif(NOT arg_DRIVER STREQUAL "real")
    message(FATAL_ERROR "cuvmm_add_test(${arg_NAME}): DRIVER is '${arg_DRIVER}'; expected emulate or real")
  elseif(arg_PROFILE OR DEFINED arg_DEVICES)
    message(FATAL_ERROR "cuvmm_add_test(${arg_NAME}): PROFILE and DEVICES are for DRIVER emulate")
  endif()

  if(arg_ALLOW)
    set(entries "# cuvmm_add_test(${arg_NAME} ALLOW ...)\n")
    foreach(rule IN LISTS arg_ALLOW)
      if(NOT rule MATCHES "[*?]")
        execute_process(COMMAND "${cuvmm_COMMAND}" explain "${rule}" RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE error)
        if(NOT status EQUAL 0)
          message(FATAL_ERROR "cuvmm_add_test(${arg_NAME}): ALLOW ${rule}: ${error}")
        endif()
      endif()
      string(APPEND entries "rule:${rule}\n")
    endforeach()
    string(MAKE_C_IDENTIFIER "${arg_NAME}" file)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/cuvmm-allow/${file}.txt")
    file(WRITE "${file}" "${entries}")
    list(APPEND options --suppressions "${file}")
  endif()

  list(POP_FRONT arg_COMMAND program)
  if(TARGET "${program}")
    set(program "$<TARGET_FILE:${program}>")
  endif()
  add_test(NAME "${arg_NAME}"
    COMMAND "${cuvmm_COMMAND}" run ${options} --error-exitcode 99 ${arg_OPTIONS} -- "${program}" ${arg_COMMAND})
  set_tests_properties("${arg_NAME}" PROPERTIES LABELS cuvmm)
  if(arg_DRIVER STREQUAL "real")
    set_tests_properties("${arg_NAME}" PROPERTIES SKIP_REGULAR_EXPRESSION "cuvmm: there is no CUDA driver here")
  endif()
endfunction()
