#include "src/program/torch_state.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/rand.h>
#include <c10/core/DefaultDtype.h>
#include <gtest/gtest.h>

#include "foretell/error.h"
#include "foretell/trace.h"
#include "tests/program/fake_program.h"

namespace foretell {
namespace {

using program_test::FakeProgram;
using program_test::Stateless;

const BoundInput kRow{"x", {DType::kF32, {4}}};

/// Changes all that a file of a stranger can change.
void Meddle() {
  at::GradMode::set_enabled(!at::GradMode::is_enabled());
  at::manual_seed(7);
  c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
}

TEST(TorchState, IsAsItWasAfterATrace) {
  const Program program =
      FakeProgram("net", {kRow}, Stateless([](const at::Tensor& x) {
                    Meddle();
                    return x.relu();
                  }));
  at::manual_seed(1);
  const at::Tensor expected = at::rand({8});
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    at::manual_seed(1);
    TraceProgram(program, {kRow}, {.run = {.mode = mode}});
    EXPECT_TRUE(at::GradMode::is_enabled());
    EXPECT_EQ(c10::get_default_dtype(), caffe2::TypeMeta::Make<float>());
    EXPECT_TRUE(at::rand({8}).equal(expected));
  }
}

TEST(TorchState, IsAsItWasAfterAFailure) {
  const Program program =
      FakeProgram("net", {kRow}, Stateless([](const at::Tensor& x) {
                    Meddle();
                    return x.reshape({3});
                  }));
  EXPECT_THROW(
      TraceProgram(program, {kRow}, {.run = {.mode = Mode::kTraining}}), Error);
  EXPECT_TRUE(at::GradMode::is_enabled());
}

}  // namespace
}  // namespace foretell
