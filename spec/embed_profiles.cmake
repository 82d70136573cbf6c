# Writes OUTPUT: kBuiltinProfiles with the text of FOLDER/NAME.toml for each of NAMES.
set(text "// Generated from spec/profiles/ by embed_profiles.cmake.\n#include \"spec/builtin_profiles.h\"\n\n")
string(APPEND text "namespace cuvmm {\n\nconst BuiltinProfile kBuiltinProfiles[2] = {\n")
foreach(name ${NAMES})
  file(READ "${FOLDER}/${name}.toml" content)
  string(APPEND text "    {\"${name}\", R\"toml(${content})toml\"},\n")
endforeach()
string(APPEND text "};\n\n}  // namespace cuvmm\n")
file(WRITE "${OUTPUT}" "${text}")
