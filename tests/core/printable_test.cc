#include "src/core/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "src/core/json_text.h"
#include "src/core/text_table.h"

#include <nlohmann/json.hpp>

namespace foretell {
namespace {

TEST(Printable, LeavesTextAlone) {
  for (const char* text : {"", "layer1.0/conv", "größe", "网络", "🦊", "a\\x1b",
                           "½ \"quoted\" <b>"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), R"(a\x00b)");
  EXPECT_EQ(Printable("\x1b[31mred\t\r\n"), R"(\x1b[31mred\x09\x0d\x0a)");
  EXPECT_EQ(Printable("\x7f"), R"(\x7f)");
  EXPECT_EQ(Printable("\xc2\x9b"), R"(\xc2\x9b)") << "CSI in 8 bits";
}

TEST(Printable, EscapesWhatTurnsTheDirectionOfWriting) {
  EXPECT_EQ(Printable("a\xe2\x80\xae"
                      "b"),
            R"(a\xe2\x80\xaeb)");
  EXPECT_EQ(Printable("\xe2\x81\xa6\xe2\x80\xa8"),
            R"(\xe2\x81\xa6\xe2\x80\xa8)");
}

TEST(Printable, EscapesTheMarkOfTheOrderOfBytes) {
  EXPECT_EQ(Printable("\xef\xbb\xbf"
                      "a"),
            R"(\xef\xbb\xbfa)");
}

TEST(Printable, EscapesBytesThatAreNoUtf8) {
  EXPECT_EQ(Printable("conv\xb1/attn"), R"(conv\xb1/attn)");
  EXPECT_EQ(Printable("\xe2\x82"), R"(\xe2\x82)") << "cut short";
  EXPECT_EQ(Printable("\xc0\xaf"), R"(\xc0\xaf)") << "longer than needed";
  EXPECT_EQ(Printable("\xed\xa0\x80"), R"(\xed\xa0\x80)") << "a surrogate";
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), R"(\xf4\x90\x80\x80)")
      << "beyond the last character";
  EXPECT_EQ(Printable("\xff\xc3\xbc"), "\\xff\xc3\xbc") << "goes on behind it";
}

TEST(Printable, MayBeAppliedTwice) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(Printable(Printable(all)), Printable(all));
}

TEST(Printable, KeepsLineFeedsWhereAskedTo) {
  EXPECT_EQ(PrintableLines("a\nb\x1b"), "a\nb\\x1b");
}

TEST(DumpJson, IsPrintableWhateverNamesHold) {
  const nlohmann::ordered_json json = {
      {"conv\xb1", {"\x1b[m", 1.5, {{"name", "\x7f"}}}}};
  const std::string text = DumpJson(json, kOneLine);
  EXPECT_EQ(text, R"({"conv\\xb1":["\\x1b[m",1.5,{"name":"\\x7f"}]})");
  EXPECT_EQ(DumpJson(nlohmann::ordered_json::parse(text), kOneLine), text);
}

TEST(TextTable, EscapesCells) {
  TextTable table({"model", "MiB"});
  table.AddRow({"a\nb\xff", "1"});
  EXPECT_EQ(table.ToString(),
            "model       MiB\n"
            "a\\x0ab\\xff    1\n");
}

}  // namespace
}  // namespace foretell
