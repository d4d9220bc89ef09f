#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace foretell::meta_test {

using Tensors = std::vector<at::Tensor>;

/// A tensor argument of an operator under test.
struct Argument {
  std::vector<std::int64_t> sizes;
  at::ScalarType dtype = at::kFloat;
  at::MemoryFormat format = at::MemoryFormat::Contiguous;
  std::int64_t limit = 2;   ///< Integers are below it.
  bool transposed = false;  ///< The last two axes swapped in memory.
};

Argument F(std::vector<std::int64_t> sizes);     ///< float32.
Argument Half(std::vector<std::int64_t> sizes);  ///< bfloat16.
Argument Cx(std::vector<std::int64_t> sizes);    ///< complex64.
Argument Int(std::vector<std::int64_t> sizes, std::int64_t limit = 2);
Argument Bool(std::vector<std::int64_t> sizes);
Argument Last(std::vector<std::int64_t> sizes);  ///< float32, channels-last.
Argument Tr(std::vector<std::int64_t> sizes);    ///< float32, transposed.

/// What must agree between the CPU and the meta device.
enum class Agree {
  kLayout,  ///< Sizes, element types and strides.
  kShape,   ///< Sizes and element types: the CPU lays out otherwise than CUDA.
};

struct OpCase {
  std::string name;
  std::vector<Argument> arguments;
  std::function<Tensors(const Tensors&)> run;
  Agree agree = Agree::kLayout;
  bool backward = true;
};

/// Runs every case on the CPU and on the meta device, forward and backward,
/// and expects results and gradients to agree.
void ExpectMetaAgreesWithCpu(std::span<const OpCase> cases);

}  // namespace foretell::meta_test
