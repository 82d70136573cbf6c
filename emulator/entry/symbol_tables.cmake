# SPDX-License-Identifier: Apache-2.0
# cmake -DSYMBOLS=driver_symbols.txt -DOUTPUT=dir -P symbol_tables.cmake
# Writes dir/driver_symbols.inc, one CUVMM_DRIVER_SYMBOL(symbol) a line, and
# dir/proc_addresses.inc, one CUVMM_PROC_ADDRESS(symbol, query, version, flags) a line.
file(STRINGS "${SYMBOLS}" symbols REGEX "^cu[A-Z]")
list(TRANSFORM symbols REPLACE "^([^ ]+).*$" "CUVMM_DRIVER_SYMBOL(\\1)\n")
list(JOIN symbols "" text)
file(WRITE "${OUTPUT}/driver_symbols.inc" "${text}")
# Lines of one word are symbols that cuGetProcAddress does not hand out.
file(STRINGS "${SYMBOLS}" triples REGEX " ")
# The query is the symbol without its endings, such as _v2 and _ptsz.
list(TRANSFORM triples REPLACE "^(cu[A-Za-z0-9]+)([^ ]*) ([^ ]+) ([^ ]+) [^ ]+$"
     "CUVMM_PROC_ADDRESS(\\1\\2, \\1, \\3, \\4)\n")
list(JOIN triples "" text)
file(WRITE "${OUTPUT}/proc_addresses.inc" "${text}")
