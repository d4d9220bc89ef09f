# Helpers that every folder's CMakeLists.txt uses.

# Warnings are an interface target, linked PRIVATE $<BUILD_INTERFACE:…> so that
# they do not leak into the installed package.
add_library(foretell_warnings INTERFACE)
target_compile_options(
  foretell_warnings
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
            -Wno-missing-field-initializers
            # GCC 12 sees overlapping copies in every `"text" + std::string`.
            $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
            # The operator table is sorted at compile time.
            $<$<CXX_COMPILER_ID:Clang>:-fconstexpr-steps=100000000>
            $<$<BOOL:${FORETELL_WARNINGS_AS_ERRORS}>:-Werror>)

# Headers are most of what a file costs to compile, so up to twenty files of a
# target are compiled as one. Their names in anonymous namespaces must therefore
# differ within a target. Files with options of their own stay alone.
set(FORETELL_FILES_PER_UNIT 20)
function(foretell_compile_together)
  set_target_properties(
    ${ARGN} PROPERTIES UNITY_BUILD ${FORETELL_UNITY}
                       UNITY_BUILD_BATCH_SIZE ${FORETELL_FILES_PER_UNIT})
endfunction()

# foretell_add_library(<stage> SOURCES … [PUBLIC_HEADERS …] [LINK …]
#                      [PRIVATE_LINK …])
# makes the static library foretell_<stage> with the alias foretell::<stage>.
# Public headers are those of include/foretell that the stage implements; the
# headers beside the sources are private to the build.
function(foretell_add_library stage)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC_HEADERS;LINK;PRIVATE_LINK"
                        ${ARGN})
  set(target foretell_${stage})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(foretell::${stage} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${stage}
                                             POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  list(TRANSFORM ARG_PUBLIC_HEADERS
       PREPEND "${PROJECT_SOURCE_DIR}/include/foretell/")
  target_sources(
    ${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include"
                     FILES ${ARG_PUBLIC_HEADERS})
  # Private headers are included from the root: "src/core/checked.h".
  target_include_directories(
    ${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                     $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(
    ${target}
    PUBLIC ${ARG_LINK}
    PRIVATE $<BUILD_INTERFACE:foretell_warnings> ${ARG_PRIVATE_LINK})
  foretell_compile_together(${target})
  set_property(GLOBAL APPEND PROPERTY FORETELL_INSTALLED_TARGETS ${target})
endfunction()

# foretell_embed(<variable> <function> <file>…) sets the variable to a C++ file,
# made while building, that defines the function (foretell::…::Files, declared by
# the caller) to answer with the files, whose paths are below the source folder.
function(foretell_embed variable function)
  string(REGEX REPLACE ".*::" "" name "${function}")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${name}.cc")
  set(script "${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake")
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE paths)
  add_custom_command(
    OUTPUT "${output}"
    COMMAND
      "${CMAKE_COMMAND}" "-DOUTPUT=${output}"
      "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}" "-DFUNCTION=${function}"
      "-DFILES=${ARGN}" -P "${script}"
    DEPENDS ${paths} "${script}"
    COMMENT "Embedding the files of ${function}()"
    VERBATIM)
  # All such files have the same names inside. They are arrays of bytes: nothing
  # to precompile for.
  set_source_files_properties(
    "${output}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
                           SKIP_PRECOMPILE_HEADERS ON)
  set(${variable}
      "${output}"
      PARENT_SCOPE)
endfunction()

# For code that calls libraries and has no loops of its own: a third of the time
# to compile is saved.
function(foretell_compile_quickly)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endforeach()
endfunction()

# Tests spend their time in the library; compiling them is what costs.
set(FORETELL_TEST_OPTIONS $<$<CONFIG:Release>:-O0>)

# LibTorch's headers take five to fifteen seconds a file, so they are compiled
# once and shared: foretell_tensor_headers for code that calls operators,
# foretell_module_headers, slower to load, for code that has modules or
# gradients; foretell_test_… with GoogleTest's for the tests. A target that uses
# these also links what they do: the compiler compares definitions.
function(foretell_precompile name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LINK" ${ARGN})
  file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/${name}.cc" CONTENT "")
  add_library(${name} OBJECT "${CMAKE_BINARY_DIR}/${name}.cc")
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PRIVATE foretell_warnings ${ARG_LINK})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

set(FORETELL_MODULE_HEADERS <ATen/ATen.h> <nlohmann/json.hpp>
                            <torch/nn/module.h>)

function(foretell_precompile_torch)
  foretell_precompile(foretell_tensor_headers HEADERS <ATen/ATen.h> LINK torch)
  foretell_precompile(
    foretell_module_headers
    HEADERS ${FORETELL_MODULE_HEADERS}
    LINK torch nlohmann_json::nlohmann_json)
  set_target_properties(foretell_tensor_headers foretell_module_headers
                        PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

function(foretell_precompile_tests)
  set(test_headers <gmock/gmock.h> <gtest/gtest.h>)
  foretell_precompile(foretell_test_headers HEADERS ${test_headers} LINK
                      GTest::gmock)
  set(targets foretell_test_headers)
  if(FORETELL_WITH_TORCH)
    foretell_precompile(
      foretell_test_tensor_headers
      HEADERS <ATen/ATen.h> ${test_headers}
      LINK torch GTest::gmock)
    foretell_precompile(
      foretell_test_module_headers
      HEADERS ${FORETELL_MODULE_HEADERS} ${test_headers}
      LINK torch GTest::gmock nlohmann_json::nlohmann_json)
    list(APPEND targets foretell_test_tensor_headers
         foretell_test_module_headers)
  endif()
  foreach(target IN LISTS targets)
    target_compile_options(${target} PRIVATE ${FORETELL_TEST_OPTIONS})
  endforeach()
endfunction()

# foretell_add_test(<name> SOURCES … LINK … [LABELS unit|slow|gpu] [SHARDS n]
#                   [WITHOUT_TORCH | WITH_MODULES])
# makes one GoogleTest executable; label "unit" unless another is given. ctest
# sees it as one test, or as n that share its cases: a process that loads
# LibTorch costs more than most cases. A single case: the executable itself with
# --gtest_filter. WITHOUT_TORCH and WITH_MODULES choose the precompiled headers.
function(foretell_add_test name)
  cmake_parse_arguments(ARG "WITHOUT_TORCH;WITH_MODULES" "LABELS;SHARDS"
                        "SOURCES;LINK" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} foretell_warnings
                                        GTest::gmock GTest::gtest_main)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE ${FORETELL_TEST_OPTIONS})
  target_compile_definitions(
    ${name} PRIVATE FORETELL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  set(headers foretell_test_tensor_headers)
  if(ARG_WITHOUT_TORCH)
    set(headers foretell_test_headers)
  elseif(ARG_WITH_MODULES)
    set(headers foretell_test_module_headers)
  endif()
  target_precompile_headers(${name} REUSE_FROM ${headers})
  foretell_compile_together(${name})
  math(EXPR last "${ARG_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(test ${name})
    if(ARG_SHARDS GREATER 1)
      set(test ${name}.${shard})
    endif()
    add_test(NAME ${test} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(
      ${test}
      PROPERTIES LABELS ${ARG_LABELS} TIMEOUT 900 ENVIRONMENT
                 "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

# foretell_add_command_tests(<prefix> <python>)
# makes each commands/*_test.py beside the caller a test of the program, <prefix>.
# and its name: none can be left out of a list. A change of the folder configures
# anew; by GLOB's own CONFIGURE_DEPENDS a dry run of ninja, which
# scripts/lib/build_progress.py plans by, would show nothing but that.
function(foretell_add_command_tests prefix python)
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/commands")
  file(GLOB tests "${folder}/*_test.py")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}")
  foreach(test ${tests})
    cmake_path(GET test STEM name)
    string(REGEX REPLACE "_test$" "" name "${name}")
    add_test(NAME ${prefix}.${name}
             COMMAND ${python} "${test}" $<TARGET_FILE:foretell>
                     "${PROJECT_SOURCE_DIR}")
    set_tests_properties(${prefix}.${name} PROPERTIES LABELS unit TIMEOUT 600)
  endforeach()
endfunction()
