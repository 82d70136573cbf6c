# SPDX-License-Identifier: Apache-2.0
# cmake -DSYMBOLS=nvml_symbols.txt -DMACRO=CUVMM_NVML_NAME -DOUTPUT=nvml_symbols.inc -P symbol_table.cmake
# Writes one CUVMM_NVML_NAME(index, symbol) a line.
file(STRINGS "${SYMBOLS}" names)
set(text "")
set(index 0)
foreach(name IN LISTS names)
  string(APPEND text "${MACRO}(${index}, ${name})\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE "${OUTPUT}" "${text}")
