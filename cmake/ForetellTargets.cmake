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
  set_property(GLOBAL APPEND PROPERTY FORETELL_INSTALLED_TARGETS ${target})
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

# GoogleTest's headers, compiled once for all tests that need no LibTorch.
function(foretell_add_test_header)
  file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/test_header.cc" CONTENT "")
  add_library(foretell_test_header OBJECT "${CMAKE_BINARY_DIR}/test_header.cc")
  target_compile_features(foretell_test_header PUBLIC cxx_std_20)
  target_compile_options(foretell_test_header PRIVATE ${FORETELL_TEST_OPTIONS})
  target_link_libraries(foretell_test_header PRIVATE foretell_warnings
                                                     GTest::gmock)
  target_precompile_headers(foretell_test_header PRIVATE <gmock/gmock.h>
                            <gtest/gtest.h>)
endfunction()

# foretell_add_test(<name> SOURCES … LINK … [LABELS unit|slow|gpu] [SHARDS n]
#                   [WITHOUT_TORCH])
# makes one GoogleTest executable; label "unit" unless another is given. ctest
# sees it as one test, or as n that share its cases: a process that loads
# LibTorch costs more than most cases. A single case: the executable itself with
# --gtest_filter.
function(foretell_add_test name)
  cmake_parse_arguments(ARG "WITHOUT_TORCH" "LABELS;SHARDS" "SOURCES;LINK"
                        ${ARGN})
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
  if(ARG_WITHOUT_TORCH)
    target_precompile_headers(${name} REUSE_FROM foretell_test_header)
  endif()
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
