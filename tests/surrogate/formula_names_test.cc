#include "src/surrogate/formula_names.h"

#include <gtest/gtest.h>

namespace foretell::surrogate {
namespace {

using Names = std::vector<std::string>;

TEST(FormulaNames, KeepsNamesOfVariables) {
  EXPECT_EQ(FormulaNames({"batch", "seq_len", "_k2"}),
            (Names{"batch", "seq_len", "_k2"}));
}

TEST(FormulaNames, ReplacesWhatNoLanguageTakes) {
  EXPECT_EQ(FormulaNames({"batch size", "past + seq", "3d", "größe", ""}),
            (Names{"batch_size", "past___seq", "_3d", "gr____e", "_"}));
}

TEST(FormulaNames, AvoidsWordsOfTheLanguages) {
  EXPECT_EQ(FormulaNames({"lambda", "length", "var"}),
            (Names{"lambda_", "length_", "var_"}));
}

TEST(FormulaNames, AreAllDifferent) {
  EXPECT_EQ(FormulaNames({"a b", "a-b", "a_b"}),
            (Names{"a_b_", "a_b__", "a_b"}));
}

}  // namespace
}  // namespace foretell::surrogate
