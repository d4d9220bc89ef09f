#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "foretell/features.h"

namespace foretell {
namespace {

std::vector<std::string> NamesOf(const std::vector<FeatureSlot>& slots) {
  std::vector<std::string> names;
  for (const FeatureSlot& slot : slots) names.emplace_back(slot.name);
  return names;
}

// A checkpoint relies on this order: a change needs a new kFeatureVersion.
TEST(FeatureTable, KeepsTheOrderOfItsVersion) {
  EXPECT_EQ(kFeatureVersion, 1);
  EXPECT_THAT(
      NamesOf(NodeFeatureSlots()),
      testing::ElementsAre(
          "is_convolution", "is_matrix_product", "is_attention", "is_recurrent",
          "is_normalization", "is_activation", "is_resampling", "is_pointwise",
          "is_reduction", "is_view", "is_movement", "is_optimizer", "is_other",
          "phase", "kernel_height", "kernel_width", "stride", "dilation",
          "groups", "depthwise", "channels_in", "channels_out", "output_dim0",
          "output_dim1", "output_dim2", "output_dim3", "macs", "input_bytes",
          "output_bytes", "weight_bytes", "element_bytes", "aliases_input"));
  EXPECT_THAT(
      NamesOf(StaticFeatureSlots()),
      testing::ElementsAre("macs", "batch", "convolutions", "dense", "relus"));
}

TEST(FeatureTable, ExplainsEverySlot) {
  std::set<std::string_view> meanings;
  for (const FeatureSlot& slot : NodeFeatureSlots()) {
    meanings.insert(slot.meaning);
    EXPECT_FALSE(slot.encoding.empty()) << slot.name;
  }
  EXPECT_EQ(meanings.size(), static_cast<std::size_t>(kNumNodeFeatures));
}

TEST(FeatureTable, StatesTheEncodingThatTheCodeUses) {
  const std::vector<FeatureSlot> slots = NodeFeatureSlots();
  EXPECT_EQ(slots[0].encoding, "0 or 1");
  EXPECT_EQ(slots[13].encoding, "x / 2");
  EXPECT_EQ(slots[16].encoding, "sign(x) log2(1 + abs x) / 4");
  EXPECT_EQ(slots[26].encoding, "log2(1 + x) / 40");
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
