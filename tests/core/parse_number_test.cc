#include "src/core/parse_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace foretell {
namespace {

TEST(ParseNumber, TakesWholeTextsOnly) {
  EXPECT_EQ(ParseNumber<int>("42"), 42);
  EXPECT_EQ(ParseNumber<std::int64_t>("-7"), -7);
  EXPECT_EQ(ParseNumber<double>("1e3"), 1000.0);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x10", "-"}) {
    EXPECT_EQ(ParseNumber<int>(text), std::nullopt) << text;
  }
}

TEST(ParseNumber, RefusesWhatDoesNotFit) {
  EXPECT_EQ(ParseNumber<std::int8_t>("127"), 127);
  EXPECT_EQ(ParseNumber<std::int8_t>("128"), std::nullopt);
  EXPECT_EQ(ParseNumber<double>("1e999"), std::nullopt);
  EXPECT_TRUE(std::isinf(ParseNumber<double>("inf").value()));
}

TEST(TakeNumber, LeavesTheRest) {
  std::string_view text = "224x3";
  EXPECT_EQ(TakeNumber<int>(text), 224);
  EXPECT_EQ(text, "x3");
  EXPECT_EQ(TakeNumber<int>(text), std::nullopt);
  EXPECT_EQ(text, "x3");
}

}  // namespace
}  // namespace foretell
