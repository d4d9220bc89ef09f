#include "foretell/quantize.h"

#include <gtest/gtest.h>

#include "foretell/error.h"

namespace foretell {
namespace {

TEST(QuantizeSpec, ReadsWhatItWrites) {
  for (const char* text :
       {"nf4", "fp4,double", "nf4,double,keep-input",
        "fp4,keep-input,from=fp16", "int8", "gptq:8,group=128",
        "gptq:4,group=64,skip=lm_head", "awq:4,group=128", "fp8,skip=a,b|c"}) {
    EXPECT_EQ(ToString(ParseQuantize("--quantize", text)), text);
  }
  EXPECT_EQ(ToString(ParseQuantize("--quantize", "gptq:4")),
            "gptq:4,group=128");
  EXPECT_EQ(ToString(QuantizeSpec{}), "");
}

TEST(QuantizeSpec, RefusesEverythingElse) {
  for (const char* text :
       {"", "nf8", "nf4:4", "gptq", "gptq:3", "awq:8", "int8,double",
        "int8,from=fp16", "nf4,from=bf16", "nf4,group=64", "nf4,",
        "gptq:4,group=0", "fp8,skip="}) {
    SCOPED_TRACE(text);
    EXPECT_THROW(ParseQuantize("--quantize", text), Error);
  }
}

}  // namespace
}  // namespace foretell
