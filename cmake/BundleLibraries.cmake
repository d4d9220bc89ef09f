# Runs when the Python package is installed (ForetellPython.cmake): writes
# built.json, and with FORETELL_LIBTORCH_INSIDE copies every library that the
# programs need. Left out is what each system has: glibc and GCC's runtime, which
# must be the newest in a process.
set(prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
if(FORETELL_LIBTORCH_INSIDE)
  file(
    GET_RUNTIME_DEPENDENCIES
    EXECUTABLES
    ${FORETELL_BUILT_PROGRAMS}
    DIRECTORIES
    "${FORETELL_TORCH_FOLDER}"
    RESOLVED_DEPENDENCIES_VAR
    libraries
    UNRESOLVED_DEPENDENCIES_VAR
    missing
    CONFLICTING_DEPENDENCIES_PREFIX
    conflicts
    PRE_EXCLUDE_REGEXES
    "^ld-linux"
    "^lib(c|m|dl|rt|pthread|resolv|mvec|stdc\\+\\+|gcc_s)\\.so")
  if(missing)
    message(FATAL_ERROR "FORETELL_LIBTORCH_INSIDE: not found: ${missing}")
  endif()
  foreach(library IN LISTS libraries)
    cmake_path(GET library FILENAME name)
    # A wheel has no links: each library once, under the name that is asked for.
    file(REAL_PATH "${library}" file)
    file(MAKE_DIRECTORY "${prefix}/${FORETELL_LIBRARY_FOLDER}")
    file(COPY_FILE "${file}" "${prefix}/${FORETELL_LIBRARY_FOLDER}/${name}")
  endforeach()
  set(inside true)
else()
  set(inside false)
endif()
file(
  WRITE "${prefix}/built.json"
  "{\"torch\": \"${FORETELL_TORCH_VERSION}\", \"libtorch_inside\": ${inside}}\n")
