# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=FILE.cc -DFILES=a.cuvmm;b.cuvmm -P embed_cases.cmake
# Embeds the texts of the recorded cases into the command, so that it needs no data files.
set(text "#include \"tools/rules/rule_examples.h\"\n\nnamespace cuvmm::tools {\n\nnamespace {\nconst char* const kTexts[] = {\n")
foreach(file ${FILES})
  file(READ "${file}" content)
  string(APPEND text "R\"cases(${content})cases\",\n")
endforeach()
string(APPEND text "};\n}  // namespace\n\nconst std::span<const char* const> kCaseTexts = kTexts;\n\n}  // namespace cuvmm::tools\n")
file(WRITE "${OUTPUT}" "${text}")
