#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

#include "src/network/network.h"
#include "src/network/safetensors.h"

namespace foretell::training {

/// All parameters of a network and their gradients as one flat array each, of
/// which the network's tensors become views: one sum over workers, one norm and
/// one update per step instead of one per tensor.
class FlatParameters {
 public:
  /// Rebinds the parameters of `network`, which must be on its device already.
  explicit FlatParameters(learned::Network& network);

  const at::Tensor& values() const { return values_; }  ///< float32 [n].
  /// float32 [n + kExtra]: backward passes add to the first n elements; the
  /// others are the caller's, to be summed over workers along with them.
  at::Tensor& gradients_and_extra() { return gradients_; }
  static constexpr std::int64_t kExtra = 3;
  at::Tensor gradients() const;  ///< float32 [n], a view.
  void ClearGradients();

 private:
  at::Tensor values_;
  at::Tensor gradients_;
};

/// Weight decay.
struct WeightDecay {
  double factor = 0;  ///< λ.
  /// False: λ · parameter is added to the gradient, as torch.optim.Adam does.
  /// True: the parameter loses rate · λ of itself (Loshchilov and Hutter,
  /// 2019), as torch.optim.AdamW does.
  bool decoupled = false;
};

/// Adam (Kingma and Ba, 2015), by ATen's fused update; β = 0.9, 0.999, ε =
/// 1e-8.
class Adam {
 public:
  explicit Adam(const at::Tensor& parameters);

  /// One update of `parameters` from `gradients`.
  void Step(const at::Tensor& parameters, const at::Tensor& gradients,
            double learning_rate, const WeightDecay& decay);

  /// "moment1", "moment2", "step"; exact.
  std::map<std::string, learned::StoredTensor> State() const;
  /// Throws Error(kCorrupt) that names `origin` when it does not fit.
  void Restore(const std::map<std::string, learned::StoredTensor>& state,
               const std::string& origin);

 private:
  at::Tensor moment1_;
  at::Tensor moment2_;
  at::Tensor step_;  ///< float32 scalar: the number of updates.
};

}  // namespace foretell::training
