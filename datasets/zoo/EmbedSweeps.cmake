# Writes OUTPUT, a C++ file with the text of FILES in FOLDER as raw string
# literals.
set(delimiter "foretell")
file(WRITE "${OUTPUT}.new"
     "#include \"datasets/zoo/sweep_files.h\"\n\n"
     "namespace foretell::zoo {\nnamespace {\n\n"
     "constexpr SweepFile kFiles[] = {\n")
foreach(name IN LISTS FILES)
  file(READ "${FOLDER}/${name}" text)
  string(FIND "${text}" ")${delimiter}\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${name} contains the literal's delimiter")
  endif()
  file(APPEND "${OUTPUT}.new"
       "    {\"${name}\", R\"${delimiter}(${text})${delimiter}\"},\n")
endforeach()
file(APPEND "${OUTPUT}.new"
     "};\n\n}  // namespace\n\n"
     "std::span<const SweepFile> SweepFiles() { return kFiles; }\n\n"
     "}  // namespace foretell::zoo\n")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
