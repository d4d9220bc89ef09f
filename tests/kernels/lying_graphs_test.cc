#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "src/graph/attribute_table.h"
#include "src/graph/op_kind_table.h"
#include "src/kernels/kernels.h"

// Graphs that no trace makes: what comes out does not matter, but that nothing
// is read or written that is not there. Sanitizers see that; without them a
// wild index ends the process soon enough.

namespace foretell::cost {
namespace {

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::vector<std::string> AllOperators() {
  std::vector<std::string> operators = {"unknown::operator"};
  for (const OpKindRow& row : kOpKindRows) {
    for (std::string& target : Words(row.targets)) {
      operators.push_back(std::move(target));
    }
  }
  return operators;
}

/// Names that the table knows of other operators alone.
class FreeAttributes {
 public:
  FreeAttributes() {
    for (const AttributeRow& row : kAttributeRows) {
      for (const std::string& name : Words(row.attributes)) {
        names_.insert(name);
        for (const std::string& target : Words(row.operators)) {
          ruled_.emplace(target, name);
        }
      }
    }
  }

  /// All of them with one value: "{a=1, b=1}".
  std::string Text(const std::string& target, const std::string& value) const {
    std::string text;
    for (const std::string& name : names_) {
      if (ruled_.contains({target, name})) continue;
      text += (text.empty() ? "{" : ", ") + name + "=" + value;
    }
    return text + "}";
  }

 private:
  std::set<std::string> names_;
  std::set<std::pair<std::string, std::string>> ruled_;
};

/// False when the graph was refused.
bool IsExpanded(const std::string& text, const Run& run) {
  try {
    ExpandKernels(ParseGraph(text, "g"), run);
    return true;
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kInternal) << text << error.what();
    return false;
  }
}

/// `count` operands of type `type`, of which every second one is a weight.
std::string Operands(int count, const std::string& type) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ", ") +
            std::string(i % 2 == 0 ? "input " : "weight ") + type;
  }
  return text;
}

constexpr const char* kTypes[] = {"f32[]",
                                  "f32[0]",
                                  "f32[3]",
                                  "f32[4,4]",
                                  "f32[2,4,4]",
                                  "f32[2,4,3,3]",
                                  "f32[2,4,3,3] strides=[36, 1, 12, 4]",
                                  "f32[2,4,4] strides=[0, 1, 8]",
                                  "f16[2,4,3,3,3]"};
constexpr const char* kValues[] = {"-9223372036854775808",
                                   "-1",
                                   "4",
                                   "2147483648",
                                   "4611686018427387904",
                                   "[]",
                                   "[9, -9, 9, 9, 9, 9, 9, 9, 9, 9]",
                                   "\"x\""};

const Run kRuns[] = {Run{}, Run{.restore_folded_norms = true}};

TEST(LyingGraphs, OfAnyOperandsAreExpandedOrRefused) {
  int expanded = 0;
  for (const std::string& target : AllOperators()) {
    for (const char* const type : kTypes) {
      for (const int count : {0, 1, 2, 3, 14}) {
        for (const char* const result : {"f32[4,4]", type}) {
          const std::string text = "%y, %z = \"" + target + "\"(" +
                                   Operands(count, type) + ") : " + result +
                                   ", " + result + " alias %y";
          expanded += IsExpanded(text, kRuns[count % 2]) ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(expanded, 10000);
}

TEST(LyingGraphs, OfAttributesWithoutARuleAreExpandedOrRefused) {
  const FreeAttributes free;
  int expanded = 0;
  for (const std::string& target : AllOperators()) {
    for (const char* const value : kValues) {
      const std::string attributes = free.Text(target, value);
      for (const char* const type : {"f32[]", "f32[2,4,3,3]"}) {
        const std::string text = "%y = \"" + target + "\"(" +
                                 Operands(3, type) + ") " + attributes + " : " +
                                 type + "\n%z = relu(%y) : " + type;
        for (const foretell::Run& run : kRuns) {
          expanded += IsExpanded(text, run) ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(expanded, 10000);
}

// A call inside of an operator whose calls are read, with tensors of the
// operator and of its own.
TEST(LyingGraphs, OfAnyCallsInsideAreExpandedOrRefused) {
  const FreeAttributes free;
  int expanded = 0;
  for (const std::string& target : AllOperators()) {
    for (const char* const type : kTypes) {
      for (const char* const value : {"-9223372036854775808", "[9, -9, 9]"}) {
        const std::string text =
            "%x = input f32[2,4,3,3]\n%w = parameter " + std::string(type) +
            "\n%y = masked_fill(%x, %w) : f32[2,4,3,3]\n| %i = inner " + type +
            "\n| %a, %b = \"" + target + "\"(%i, %x, %w) " +
            free.Text(target, value) + " : " + type + ", f32[4] alias %x\n" +
            "| %y = \"" + target + "\"(%a, %b, %i)\n";
        for (const foretell::Run& run : kRuns) {
          expanded += IsExpanded(text, run) ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(expanded, 5000);
}

// The review's heap overflow: a cast of another rank handed strides of the
// wrong length to the views of its result.
TEST(LyingGraphs, GiveNoTensorStridesOfAnotherRank) {
  EXPECT_TRUE(IsExpanded(R"(%a = input f32[1,100]
%b = to(%a) {autocast=true} : f32[1,1,1,1,1,1,1,1] bytes=4
%c = transpose(%b) {dim0=0, dim1=7} : f32[1,1,1,1,1,1,1,1] alias %b
%d = reshape(%c) : f32[1] alias %b)",
                         kRuns[0]));
}

}  // namespace
}  // namespace foretell::cost
