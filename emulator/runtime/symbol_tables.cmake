# SPDX-License-Identifier: Apache-2.0
# cmake -DSYMBOLS=runtime_symbols.txt -DMAJOR=13 -DOUTPUT=dir -P symbol_tables.cmake
# Writes dir/runtime_symbols.inc, one CUVMM_RUNTIME_NAME(index, symbol) a line, and
# dir/libcudart.version, the version script that gives each of them the node libcudart.so.MAJOR, and
# cuvmmRuntimeNotSupported as well, by which emulator/redirect/ knows these libraries.
file(STRINGS "${SYMBOLS}" lines REGEX " ${MAJOR}( |$)")
set(names "")
set(exports "")
set(index 0)
foreach(line IN LISTS lines)
  string(REGEX REPLACE " .*" "" symbol "${line}")
  string(APPEND names "CUVMM_RUNTIME_NAME(${index}, ${symbol})\n")
  string(APPEND exports "    ${symbol};\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE "${OUTPUT}/runtime_symbols.inc" "${names}")
file(WRITE "${OUTPUT}/libcudart.version" "libcudart.so.${MAJOR} {\n  global:\n    cuvmmRuntimeNotSupported;\n${exports}  local: *;\n};\n")
