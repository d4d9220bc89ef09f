#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "foretell/program.h"

namespace foretell::program_test {

using Tensors = std::vector<at::Tensor>;

/// Makes the tensors of a network on the device of its instance.
class Weights {
 public:
  explicit Weights(const InstanceOptions& options) : options_(options) {}

  /// A trainable weight: on the CPU normal with deviation 0.1.
  at::Tensor Parameter(const std::string& name, at::IntArrayRef shape);
  /// A trainable vector of ones, e.g. the scale of a norm.
  at::Tensor Ones(const std::string& name, std::int64_t size);
  /// A constant of the file, given on the CPU.
  at::Tensor Buffer(const std::string& name, const at::Tensor& value);

  bool training() const { return options_.mode == Mode::kTraining; }
  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  const std::vector<NamedTensor>& buffers() const { return buffers_; }

 private:
  at::Tensor Own(const std::string& name, at::Tensor tensor);

  InstanceOptions options_;
  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> buffers_;
};

using Forward = std::function<Tensors(Tensors)>;
/// Makes the weights of a network and returns its forward pass.
using Network = std::function<Forward(Weights&)>;

/// A program made of `network`, whose inputs have exactly the types `inputs`.
Program FakeProgram(std::string name, const std::vector<BoundInput>& inputs,
                    Network network);

/// A network without weights and with one input and output.
Network Stateless(std::function<at::Tensor(const at::Tensor&)> function);

/// Inputs of `program` when no dimension is free.
std::vector<BoundInput> FixedInputs(const Program& program);

}  // namespace foretell::program_test
