#include <gtest/gtest.h>

#include "foretell/error.h"
#include "foretell/runtime.h"

namespace foretell {
namespace {

TEST(RuntimeSpec, ReadsWhatItWrites) {
  for (const char* text :
       {"eager", "compile", "compile,reduce-overhead", "compile,max-autotune",
        "compile,max-autotune-no-cudagraphs,budget=0.5", "compile,freezing",
        "compile,freezing=discard", "compile,breaks=layer1.0|blocks.*",
        "compile,only=auto", "compile,budget=0.5,only=layers.*|head",
        "onnxruntime", "onnxruntime,level=basic,search=heuristic,arena=exact",
        "onnxruntime,nhwc,overrides", "onnxruntime,level=transformers",
        "tensorrt", "tensorrt,int8,sparse"}) {
    EXPECT_EQ(ToString(ParseRuntime("--runtime", text)), text);
  }
  EXPECT_EQ(ToString(RuntimeSpec{}), "eager");
}

TEST(RuntimeSpec, OptionsInAListBelongToTheRuntimeBeforeThem) {
  const auto specs = ParseRuntimes(
      "--runtimes", "eager,compile,max-autotune,budget=0.5,tensorrt,int8");
  ASSERT_EQ(specs.size(), 3U);
  EXPECT_EQ(ToString(specs[0]), "eager");
  EXPECT_EQ(ToString(specs[1]), "compile,max-autotune,budget=0.5");
  EXPECT_EQ(ToString(specs[2]), "tensorrt,int8");
  for (const char* text : {"", "int8", "eager,int8", "eager,"}) {
    EXPECT_THROW(ParseRuntimes("--runtimes", text), Error);
  }
}

TEST(RuntimeSpec, RefusesEverythingElse) {
  for (const char* text :
       {"", "inductor", "eager,int8", "compile,", "compile,budget=2",
        "compile,budget=nan", "compile,int8", "compile,max-autotunes",
        "compile,breaks=", "compile,breaks=a||b",
        "compile,only=", "compile,only=a|", "eager,only=a",
        "compile,freezing=keep", "onnxruntime,level=most",
        "onnxruntime,search=", "tensorrt,arena=exact", "tensorrt,fp4"}) {
    SCOPED_TRACE(text);
    EXPECT_THROW(ParseRuntime("--runtime", text), Error);
  }
}

}  // namespace
}  // namespace foretell
