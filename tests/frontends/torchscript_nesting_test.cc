// Files that nest so deep, or are so large, that LibTorch would not survive.

#include <gtest/gtest.h>

#include "foretell/error.h"
#include "frontends/torchscript/pickle_check.h"
#include "tests/core/process_usage.h"
#include "tests/frontends/script_file.h"
#include "tests/graph/expect_error.h"

namespace foretell::torchscript {
namespace {

Trace LoadAndTrace(const TemporaryFile& file) {
  return TraceProgram(LoadTorchScript(file.path()), {ParseInput("x=f32[4]")});
}

std::string Repeat(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// ---- Code -------------------------------------------------------------------

void ExpectCodeRefused(const std::string& forward, const std::string& part) {
  const TemporaryFile file("deep.pt");
  WriteCode(file, forward);
  ExpectError([&] { LoadAndTrace(file); }, ErrorCode::kUnsupported, part);
}

TEST(DeepTorchScript, AnExpressionOverManyLinesIsOneExpression) {
  ExpectCodeRefused("):\n    return x + (1" + Repeat(" +\n 1", 100'000) + ")\n",
                    "nested too deep");
}

TEST(DeepTorchScript, EveryElifNestsDeeper) {
  ExpectCodeRefused("):\n    if bool(x):\n      y = x\n" +
                        Repeat("    elif bool(x):\n      y = x\n", 20'000) +
                        "    else:\n      y = x\n    return y\n",
                    "nested too deep");
}

TEST(DeepTorchScript, ALongRowOfOperatorsIsNotDeep) {
  const TemporaryFile file("row.pt");
  WriteCode(file, "):\n" + Repeat("    x = torch.relu(x)\n", 50'000) +
                      "    return x\n");
  EXPECT_EQ(LoadAndTrace(file).graph.nodes().size(), 50'000u);
}

/// `forward` calls the last of `length` functions that call the one before
/// them, the first of which returns `end`.
std::string Chain(int length, const std::string& end) {
  std::string code = "):\n    return __torch__.f" + std::to_string(length - 1) +
                     "(x)\ndef f0(x: Tensor) -> Tensor:\n  return " + end;
  for (int i = 1; i < length; ++i) {
    code += "\ndef f" + std::to_string(i) +
            "(x: Tensor) -> Tensor:\n  return __torch__.f" +
            std::to_string(i - 1) + "(x)";
  }
  return code;
}

TEST(DeepTorchScript, FunctionsMayNeedOneAnotherInAShortChainOnly) {
  const TemporaryFile file("chain.pt");
  WriteCode(file, Chain(100, "torch.relu(x)"));
  EXPECT_EQ(LoadAndTrace(file).graph.nodes().size(), 1u);
  ExpectCodeRefused(Chain(20'000, "torch.relu(x)"), "more than 500 others");
}

TEST(DeepTorchScript, FunctionsMustNotNeedOneAnotherInACircle) {
  ExpectCodeRefused(Chain(3, "__torch__.f2(x)"), "needs itself");
}

TEST(DeepTorchScript, ClassesMayNeedOneAnotherInAShortChainOnly) {
  std::string code =
      "):\n    y = annotate(Optional[__torch__.C19999], None)\n    return x\n"
      "class C0(Module):\n  x : Tensor";
  for (int i = 1; i < 20'000; ++i) {
    code += "\nclass C" + std::to_string(i) + "(Module):\n  x : __torch__.C" +
            std::to_string(i - 1);
  }
  ExpectCodeRefused(code, "more than 500 others");
}

TEST(DeepTorchScript, WhatCodeNamesMustBeThere) {
  const TemporaryFile file("unknown.pt");
  WriteCode(file, "):\n    return __torch__.unknown(x)");
  ExpectError([&] { LoadAndTrace(file); }, ErrorCode::kCorrupt,
              "'__torch__.unknown' is not defined");
  // A part of a name could stand for any.
  WriteCode(file, "):\n    t = __torch__\n    return t.f(x)");
  ExpectError([&] { LoadAndTrace(file); }, ErrorCode::kCorrupt,
              "'__torch__' is not defined");
}

TEST(DeepTorchScript, TextThatLibTorchMightReadDifferentlyIsRefused) {
  for (const char* const text :
       {"y = '''a'''", "y = 1  # '", "y = x . dim()", "\ty = 1", "y = \\\n1"}) {
    SCOPED_TRACE(text);
    ExpectCodeRefused("):\n    " + std::string(text) + "\n    return x",
                      "which LibTorch does not write");
  }
}

// ---- Pickles ----------------------------------------------------------------

void ExpectBadPickle(const std::string& pickle, const std::string& part,
                     ErrorCode code = ErrorCode::kCorrupt) {
  ExpectError([&] { RefuseBadPickle("m.pt", "data.pkl", pickle); }, code,
              "m.pt: data.pkl: " + part);
}

/// A pickle with bytes that are zero.
template <std::size_t kSize>
std::string Pickle(const char (&bytes)[kSize]) {
  return std::string(bytes, kSize - 1);
}

TEST(PickleCheck, AcceptsWhatIsComplete) {
  EXPECT_NO_THROW(RefuseBadPickle(
      "m.pt", "data.pkl",
      Pickle("\x80\2c__torch__\nNet\n)\x81}(X\1\0\0\0aK\1ub.")));
}

TEST(PickleCheck, NamesTheByteAndBothValues) {
  ExpectBadPickle(Pickle("X\xff\xff\xff\x7fxy."),
                  "byte 5: needs 2147483647 bytes, 3 left");
  ExpectBadPickle(Pickle("Nr\0\0\0\1."),
                  "byte 6: memo number 16777216, expected less than 7");
  ExpectBadPickle("N", "byte 1: needs 1 byte, 0 left");
  ExpectBadPickle("cno line", "byte 1: a line without an end");
  ExpectBadPickle("\1.", "byte 1: instruction 1 is not one");
}

TEST(PickleCheck, NamesOnlyWhatFilesHold) {
  constexpr char kQuantised[] = "save the network before it is quantised";
  const std::pair<const char*, const char*> kRefused[] = {
      {"os\nsystem", "which is not read"},
      {"torch._utils\n_rebuild_qtensor", kQuantised},
      {"torch._utils\n_rebuild_sparse_tensor", "a sparse tensor"},
      {"torch\nQInt8Storage", kQuantised},
      {"torch.jit._pickle\nbuild_tensor_from_id", "which is not read"},
      {"__main__\nTensorID", "which is not read"},
      {"__torch__.torch.classes.quantized\nLinearPackedParamsBase",
       kQuantised}};
  for (const auto& [name, why] : kRefused) {
    std::string dotted = name;
    dotted[dotted.find('\n')] = '.';
    const std::string pickle = "c" + std::string(name) + "\n.";
    ExpectBadPickle(pickle,
                    "byte " + std::to_string(dotted.size() + 2) + ": names '" +
                        dotted + "', ",
                    ErrorCode::kUnsupported);
    ExpectError([&] { RefuseBadPickle("m.pt", "data.pkl", pickle); },
                ErrorCode::kUnsupported, why);
  }
}

TEST(PickleCheck, TakesNamesThatNobodyWritesForDamage) {
  for (const char* const name :
       {"__torch__.torch.classes.quantized\nLinear PackedParamsBase",
        "torch\nQInt8\x01torage", "torch..utils\nx", "torch.\nx", "\n"}) {
    ExpectBadPickle("c" + std::string(name) + "\n.", "");
  }
  ExpectBadPickle("c__torch__\n" + std::string(2'000, 'a') + "\n.",
                  "byte 2012: a name of 2009 letters, expected at most 1024");
}

TEST(PickleCheck, ParsesNoTypeThatIsLongOrDeep) {
  const auto tagged = [](const std::string& type) {
    std::string text = Pickle("X\0\0\0\0") + type;
    for (int i = 0; i < 4; ++i) {
      text[static_cast<std::size_t>(i) + 1] =
          static_cast<char>(type.size() >> (8 * i) & 0xff);
    }
    return "ctorch.jit._pickle\nrestore_type_tag\n(]" + text + "tR.";
  };
  EXPECT_NO_THROW(RefuseBadPickle("m.pt", "data.pkl", tagged("List[int]")));
  for (const std::string& type :
       {Repeat("List[", 300) + "int" + Repeat("]", 300),
        std::string(1'025, 'a')}) {
    ExpectError([&] { RefuseBadPickle("m.pt", "data.pkl", tagged(type)); },
                ErrorCode::kCorrupt, "the name of a type is too long");
  }
}

TEST(PickleCheck, TakesNoMoreThanIsThere) {
  for (const char* const pickle :
       {"a.", "Na.", "t.", "e.", "u.", "NNs.", "R.", "NR.", "b.", "Q.", "0.",
        "2.", "h\1.", "N(0e."}) {
    SCOPED_TRACE(pickle);
    ExpectBadPickle(pickle, "");
  }
}

TEST(PickleCheck, MeasuresHowDeepValuesNest) {
  const auto nested = [](int depth) {
    return Repeat("]", depth) + Repeat("a", depth - 1) + ".";
  };
  EXPECT_NO_THROW(RefuseBadPickle("m.pt", "data.pkl", nested(1000)));
  ExpectBadPickle(nested(1001),
                  "byte 2002: 1001 values are nested, expected at most 1000");
  // From the inside, each made of the one before.
  ExpectBadPickle(")" + Repeat("\x85", 1000) + ".", "byte 1002: 1001 values");
  // 2000 times the same list in a list is not deep.
  EXPECT_NO_THROW(
      RefuseBadPickle("m.pt", "data.pkl",
                      Pickle("](]q\0") + Repeat(Pickle("h\0"), 2000) + "e."));
  ExpectBadPickle(Pickle("]q\0h\0a."), "byte 7: a value holds itself");
}

TEST(PickleCheck, DeepAttributesAreRefusedBeforeTheyAreMade) {
  const TemporaryFile file("pickle.pt");
  WriteEdited(file, [](const std::string& name, std::string& record) {
    if (name != "data.pkl") return;
    record = Repeat("]", 300'000) + Repeat("a", 299'999) + ".";
  });
  ExpectError([&] { LoadAndTrace(file); }, ErrorCode::kCorrupt,
              "data.pkl: byte 600000: 300000 values are nested");
}

// ---- Sizes and texts --------------------------------------------------------

TEST(LargeTorchScript, PackedCodeIsRefusedBeforeItIsUnpacked) {
  const TemporaryFile file("packed.pt");
  WriteEdited(file, [](const std::string& name, std::string& record) {
    if (name.ends_with(".py")) record += std::string(20'000'000, '\n');
  });
  EXPECT_LT(std::filesystem::file_size(file.path()), 1'000'000u);
  ExpectError([&] { LoadAndTrace(file); }, ErrorCode::kUnsupported,
              "code exceeds 16 MiB");
}

TEST(LargeTorchScript, ConstantsAreNoLargerThanTheirFile) {
  const TemporaryFile file("constants.pt");
  WriteEdited(file, [](const std::string& name, std::string& record) {
    if (name == "byteorder") record = std::string(100'000'000, '\0');
  });
  EXPECT_NO_THROW(LoadAndTrace(file)) << "a record that is not read";
  std::string bytes = file.Read();
  // The same record by another name of as many letters.
  for (std::size_t at = bytes.find("byteorder"); at != std::string::npos;
       at = bytes.find("byteorder")) {
    bytes.replace(at, 9, "constants");
  }
  file.Write(bytes);
  ForgetPeakResidentBytes();
  const std::int64_t resident = PeakResidentBytes();
  ExpectError([&] { LoadAndTrace(file); }, ErrorCode::kCorrupt,
              "those before it have 100000000 bytes, the file has");
  EXPECT_LT(PeakResidentBytes() - resident, 50'000'000);
}

TEST(TorchScriptTexts, OfAFileReachNoStandardStream) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    torch.warn("a warning")
    print("a text")
    return torch.relu(x)
)"));
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  saved.Run({"x=f32[4]"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

}  // namespace
}  // namespace foretell::torchscript
