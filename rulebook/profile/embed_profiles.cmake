# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT: builtin_profile_table() with the text of FOLDER/NAME.toml for each of NAMES, and of
# FOLDER/platforms/NAME.toml for each of PLATFORMS.
set(text "// Generated from rulebook/profiles/ by embed_profiles.cmake.\n#include \"rulebook/profile/builtin_profiles.h\"\n\n")
string(APPEND text "namespace cuvmm {\n\nstd::span<const BuiltinProfile> builtin_profile_table() {\n"
                   "  static constexpr BuiltinProfile kTable[] = {\n")
foreach(name ${NAMES})
  file(READ "${FOLDER}/${name}.toml" content)
  string(APPEND text "      {\"${name}\", R\"toml(${content})toml\", false},\n")
endforeach()
foreach(name ${PLATFORMS})
  file(READ "${FOLDER}/platforms/${name}.toml" content)
  string(APPEND text "      {\"${name}\", R\"toml(${content})toml\", true},\n")
endforeach()
string(APPEND text "  };\n  return kTable;\n}\n\n}  // namespace cuvmm\n")
file(WRITE "${OUTPUT}" "${text}")
