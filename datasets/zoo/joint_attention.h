#pragma once

#include <torch/nn/module.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/network.h"
#include "datasets/zoo/rotary.h"
#include "datasets/zoo/token_norm.h"
#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// Sizes of the blocks of a diffusion transformer, and how its attention runs.
struct JointShape {
  std::int64_t heads = 0;
  std::int64_t head_width = 0;
  std::optional<NormKind> head_norm{};  ///< Of queries and keys.
  /// The text's tokens come before the image's.
  bool text_first = true;
  bool bias = true;  ///< Of all products.

  std::int64_t Width() const { return heads * head_width; }
};

/// Tables in 32 bits, [tokens, head width], for neighbouring numbers that turn
/// together; tokens are counted along one axis.
RotaryTables PairedTables(std::int64_t tokens, std::int64_t head_width,
                          double base, const at::Tensor& like);

/// Attention without a mask. `parts`: queries, keys and values, [batch, heads,
/// tokens, head width] each; tables without tensors turn nothing. Returns
/// [batch, tokens, width].
at::Tensor AttendTurned(const std::array<at::Tensor, 3>& parts,
                        const RotaryTables& tables);

/// Queries, keys and values of one stream.
class StreamProjections {
 public:
  /// `names`: of the products and of the norms of queries and keys.
  StreamProjections(const JointShape& shape, torch::nn::Module& parent,
                    const std::array<const char*, 5>& names)
      : heads_(shape.heads) {
    const std::int64_t width = shape.Width();
    for (std::size_t i = 0; i < dense_.size(); ++i) {
      dense_[i] =
          parent.register_module(names[i], Dense(width, width, shape.bias));
    }
    if (!shape.head_norm) return;
    for (std::size_t i = 0; i < norms_.size(); ++i) {
      norms_[i] = parent.register_module(
          names[3 + i],
          std::make_shared<TokenNorm>(*shape.head_norm, shape.head_width));
    }
  }

  /// [batch, heads, tokens, head width] each.
  std::array<at::Tensor, 3> Project(const at::Tensor& x) {
    std::array<at::Tensor, 3> result;
    for (std::size_t i = 0; i < dense_.size(); ++i) {
      result[i] = SplitHeads(dense_[i]->forward(x), heads_);
    }
    for (std::size_t i = 0; i < norms_.size(); ++i) {
      if (norms_[i]) result[i] = norms_[i]->forward(result[i]);
    }
    return result;
  }

 private:
  std::int64_t heads_;
  std::array<Dense, 3> dense_ = {nullptr, nullptr, nullptr};
  std::array<std::shared_ptr<TokenNorm>, 2> norms_;
};

/// Which streams attention has, and whose results are projected.
enum class Streams {
  kOne,      ///< Without a product of the result: FLUX's single blocks.
  kImage,    ///< The image alone.
  kBoth,     ///< Of the image and of the text.
  kTextRead  ///< Both, but the text's result is not used: a last block.
};

/// Attention of both streams together, or of one.
class JointAttention final : public torch::nn::Module {
 public:
  JointAttention(const JointShape& shape, Streams streams);

  /// x: [batch, tokens, width]; returns the same shape. Tables without tensors
  /// turn nothing.
  at::Tensor Single(const at::Tensor& x, const RotaryTables& tables);
  /// The results for the image and for the text; that of the text is undefined
  /// in a last block.
  std::array<at::Tensor, 2> Joint(const at::Tensor& image,
                                  const at::Tensor& text,
                                  const RotaryTables& tables);

 private:
  bool text_first_;
  StreamProjections own_;
  std::unique_ptr<StreamProjections> added_;
  Chain to_out_;
  Dense to_add_out_ = nullptr;
};

}  // namespace foretell::zoo
