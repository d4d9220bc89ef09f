#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/features.h"
#include "src/features/feature_table.h"

namespace foretell {
namespace {

template <typename Table>
std::vector<std::string> NamesOf(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

std::string EncodingText(const NodeFeature& feature) {
  std::string text;
  switch (feature.encoding) {
    case Encoding::kFlag:
      return "0 or 1";
    case Encoding::kDivided:
      text = "x";
      break;
    case Encoding::kLog2:
      text = "log2(1 + x)";
      break;
    case Encoding::kSignedLog2:
      text = "sign(x) log2(1 + abs x)";
      break;
  }
  return fmt::format("{} / {:g}", text, feature.divisor);
}

template <typename Table, typename Encoded>
std::string Rows(const Table& table, Encoded encoded) {
  std::string text = "| slot | name | x | value |\n|---|---|---|---|\n";
  for (std::size_t i = 0; i < table.size(); ++i) {
    text += fmt::format("| {} | `{}` | {} | {} |\n", i, table[i].name,
                        table[i].meaning, encoded(table[i]));
  }
  return text;
}

std::string FeatureTableMarkdown() {
  return "### Node features\n\n" + Rows(kNodeFeatures, EncodingText) +
         "\n### Static features\n\n" +
         Rows(kStaticFeatures, [](const auto&) { return "x"; });
}

// A checkpoint relies on this order: a change needs a new kFeatureVersion.
TEST(FeatureTable, KeepsTheOrderOfItsVersion) {
  EXPECT_EQ(kFeatureVersion, 1);
  EXPECT_THAT(
      NamesOf(kNodeFeatures),
      testing::ElementsAre(
          "is_convolution", "is_matrix_product", "is_attention", "is_recurrent",
          "is_normalization", "is_activation", "is_resampling", "is_pointwise",
          "is_reduction", "is_view", "is_movement", "is_optimizer", "is_other",
          "phase", "kernel_height", "kernel_width", "stride", "dilation",
          "groups", "depthwise", "channels_in", "channels_out", "output_dim0",
          "output_dim1", "output_dim2", "output_dim3", "macs", "input_bytes",
          "output_bytes", "weight_bytes", "element_bytes", "aliases_input"));
  EXPECT_THAT(
      NamesOf(kStaticFeatures),
      testing::ElementsAre("macs", "batch", "convolutions", "dense", "relus"));
}

TEST(FeatureTable, ExplainsEverySlot) {
  std::set<std::string_view> meanings;
  for (const NodeFeature& feature : kNodeFeatures) {
    meanings.insert(feature.meaning);
  }
  EXPECT_EQ(meanings.size(), static_cast<std::size_t>(kNumNodeFeatures));
}

constexpr char kDocument[] = FORETELL_SOURCE_DIR "/docs/features.md";
constexpr std::string_view kBegin = "<!-- begin generated tables -->\n";
constexpr std::string_view kEnd = "<!-- end generated tables -->\n";

// With FORETELL_UPDATE_GOLDEN in the environment the document is rewritten.
TEST(FeatureTable, IsTheOneInTheDocumentation) {
  std::stringstream buffer;
  buffer << std::ifstream(kDocument).rdbuf();
  std::string text = buffer.str();
  ASSERT_NE(text.find(kBegin), std::string::npos);
  ASSERT_NE(text.find(kEnd), std::string::npos);
  const std::size_t begin = text.find(kBegin) + kBegin.size();
  const std::size_t length = text.find(kEnd) - begin;
  if (std::getenv("FORETELL_UPDATE_GOLDEN") != nullptr) {
    text.replace(begin, length, FeatureTableMarkdown());
    std::ofstream(kDocument) << text;
    return;
  }
  EXPECT_EQ(text.substr(begin, length), FeatureTableMarkdown());
}

}  // namespace
}  // namespace foretell
