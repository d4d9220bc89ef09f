# A wheel without a compiler: the build tree FORETELL_PROGRAMS_FROM has the
# programs, and installs what ForetellPython.cmake says.
install(
  CODE "execute_process(
    COMMAND \"${CMAKE_COMMAND}\" -DCMAKE_INSTALL_COMPONENT=foretell_python
            \"-DCMAKE_INSTALL_PREFIX=\${CMAKE_INSTALL_PREFIX}\"
            \"-DCMAKE_INSTALL_DO_STRIP=\${CMAKE_INSTALL_DO_STRIP}\"
            \"-DFORETELL_LIBTORCH_INSIDE=${FORETELL_LIBTORCH_INSIDE}\"
            -P \"${FORETELL_PROGRAMS_FROM}/cmake_install.cmake\"
    COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT foretell_python)
# The targets that pyproject.toml names are built already.
add_custom_target(foretell)
add_custom_target(foretell-lab)
