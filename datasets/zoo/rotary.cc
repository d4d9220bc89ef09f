// Rotary positions with the operators of transformers 4.57: by kind, those of
// modeling_{llama,olmo,gpt_oss,glm4,ernie4_5,cohere2}.py.

#include "datasets/zoo/rotary.h"

#include <ATen/Functions.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "datasets/zoo/family.h"

namespace foretell::zoo {
namespace {

struct NamedRotary {
  std::string_view name;
  RotaryKind kind;
};

constexpr NamedRotary kRotaryKinds[] = {
    {"llama", RotaryKind::kHalves},   {"olmo", RotaryKind::kOlmo},
    {"gpt_oss", RotaryKind::kGptOss}, {"glm", RotaryKind::kGlm},
    {"ernie", RotaryKind::kErnie},    {"cohere", RotaryKind::kCohere},
};

bool HasFloatTables(RotaryKind kind) {
  return kind == RotaryKind::kOlmo || kind == RotaryKind::kErnie;
}

bool TurnsNeighbours(RotaryKind kind) {
  return kind == RotaryKind::kGlm || kind == RotaryKind::kErnie ||
         kind == RotaryKind::kCohere;
}

/// (-second half, first half) of the last dimension.
at::Tensor QuarterTurn(const at::Tensor& x) {
  const std::int64_t half = x.size(-1) / 2;
  const at::Tensor first = x.narrow(-1, 0, half);
  const at::Tensor second = x.narrow(-1, half, half);
  return at::cat({at::neg(second), first}, -1);
}

/// (-second, first) of each two neighbours.
at::Tensor NeighbourTurn(const at::Tensor& x) {
  const at::Tensor first = x.slice(-1, 0, x.size(-1), 2);
  const at::Tensor second = x.slice(-1, 1, x.size(-1), 2);
  return at::stack({at::neg(second), first}, -1).flatten(-2);
}

/// [a, b, …] as [a, a, b, b, …], as repeat_interleave(2) makes it.
at::Tensor RepeatedTwice(const at::Tensor& x) {
  const at::Tensor pairs =
      x.unsqueeze(-1).expand({x.size(0), x.size(1), x.size(2), x.size(3), 2});
  return pairs.clone(at::MemoryFormat::Contiguous).flatten(-2);
}

/// GptOss: each half by itself.
at::Tensor RotateHalves(const at::Tensor& x, const RotaryTables& tables) {
  const std::vector<at::Tensor> halves = x.chunk(2, -1);
  at::Tensor first = halves[0] * tables.cosine;
  first = first - halves[1] * tables.sine;
  at::Tensor second = halves[1] * tables.cosine;
  second = second + halves[0] * tables.sine;
  return at::cat({first, second}, -1);
}

}  // namespace

RotaryKind ParseRotaryKind(std::string_view name) {
  const auto* const found =
      std::ranges::find(kRotaryKinds, name, &NamedRotary::name);
  Require(found != std::end(kRotaryKinds),
          fmt::format("rotary={}: expected llama, olmo, gpt_oss, glm, ernie or "
                      "cohere",
                      name));
  return found->kind;
}

at::Tensor RotaryFrequencies(std::int64_t width, double base) {
  // In place: what dies here would count as a weight's storage.
  at::Tensor rates =
      at::arange(0, width, 2, at::TensorOptions().dtype(at::kFloat));
  rates.mul_(-std::log(base) / static_cast<double>(width));
  return rates.exp_();
}

RotaryTables MakeRotaryTables(const at::Tensor& frequencies, std::int64_t first,
                              const at::Tensor& words, RotaryKind kind) {
  const at::Tensor positions =
      at::arange(first, first + words.size(1), frequencies.options());
  at::Tensor angles = positions.view({1, -1, 1}) * frequencies;
  if (kind == RotaryKind::kCohere) {
    angles = RepeatedTwice(angles.unsqueeze(1)).squeeze(1);
  } else if (kind != RotaryKind::kGptOss) {
    angles = at::cat({angles, angles}, -1);
  }
  const at::Tensor cosine = angles.cos() * 1.0;
  const at::Tensor sine = angles.sin() * 1.0;
  const at::ScalarType type =
      HasFloatTables(kind) ? at::kFloat : words.scalar_type();
  return {cosine.to(type).unsqueeze(1), sine.to(type).unsqueeze(1), kind};
}

RotaryTables TablesOfLayer(const RotaryTables& tables) {
  const bool repeats =
      tables.kind == RotaryKind::kGlm || tables.kind == RotaryKind::kErnie;
  if (!repeats) return tables;
  const std::int64_t half = tables.cosine.size(-1) / 2;
  return {RepeatedTwice(tables.cosine.narrow(-1, 0, half)),
          RepeatedTwice(tables.sine.narrow(-1, 0, half)), tables.kind};
}

at::Tensor Rotate(const at::Tensor& x, const RotaryTables& tables) {
  if (tables.kind == RotaryKind::kGptOss) return RotateHalves(x, tables);
  const bool is_cohere = tables.kind == RotaryKind::kCohere;
  const at::Tensor states = is_cohere ? x.to(at::kFloat) : x;
  const bool casts = tables.kind == RotaryKind::kErnie;
  const at::Tensor kept =
      (casts ? states.to(at::kFloat) : states) * tables.cosine;
  at::Tensor turned = TurnsNeighbours(tables.kind) ? NeighbourTurn(states)
                                                   : QuarterTurn(states);
  if (casts) turned = turned.to(at::kFloat);
  turned = turned * tables.sine;
  const at::Tensor y = kept + turned;
  return y.to(x.scalar_type());
}

}  // namespace foretell::zoo
