# Installs the libraries, their public headers and the package files, so that
# find_package(foretell) works; LibTorch is pinned to the minor version of the
# build, because its ABI changes with it.
include(CMakePackageConfigHelpers)

get_property(installed GLOBAL PROPERTY FORETELL_INSTALLED_TARGETS)
install(
  TARGETS ${installed}
  EXPORT foretellTargets
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(
  EXPORT foretellTargets
  NAMESPACE foretell::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/foretell)

string(REGEX MATCH "^[0-9]+\\.[0-9]+" FORETELL_TORCH_MINOR
             "${Torch_VERSION}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/foretellConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/foretellConfig.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/foretell)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/foretellConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/foretellConfig.cmake"
              "${PROJECT_BINARY_DIR}/foretellConfigVersion.cmake"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/foretell)
