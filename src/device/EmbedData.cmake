# Writes OUTPUT, a C++ file that holds the text of the DEVICES and of the
# ENVIRONMENTS file (paths below SOURCE_DIR) as raw string literals.
#
#   cmake -DOUTPUT=… -DSOURCE_DIR=… -DDEVICES=a;b -DENVIRONMENTS=c
#         -P EmbedData.cmake
set(delimiter "foretell")

function(append_file path)
  file(READ "${SOURCE_DIR}/${path}" text)
  string(FIND "${text}" ")${delimiter}\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${path} contains the literal's delimiter")
  endif()
  file(APPEND "${OUTPUT}.new"
       "    {\"${path}\", R\"${delimiter}(${text})${delimiter}\"},\n")
endfunction()

file(WRITE "${OUTPUT}.new"
     "#include \"src/device/embedded_data.h\"\n\n"
     "namespace foretell::device {\nnamespace {\n\n"
     "constexpr EmbeddedFile kDevices[] = {\n")
foreach(path IN LISTS DEVICES)
  append_file("${path}")
endforeach()
file(APPEND "${OUTPUT}.new"
     "};\n\nconstexpr EmbeddedFile kEnvironments[] = {\n")
append_file("${ENVIRONMENTS}")
file(APPEND "${OUTPUT}.new"
     "};\n\n}  // namespace\n\n"
     "std::span<const EmbeddedFile> DeviceFiles() { return kDevices; }\n"
     "const EmbeddedFile& EnvironmentFile() { return kEnvironments[0]; }\n\n"
     "}  // namespace foretell::device\n")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
