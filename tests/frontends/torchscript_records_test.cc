// Records of archives: code as LibTorch writes it, pickles that state more than
// they hold, sizes.

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

TEST(TorchScriptCode, MayBeALongRowOfOperators) {
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

TEST(TorchScriptCode, MayCallAChainOfFunctions) {
  const TemporaryFile file("chain.pt");
  WriteCode(file, Chain(100, "torch.relu(x)"));
  EXPECT_EQ(LoadAndTrace(file).graph.nodes().size(), 1u);
}

TEST(TorchScriptCode, NamesWhatIsThereAndNotItself) {
  const TemporaryFile file("unknown.pt");
  for (const std::string& code :
       {std::string("):\n    return __torch__.unknown(x)"),
        std::string("):\n    t = __torch__\n    return t.f(x)"),
        Chain(3, "__torch__.f2(x)")}) {
    SCOPED_TRACE(code);
    WriteCode(file, code);
    ExpectError([&] { LoadAndTrace(file); }, ErrorCode::kCorrupt,
                ": LibTorch cannot load it: ");
  }
}

TEST(TorchScriptCode, ThatLibTorchMightReadDifferentlyIsRefused) {
  for (const char* const text :
       {"y = '''a'''", "y = 1  # '", "y = x . dim()", "\ty = 1", "y = \\\n1"}) {
    SCOPED_TRACE(text);
    const TemporaryFile file("foreign.pt");
    WriteCode(file, "):\n    " + std::string(text) + "\n    return x");
    ExpectError([&] { LoadAndTrace(file); }, ErrorCode::kUnsupported,
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
  ExpectBadPickle("cx\n" + std::string(2'000, 'a') + "\n.",
                  "byte 2004: names 'x." + std::string(195, 'a') + "…', ",
                  ErrorCode::kUnsupported);
}

TEST(PickleCheck, LibTorchTakesNoMoreThanIsThere) {
  const TemporaryFile file("short.pt");
  for (const char* const pickle :
       {"a.", "Na.", "t.", "e.", "u.", "NNs.", "R.", "NR.", "b.", "Q.", "0.",
        "2.", "h\1.", "N(0e.", "]q\1h\1a."}) {
    SCOPED_TRACE(pickle);
    WriteEdited(file, [&](const std::string& name, std::string& record) {
      if (name == "data.pkl") record = "\x80\2" + std::string(pickle);
    });
    ExpectError([&] { LoadAndTrace(file); }, ErrorCode::kCorrupt,
                ": LibTorch cannot load it: ");
  }
}

TEST(PickleCheck, ConstantsMayHoldThemselves) {
  const TemporaryFile file("circle.pt");
  WriteEdited(file, [](const std::string& name, std::string& record) {
    // ([itself],)
    if (name == "constants.pkl") record = "\x80\2]q\1h\1a\x85.";
  });
  EXPECT_EQ(LoadAndTrace(file).graph.nodes().size(), 1u);
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
