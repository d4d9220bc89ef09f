# What the Python package has beside python/foretell: the programs, and which
# LibTorch they need. scikit-build-core installs the component foretell_python.
#
# FORETELL_LIBTORCH_INSIDE puts LibTorch and every other library that the programs
# need into the package (BundleLibraries.cmake), which then needs no torch beside it
# and no package of the system. An installation may say otherwise than the build:
#   cmake -DFORETELL_LIBTORCH_INSIDE=ON -DCMAKE_INSTALL_COMPONENT=foretell_python
#         -DCMAKE_INSTALL_PREFIX=… -P cmake_install.cmake
set(FORETELL_PYTHON_COMPONENT foretell_python)

# The programs look for libraries inside the package, then in a torch beside it in
# the same site-packages; python/foretell/_command.py names another torch. As RPATH
# instead of RUNPATH the folders count for the libraries' own libraries, too.
set(FORETELL_LIBRARY_FOLDER foretell-libs)
# Installed elsewhere they look where LibTorch was, too.
set(package_rpath "$ORIGIN/../${FORETELL_LIBRARY_FOLDER}:$ORIGIN/../../torch/lib")
set(full_rpath "${package_rpath}:${TORCH_INSTALL_PREFIX}/lib")
string(REPLACE ":" ";" full_rpath_list "${full_rpath}")
set_target_properties(foretell foretell-lab PROPERTIES INSTALL_RPATH
                                                       "${full_rpath_list}")
foreach(program foretell foretell-lab)
  target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
endforeach()
install(
  TARGETS foretell foretell-lab
  DESTINATION bin
  COMPONENT ${FORETELL_PYTHON_COMPONENT} EXCLUDE_FROM_ALL)

install(
  CODE "
    foreach(program foretell foretell-lab)
      file(RPATH_CHANGE
        FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/\${program}\"
        OLD_RPATH \"${full_rpath}\" NEW_RPATH \"${package_rpath}\")
    endforeach()"
  COMPONENT ${FORETELL_PYTHON_COMPONENT} EXCLUDE_FROM_ALL)

install(
  CODE "
    if(NOT DEFINED FORETELL_LIBTORCH_INSIDE)
      set(FORETELL_LIBTORCH_INSIDE \"${FORETELL_LIBTORCH_INSIDE}\")
    endif()
    set(FORETELL_TORCH_VERSION \"${Torch_VERSION}\")
    set(FORETELL_TORCH_FOLDER \"${TORCH_INSTALL_PREFIX}/lib\")
    set(FORETELL_LIBRARY_FOLDER \"${FORETELL_LIBRARY_FOLDER}\")
    set(FORETELL_BUILT_PROGRAMS
        \"$<TARGET_FILE:foretell>;$<TARGET_FILE:foretell-lab>\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/BundleLibraries.cmake\")"
  COMPONENT ${FORETELL_PYTHON_COMPONENT} EXCLUDE_FROM_ALL)
