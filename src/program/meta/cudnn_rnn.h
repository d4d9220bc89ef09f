#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "src/program/meta/call.h"
#include "src/program/meta/repeat_scope.h"

namespace foretell::meta {

// Numbers of cudnnRNNMode_t.
inline constexpr std::int64_t kModeRelu = 0;
inline constexpr std::int64_t kModeTanh = 1;
inline constexpr std::int64_t kModeLstm = 2;
inline constexpr std::int64_t kModeGru = 3;

/// What the kinds of layers differ in.
struct RecurrentKind {
  std::int64_t gates;
  std::int64_t most_persistent_units;  ///< To which one kernel runs all steps.
  std::int64_t saved;     ///< Values per unit that training keeps of a step.
  std::int64_t reserved;  ///< Values per unit and step in the reserve.
  const char* cell;       ///< Kernel of the gates.
  const char* cell_gradient;
};

/// A layer in one direction.
struct RecurrentCell {
  at::Tensor input_weight;         ///< [gates * units, inputs]
  at::Tensor state_weight;         ///< [gates * units, outputs]
  std::vector<at::Tensor> biases;  ///< [gates * units] each
  at::Tensor projection = {};      ///< [outputs, units], or undefined
};

/// The operands of `_cudnn_rnn` or of its gradient.
struct RecurrentLayers {
  const RecurrentKind& kind;
  std::vector<RecurrentCell>
      cells;         ///< Layer after layer, each in all directions.
  at::Tensor input;  ///< Steps first: [steps, batch, n], or packed [tokens, n].
  at::Tensor hidden;
  at::Tensor cell_state;  ///< LSTM only.
  std::int64_t directions = 1;
  std::int64_t units = 0;
  bool trains = false;
  bool drops = false;  ///< Drops out results between layers.

  std::int64_t Tokens() const {
    return c10::multiply_integers(input.sizes().slice(0, input.dim() - 1));
  }
  /// `n` values of every token.
  Sizes OfAll(std::int64_t n) const {
    Sizes sizes = input.sizes().vec();
    sizes.back() = n;
    return sizes;
  }
};

/// Reads them off a call; a batch before the steps is copied. Throws c10::Error
/// for weights that are not those of so many layers.
RecurrentLayers LayersOf(const Call& call);

/// What passes between the kernels of one operator: parts of one storage.
class Room {
 public:
  Room(at::Tensor whole, caffe2::TypeMeta dtype)
      : whole_(std::move(whole)), dtype_(dtype) {}

  /// A tensor in that storage, contiguous without `strides`.
  at::Tensor operator()(const Sizes& sizes, const Sizes& strides = {}) const;

 private:
  at::Tensor whole_;
  caffe2::TypeMeta dtype_;
};

/// The same of a tensor of the operator.
at::Tensor In(const at::Tensor& whole, const Sizes& sizes);

/// What cuDNN asks for while it runs the layers, forward or backward: bytes.
at::Tensor Workspace(const RecurrentLayers& layers);

/// True when one kernel runs all steps of `cell`.
bool IsPersistent(const RecurrentLayers& layers, const RecurrentCell& cell);

/// Writes all steps of a cell: those of full batches, of which a packed
/// sequence has as many as it fills, and one of the rest.
template <typename Step>
void WriteSteps(const RecurrentLayers& layers, const Step& write) {
  const std::int64_t batch = layers.hidden.size(1);
  if (batch == 0) return;
  const auto write_times = [&](std::int64_t rows, std::int64_t times) {
    if (rows == 0 || times == 0) return;
    const RepeatScope repeat(times);
    write(rows);
  };
  write_times(batch, layers.Tokens() / batch);
  write_times(layers.Tokens() % batch, 1);
}

/// Kernels of `_cudnn_rnn` and `_cudnn_rnn_backward`.
void CudnnRnn(Call& call);
void CudnnRnnBackward(Call& call);

}  // namespace foretell::meta
