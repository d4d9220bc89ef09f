#pragma once

#include <array>
#include <string_view>

#include "foretell/features.h"
#include "src/features/node_facts.h"

namespace foretell {

/// How a quantity x becomes a feature near [0, 1].
enum class Encoding : std::uint8_t {
  kFlag,        ///< 1 if x, else 0.
  kDivided,     ///< x / divisor.
  kLog2,        ///< log2(1 + x) / divisor.
  kSignedLog2,  ///< sign(x) log2(1 + |x|) / divisor.
};

/// A slot: its description and its computation.
struct NodeFeature {
  std::string_view name;
  std::string_view meaning;
  Encoding encoding;
  double divisor;
  double (*quantity)(const NodeFacts&);
};

/// The slots in their order.
extern const std::array<NodeFeature, kNumNodeFeatures> kNodeFeatures;

/// The encoded value of one slot.
double Encode(const NodeFeature& feature, const NodeFacts& facts);

/// One static feature.
struct StaticFeature {
  std::string_view name;
  std::string_view meaning;
  std::int64_t StaticFeatures::*count;
};

/// The static features in their order.
extern const std::array<StaticFeature, kNumStaticFeatures> kStaticFeatures;

}  // namespace foretell
