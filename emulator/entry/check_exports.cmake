# SPDX-License-Identifier: Apache-2.0
# cmake -DLIBRARY=libcuda.so.1 -DSYMBOLS=driver_symbols.txt -DNM=nm -DREADELF=readelf -P ...
# Fails unless the library exports exactly the listed symbols and the emulator's own three, by its
# SONAME.
execute_process(COMMAND ${NM} -D --defined-only "${LIBRARY}" OUTPUT_VARIABLE text
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+\n" exported "${text}")
list(TRANSFORM exported STRIP)
file(STRINGS "${SYMBOLS}" listed)
list(TRANSFORM listed REPLACE " .*" "")
list(APPEND listed cuvmmEmulatorFaultAddress cuvmmEmulatorLaunch cuvmmEmulatorTakeKernelReport cuvmmEmulatorUsedMemory cuvmmEmulatorVersion)
set(extra ${exported})
list(REMOVE_ITEM extra ${listed})
set(missing ${listed})
list(REMOVE_ITEM missing ${exported})
execute_process(COMMAND ${READELF} -d "${LIBRARY}" OUTPUT_VARIABLE dynamic
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT dynamic MATCHES "SONAME[^\n]*\\[libcuda\\.so\\.1\\]")
  message(SEND_ERROR "the SONAME is not libcuda.so.1")
endif()
if(dynamic MATCHES "NEEDED[^\n]*(libstdc|libgcc_s)")
  message(SEND_ERROR "the C++ runtime is not linked in: ${CMAKE_MATCH_0}")
endif()
if(extra OR missing)
  message(SEND_ERROR "exported but not listed: ${extra}; listed but not exported: ${missing}")
endif()
list(LENGTH exported count)
message(STATUS "${count} symbols")
