# Finds LibTorch: sets Torch_VERSION, TORCH_INSTALL_PREFIX and TORCH_INCLUDE_DIRS,
# and defines the target torch.
#
# Torch's own package file does so, but that of a CUDA build stops where parts of the
# CUDA toolkit are missing. foretell needs only LibTorch's CPU libraries (`measure` loads
# libtorch_cuda.so when it is asked for a GPU) and takes these from a CUDA build by name.
# FORETELL_WITH_CUDA asks for all.
find_file(
  torch_config TorchConfig.cmake
  HINTS "${Torch_DIR}" ${CMAKE_PREFIX_PATH} ENV CMAKE_PREFIX_PATH
  PATH_SUFFIXES Torch share/cmake/Torch NO_CACHE)
if(torch_config)
  cmake_path(GET torch_config PARENT_PATH torch_cmake)
  cmake_path(SET torch_prefix NORMALIZE "${torch_cmake}/../../..")
endif()
if(FORETELL_WITH_CUDA OR NOT torch_config
   OR NOT EXISTS "${torch_prefix}/lib/libtorch_cuda.so")
  find_package(Torch 2.11 REQUIRED)
  return()
endif()

include("${torch_cmake}/TorchConfigVersion.cmake")
set(Torch_VERSION "${PACKAGE_VERSION}")
if(Torch_VERSION VERSION_LESS 2.11)
  message(FATAL_ERROR "${torch_prefix}: LibTorch is ${Torch_VERSION}, expected at "
                      "least 2.11")
endif()
set(TORCH_INSTALL_PREFIX "${torch_prefix}")
set(TORCH_INCLUDE_DIRS "${torch_prefix}/include"
                       "${torch_prefix}/include/torch/csrc/api/include")
message(STATUS "LibTorch ${Torch_VERSION} with CUDA: its CPU libraries are used")

foreach(library c10 torch_cpu)
  add_library(${library} SHARED IMPORTED)
  set_target_properties(
    ${library}
    PROPERTIES IMPORTED_LOCATION "${torch_prefix}/lib/lib${library}.so"
               INTERFACE_INCLUDE_DIRECTORIES "${TORCH_INCLUDE_DIRS}")
endforeach()
add_library(torch INTERFACE IMPORTED)
# Definitions are those of torch_cpu in Caffe2Targets.cmake. CUDA's libraries, which
# these need, are found at run time, beside torch.
target_compile_definitions(
  torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO USE_RPC USE_TENSORPIPE)
target_link_libraries(torch INTERFACE torch_cpu c10)
target_link_options(torch INTERFACE -Wl,--allow-shlib-undefined)
