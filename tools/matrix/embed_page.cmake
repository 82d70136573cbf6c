# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=FILE.cc -DFILE=PAGE -P embed_page.cmake
file(READ "${FILE}" content)
file(WRITE "${OUTPUT}" "#include \"tools/matrix/matrix_page.h\"\n\nnamespace cuvmm::tools {\nconst char* const kMatrixPage = R\"page(${content})page\";\n}  // namespace cuvmm\n")
