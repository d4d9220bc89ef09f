#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "foretell/program.h"
#include "foretell/quantize.h"

namespace foretell {

/// A matrix of few bits per weight, with what its format keeps next to it.
struct QuantizedWeight {
  QuantizeSpec spec;
  std::vector<std::int64_t> shape;  ///< Of the matrix that it stands for.
  at::ScalarType type;              ///< Products are computed in this type.
  at::Tensor packed;
  std::vector<at::Tensor> scales;  ///< In the order of the format's kernels.
  /// A kept input lives as long as the history of the product's result; else
  /// until the product's backward pass.
  bool holds_input = false;
};

/// Linear layers of an instance whose frozen weights are quantized, on this
/// thread while it lives: each product with one runs as the library does that
/// made the format (bitsandbytes 0.50, AutoGPTQ 0.7, AutoAWQ 0.2, torchao), and
/// so does its backward pass. The instance's own tensors keep type and shape
/// for the program that names them, and are not to be recorded.
class QuantizedWeights {
 public:
  /// Quantizes the parameters of `names` to `spec` on the instance's device;
  /// products run in `compute` if it is given, else in the weight's type. The
  /// tensors that are made here are the memory of the weights.
  QuantizedWeights(const QuantizeSpec& spec, const std::set<std::string>& names,
                   const ProgramInstance& instance,
                   std::optional<at::ScalarType> compute);
  ~QuantizedWeights();
  QuantizedWeights(const QuantizedWeights&) = delete;
  QuantizedWeights& operator=(const QuantizedWeights&) = delete;

  /// Lets inputs that layers keep live as long as the history of the loss.
  void HoldInputs();

  /// Whether `parameter` of the instance is quantized.
  bool Has(const at::Tensor& parameter) const;
  /// "fc.weight.packed", "fc.weight.scales0" and so on, of all.
  const std::vector<NamedTensor>& parts() const { return parts_; }

  /// Whether `weight` is quantized by bitsandbytes to 4 bits, of whose results
  /// PEFT's adapters make a copy (peft/tuners/lora/bnb.py, 0.18).
  static bool IsCopiedByAdapters(const at::Tensor& weight);

  /// For callers that see calls first: runs a product whose weight is
  /// quantized, and returns true.
  static bool Intercept(const c10::OperatorHandle& op,
                        torch::jit::Stack& stack);

 private:
  void Add(const NamedTensor& parameter, const QuantizedWeight& weight);
  static const QuantizedWeight* Find(const at::Tensor& weight);

  std::unordered_map<const c10::StorageImpl*, QuantizedWeight> weights_;
  std::vector<NamedTensor> parts_;
};

}  // namespace foretell
