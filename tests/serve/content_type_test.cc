#include "serve/content_type.h"

#include <gtest/gtest.h>

namespace foretell::serve {
namespace {

TEST(WithNamesInLowerCase, LeavesValuesAsTheyAre) {
  EXPECT_EQ(WithNamesInLowerCase("Multipart/Form-Data; Boundary=AbC; X=Y"),
            "multipart/form-data; boundary=AbC; x=Y");
  EXPECT_EQ(WithNamesInLowerCase(R"(A/B; C="D;E=F"; G=H)"),
            R"(a/b; c="D;E=F"; g=H)");
}

TEST(MediaType, IsWithoutParametersAndCase) {
  for (const char* text :
       {"application/json", "Application/JSON; charset=utf-8",
        " APPLICATION/json ;Charset=UTF-8", "application/json\t"}) {
    EXPECT_EQ(MediaType(text), "application/json");
  }
  EXPECT_EQ(MediaType("application/jsonl"), "application/jsonl");
  EXPECT_EQ(MediaType(""), "");
  EXPECT_EQ(MediaType(" ; charset=utf-8"), "");
}

}  // namespace
}  // namespace foretell::serve
