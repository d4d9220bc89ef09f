# Tests of the meta kernels.
foretell_add_test(
  meta_kernels_test
  SOURCES meta_docs_test.cc meta_harness.cc meta_layers_test.cc meta_math_test.cc
          meta_memory.cc meta_modules_test.cc meta_registration_test.cc
  LINK foretell::program)
