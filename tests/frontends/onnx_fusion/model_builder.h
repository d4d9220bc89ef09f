#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "foretell/frontends.h"
#include "frontends/onnx/fusion/match.h"
#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// Writes an ONNX model node by node; values are named x0, c0, v0 and so on.
class ModelBuilder {
 public:
  explicit ModelBuilder(std::int64_t opset = 17);

  /// A float32 input of the graph.
  std::string Input(std::vector<std::int64_t> shape);
  /// A Boolean input of the graph.
  std::string BoolInput(std::vector<std::int64_t> shape);
  /// An initializer with the values of a float32 or int64 tensor.
  std::string Weight(const at::Tensor& values);
  /// An initializer of random numbers.
  std::string RandomWeight(std::vector<std::int64_t> shape);
  /// A constant without dimension.
  std::string Number(double value);
  std::string Integers(std::vector<std::int64_t> values);

  /// A node with one output, whose name is returned.
  std::string Op(std::string op_type, std::vector<std::string> inputs,
                 std::vector<Attribute> attributes = {});
  void Output(const std::string& name);

  const Model& model() const { return model_; }
  Model& model() { return model_; }

 private:
  Model model_;
  int next_ = 0;
};

/// Operators of the model's main graph after the rewrite, in order; those of
/// domain "foretell" with a leading "foretell.".
std::vector<std::string> Rewritten(const Model& model,
                                   Fusion setting = Fusion::kExported);

/// Operators of domain "foretell" only, without that prefix.
std::vector<std::string> Fused(const Model& model,
                               Fusion setting = Fusion::kExported);

/// ATen operators of a trace of the rewritten model, in order.
std::vector<std::string> TracedOperators(const Model& model);

/// Outputs of `model` for random inputs that depend on its inputs alone.
std::vector<at::Tensor> Run(const Model& model);

/// True when the rewritten model computes what `model` does, to a relative and
/// absolute 1e-4.
bool ComputesTheSame(const Model& model, Fusion setting = Fusion::kExported);

}  // namespace foretell::onnx
