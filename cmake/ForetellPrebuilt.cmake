# A wheel without a compiler: the build tree FORETELL_PROGRAMS_FROM has the
# programs, and installs what ForetellPython.cmake says.
install(
  CODE "execute_process(
    COMMAND \"${CMAKE_COMMAND}\" --install \"${FORETELL_PROGRAMS_FROM}\"
            --component foretell_python --prefix \"\${CMAKE_INSTALL_PREFIX}\"
    COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT foretell_python)
# The targets that pyproject.toml names are built already.
add_custom_target(foretell)
add_custom_target(foretell-lab)
