# What the Python package has beside python/foretell: the programs, and which
# LibTorch they need. scikit-build-core installs the component foretell_python.
#
# FORETELL_LIBTORCH_INSIDE puts LibTorch into the package, which then needs no
# torch of that version beside it.
set(FORETELL_PYTHON_COMPONENT foretell_python)

# The programs look for LibTorch inside the package, then beside it in the same
# site-packages, then where they were built.
set(FORETELL_LIBTORCH_FOLDER foretell-libs)
set_target_properties(
  foretell foretell-lab
  PROPERTIES
    INSTALL_RPATH
    "$ORIGIN/../${FORETELL_LIBTORCH_FOLDER};$ORIGIN/../../torch/lib;${TORCH_INSTALL_PREFIX}/lib"
)
install(
  TARGETS foretell foretell-lab
  DESTINATION bin
  COMPONENT ${FORETELL_PYTHON_COMPONENT} EXCLUDE_FROM_ALL)

if(FORETELL_LIBTORCH_INSIDE)
  set(libtorch_inside true)
  file(GLOB libraries "${TORCH_INSTALL_PREFIX}/lib/libtorch_cpu.so"
       "${TORCH_INSTALL_PREFIX}/lib/libc10.so"
       "${TORCH_INSTALL_PREFIX}/lib/libgomp*.so*")
  install(
    FILES ${libraries}
    DESTINATION ${FORETELL_LIBTORCH_FOLDER}
    COMPONENT ${FORETELL_PYTHON_COMPONENT} EXCLUDE_FROM_ALL)
else()
  set(libtorch_inside false)
endif()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/built.json" CONTENT
     "{\"torch\": \"@Torch_VERSION@\", \"libtorch_inside\": @libtorch_inside@}\n"
     @ONLY)
install(
  FILES "${PROJECT_BINARY_DIR}/built.json"
  DESTINATION .
  COMPONENT ${FORETELL_PYTHON_COMPONENT} EXCLUDE_FROM_ALL)
