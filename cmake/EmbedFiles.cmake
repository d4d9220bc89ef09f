# Writes OUTPUT, a C++ file that defines FUNCTION (with its namespaces), declared
# as in src/core/embedded_file.h, to answer with the bytes of FILES (paths below
# SOURCE_DIR).
#
#   cmake -DOUTPUT=… -DSOURCE_DIR=… -DFUNCTION=foretell::Files -DFILES=a;b
#         -P EmbedFiles.cmake
set(arrays "")
set(rows "")
set(index 0)
foreach(path IN LISTS FILES)
  file(READ "${SOURCE_DIR}/${path}" bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "constexpr char kBytes${index}[] = {${bytes}};\n")
  string(APPEND rows
         "    {\"${path}\", {kBytes${index}, sizeof(kBytes${index})}},\n")
  math(EXPR index "${index} + 1")
endforeach()
string(REGEX MATCH "^(.*)::([^:]*)$" _ "${FUNCTION}")
file(WRITE "${OUTPUT}.new"
     "#include \"src/core/embedded_file.h\"\n\n"
     "namespace ${CMAKE_MATCH_1} {\n"
     "std::span<const EmbeddedFile> ${CMAKE_MATCH_2}();\n"
     "namespace {\n\n"
     "${arrays}\n"
     "constexpr EmbeddedFile kFiles[] = {\n${rows}};\n\n"
     "}  // namespace\n\n"
     "std::span<const EmbeddedFile> ${CMAKE_MATCH_2}() { return kFiles; }\n\n"
     "}  // namespace ${CMAKE_MATCH_1}\n")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
