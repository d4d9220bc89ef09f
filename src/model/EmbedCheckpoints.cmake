# Writes OUTPUT, a C++ file with the bytes of CHECKPOINTS (paths below
# SOURCE_DIR).
#
#   cmake -DOUTPUT=… -DSOURCE_DIR=… -DCHECKPOINTS=a;b -P EmbedCheckpoints.cmake
set(arrays "")
set(rows "")
set(index 0)
foreach(path IN LISTS CHECKPOINTS)
  file(READ "${SOURCE_DIR}/${path}" bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "constexpr char kBytes${index}[] = {${bytes}};\n")
  string(APPEND rows "    {\"${path}\", {kBytes${index}, sizeof(kBytes${index})}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE "${OUTPUT}.new"
     "#include \"src/model/embedded_checkpoints.h\"\n\n"
     "namespace foretell::model {\nnamespace {\n\n"
     "${arrays}\n"
     "constexpr EmbeddedCheckpoint kCheckpoints[] = {\n${rows}};\n\n"
     "}  // namespace\n\n"
     "std::span<const EmbeddedCheckpoint> EmbeddedCheckpoints() {\n"
     "  return kCheckpoints;\n}\n\n"
     "}  // namespace foretell::model\n")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
