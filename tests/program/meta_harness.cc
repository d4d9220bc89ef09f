#include "tests/program/meta_harness.h"

#include <gtest/gtest.h>

#include <exception>
#include <sstream>

#include "src/program/meta/meta_kernels.h"

namespace foretell::meta_test {
namespace {

at::Tensor Values(const Argument& argument) {
  const at::TensorOptions options = at::TensorOptions().dtype(argument.dtype);
  if (argument.dtype == at::kBool) {
    return at::randint(0, 2, argument.sizes, at::kLong).to(at::kBool);
  }
  if (c10::isIntegralType(argument.dtype, true)) {
    return at::randint(0, argument.limit, argument.sizes, options);
  }
  // Inside (0, 1), where logarithms and probabilities are at home.
  return at::rand(argument.sizes, options).mul(0.8).add(0.1);
}

at::Tensor Make(const Argument& argument, c10::Device device) {
  const at::AutoGradMode no_grad(false);
  at::Tensor tensor = Values(argument);
  if (argument.transposed) {
    tensor = tensor.transpose(-1, -2).contiguous().transpose(-1, -2);
  } else {
    tensor = tensor.contiguous(argument.format);
  }
  at::Tensor placed = at::empty_strided(tensor.sizes(), tensor.strides(),
                                        tensor.options().device(device));
  if (device.is_cpu()) placed.copy_(tensor);
  return placed.requires_grad_(placed.is_floating_point() ||
                               placed.is_complex());
}

// Sizes and strides of axes of one element say nothing about the layout.
std::vector<std::int64_t> TellingStrides(const at::Tensor& tensor) {
  std::vector<std::int64_t> strides;
  for (std::int64_t axis = 0; axis < tensor.dim(); ++axis) {
    if (tensor.size(axis) > 1) strides.push_back(tensor.stride(axis));
  }
  return strides;
}

std::string Describe(const at::Tensor& tensor, Agree agree) {
  if (!tensor.defined()) return "undefined";
  std::ostringstream text;
  text << tensor.scalar_type() << tensor.sizes();
  if (agree == Agree::kLayout && tensor.numel() > 0) {
    text << " strides " << at::IntArrayRef(TellingStrides(tensor));
  }
  return text.str();
}

struct Outcome {
  std::vector<std::string> lines;
};

void RunBackward(const Tensors& results) {
  at::Tensor loss;
  for (const at::Tensor& result : results) {
    if (!result.defined() || !result.requires_grad()) continue;
    const at::Tensor real = result.is_complex() ? result.abs() : result;
    const at::Tensor part = (real * at::rand_like(real)).sum();
    loss = loss.defined() ? loss + part : part;
  }
  if (loss.defined()) loss.backward();
}

std::vector<std::string> Run(const OpCase& op, c10::Device device) {
  Tensors arguments;
  for (const Argument& argument : op.arguments) {
    arguments.push_back(Make(argument, device));
  }
  std::vector<std::string> lines;
  try {
    const Tensors results = op.run(arguments);
    for (const at::Tensor& result : results) {
      lines.push_back("result " + Describe(result, op.agree));
    }
    if (!op.backward) return lines;
    RunBackward(results);
    for (const at::Tensor& argument : arguments) {
      if (!argument.requires_grad() || !argument.is_leaf()) continue;
      lines.push_back("gradient " + Describe(argument.grad(), op.agree));
    }
  } catch (const c10::Error& error) {
    lines.push_back(std::string("threw ") + error.what_without_backtrace());
  } catch (const std::exception& error) {
    lines.push_back(std::string("threw ") + error.what());
  }
  return lines;
}

}  // namespace

Argument F(std::vector<std::int64_t> sizes) {
  return {.sizes = std::move(sizes)};
}

Argument Half(std::vector<std::int64_t> sizes) {
  return {.sizes = std::move(sizes), .dtype = at::kBFloat16};
}

Argument Cx(std::vector<std::int64_t> sizes) {
  return {.sizes = std::move(sizes), .dtype = at::kComplexFloat};
}

Argument Int(std::vector<std::int64_t> sizes, std::int64_t limit) {
  return {.sizes = std::move(sizes), .dtype = at::kLong, .limit = limit};
}

Argument Bool(std::vector<std::int64_t> sizes) {
  return {.sizes = std::move(sizes), .dtype = at::kBool};
}

Argument Last(std::vector<std::int64_t> sizes) {
  const at::MemoryFormat format = sizes.size() == 5
                                      ? at::MemoryFormat::ChannelsLast3d
                                      : at::MemoryFormat::ChannelsLast;
  return {.sizes = std::move(sizes), .format = format};
}

Argument Tr(std::vector<std::int64_t> sizes) {
  return {.sizes = std::move(sizes), .transposed = true};
}

void ExpectMetaAgreesWithCpu(std::span<const OpCase> cases) {
  RegisterMetaKernels();
  for (const OpCase& op : cases) {
    const std::vector<std::string> cpu = Run(op, c10::kCPU);
    for (const std::string& line : cpu) {
      EXPECT_EQ(line.find("threw"), std::string::npos)
          << op.name << " on the CPU: " << line;
    }
    EXPECT_EQ(Run(op, c10::kMeta), cpu) << op.name;
  }
}

}  // namespace foretell::meta_test
