#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "foretell/program.h"
#include "foretell/training_loop.h"

namespace foretell {

/// Low-rank adapters on the linear layers of an instance, on this thread while
/// it lives, as peft.LoraConfig(r=rank, target_modules=targets) puts them there
/// without dropout: y = Wx + s·B(Ax) with A [rank, in] and B [out, rank] in
/// f32, for which the input is cast and whose sum gets the type of Wx again.
/// Nothing else is trained. A product with a matrix (`matmul`, `mm`, `addmm`:
/// what an ONNX file has, and GPT-2's Conv1D) is such a layer, with the matrix
/// as it lies or transposed.
class LoraAdapters {
 public:
  /// Freezes all parameters and makes two for every one of two dimensions in
  /// whose name `spec.targets` is found. Throws Error(kInvalidArgument) if
  /// there is none, the expression is invalid or the rank is below 1.
  LoraAdapters(const LoraSpec& spec, const ProgramInstance& instance);
  ~LoraAdapters();
  LoraAdapters(const LoraAdapters&) = delete;
  LoraAdapters& operator=(const LoraAdapters&) = delete;

  /// "fc.weight.lora_A" and "fc.weight.lora_B" of every adapted weight.
  const std::vector<NamedTensor>& parameters() const { return parameters_; }

  /// For callers that see calls first: runs a linear layer that has an adapter
  /// as its calls with the adapter, and returns true.
  static bool Intercept(const c10::OperatorHandle& op,
                        torch::jit::Stack& stack);

  /// Throws Error(kInvalidArgument) where nothing that ran had an adapter.
  void RequireUse() const;

 private:
  struct Adapter {
    at::Tensor weight;  ///< [m, n].
    at::Tensor narrow;  ///< [rank, n]: A where the layer's input has n.
    at::Tensor wide;    ///< [m, rank]: B there.
  };

  void RequireFound() const;
  /// The adapter of a weight or of its transposition; null without.
  const Adapter* Find(const at::Tensor& weight) const;
  static at::Tensor Adapted(const Adapter& adapter, const at::Tensor& input,
                            bool by_rows);

  std::string targets_;
  std::unordered_map<const c10::StorageImpl*, Adapter> adapters_;
  std::vector<NamedTensor> parameters_;
  bool is_used_ = false;
};

}  // namespace foretell
