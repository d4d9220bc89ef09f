// Programs that would never end, or take all memory, and files that nest so
// deep that LibTorch, which recurses, runs out of stack: none of it is counted,
// the process that opens the file has limits and may crash.

#include <gtest/gtest.h>

#include "foretell/error.h"
#include "tests/core/process_usage.h"
#include "tests/frontends/script_file.h"
#include "tests/graph/expect_error.h"

namespace foretell::torchscript {
namespace {

/// Far from what an honest file of a few lines needs.
constexpr double kSeconds = 0.5;

/// `statements` as the body of `forward`, which also returns the variable of
/// one letter that they set last, lest the compiler drop unused code.
std::string Forward(const std::string& statements) {
  std::string code = "):\n";
  char variable = ' ';
  std::istringstream lines(statements);
  for (std::string line; std::getline(lines, line);) {
    code += "    " + line + "\n";
    if (line[0] != ' ' && line[1] == ' ') variable = line[0];
  }
  return code + "    return torch.relu(x), " + variable;
}

void ExpectEnds(const TemporaryFile& file) {
  ForgetPeakResidentBytes();
  const std::int64_t resident = PeakResidentBytes();
  const LoadOptions options{.sandbox = Sandbox::kAuto, .timeout_s = kSeconds};
  EXPECT_THROW(
      TraceProgram(LoadModel(file.path(), options), {ParseInput("x=f32[4]")}),
      Error);
  EXPECT_LT(PeakResidentBytes() - resident, kMaxResidentGrowth);
}

class ExplosiveProgram : public testing::TestWithParam<std::string> {};

TEST_P(ExplosiveProgram, IsEndedWithItsProcess) {
  SCOPED_TRACE(GetParam());
  const TemporaryFile file("body.pt");
  WriteCode(file, Forward(GetParam()));
  ExpectEnds(file);
}

INSTANTIATE_TEST_SUITE_P(
    Endless, ExplosiveProgram,
    testing::Values(
        "n = 0\nwhile True:\n    n = n + 1",
        "n = 1\nfor i in range(1000000000000000):\n"
        "    for k in range(1000000000000000):\n        n = n + i * k",
        "n = 0\nfor i in range(1000000):\n"
        "    n = n + torch.factorial(2147483646 - i)"));

TEST(ExplosiveFunctions, ThatDoubleAreEndedWithTheirProcess) {
  std::string code = "def f0(self, x):\n    return torch.relu(x)\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string callee = "self.f" + std::to_string(i - 1);
    code += "def f" + std::to_string(i) + "(self, x):\n    return " + callee +
            "(" + callee + "(x))\n";
  }
  code += "def forward(self, x):\n    return self.f40(x)\n";
  ExpectEnds(SavedModule(Script(code)).file());
}

INSTANTIATE_TEST_SUITE_P(
    Doubling, ExplosiveProgram,
    testing::Values(
        "s = 'ab'\nfor i in range(60):\n    s = s + s",
        "s = 'ab'\nfor i in range(60):\n    s += s",
        "s = 'ab'\nfor i in range(60):\n    s = ''.join([s, s])",
        "s = 'ab'\nfor i in range(60):\n    s = '{}{}'.format(s, s)",
        "s = 'ab'\nfor i in range(60):\n    s = '%s%s' % (s, s)",
        "s = 'ab'\nfor i in range(60):\n    s = s.replace('a', 'aa')",
        "s = 'ab'\nfor i in range(60):\n    s = str([s, s])",
        "l = [1, 2]\nfor i in range(60):\n    l = l + l",
        "l = [1, 2]\nfor i in range(60):\n    l += l",
        "l = [1, 2]\nfor i in range(60):\n    l.extend(l)",
        "l = [1, 2]\nfor i in range(60):\n    l = l * 2",
        "l = [1, 2]\nfor i in range(60):\n    l *= 2",
        "l = [x]\nfor i in range(60):\n    l = l + l",
        "l = ['ab']\nfor i in range(60):\n    l.extend(l)",
        "l = [[1.5], [2.5]]\nfor i in range(60):\n    l = l + l[:]"));

INSTANTIATE_TEST_SUITE_P(
    OneNode, ExplosiveProgram,
    testing::Values(
        "l = [0] * (1 << 40)", "l = 1000000000000 * [0]",
        "l = ['a' for i in range(3)] * 100000000000",
        "s = 'a'.center(x.dim() * 1000000000000)",
        "s = 'a'.ljust(x.dim() * 1000000000000)",
        "s = 'a'.rjust(x.dim() * 1000000000000, 'b')",
        "s = 'a'.zfill(x.dim() * 1000000000000)",
        "s = '\\t'.expandtabs(x.dim() * 1000000000000)",
        "s = 'a'.center(x.dim() * 1000000)\ns = s.replace(' ', s)",
        "s = 'a'.center(x.dim() * 1000000)\n"
        "s = s.join(['' for i in range(1000000)])",
        "s = 'a'.center(x.dim() * 100000000)\nn = list(s)",
        "s = 'a'.center(x.dim() * 100000000)\nl = s.split(' ')",
        "s = '\\n'.center(x.dim() * 100000000, '\\n')\nl = s.splitlines()",
        "s = 'a'.center(x.dim() * 1000000, 'a')\nn = s.find(s[:500000] + "
        "'b')"));

INSTANTIATE_TEST_SUITE_P(
    FoldedWhileLoading, ExplosiveProgram,
    testing::Values("s = 'a'.center(1000000000000)",
                    "s = 'a'.ljust(1000000000000)",
                    "s = 'a'.rjust(1000000000000)",
                    "s = 'a'.zfill(1000000000000)",
                    "s = '\\t'.expandtabs(1000000000000)",
                    "s = 'a'.center(1000000).replace(' ', 'a'.center(1000000))",
                    "s = 'a'.center(1000000, 'a').replace('a', 'bb')",
                    "s = 'a'.center(1000000, 'a')\n"
                    "n = s.find('a'.center(500000, 'a') + 'b')",
                    "s = 'a'.center(100000000)\ns = s + s\ns = s + s",
                    "s = 'a'.center(100000000)\ns = '%s%s' % (s, s)\n"
                    "s = '%s%s' % (s, s)",
                    "s = 'a'.center(100000000)\ns = '{}{}'.format(s, s)\n"
                    "s = '{}{}'.format(s, s)"));

INSTANTIATE_TEST_SUITE_P(
    Growing, ExplosiveProgram,
    testing::Values(
        "l = list(range(1000000000000))",
        "l = [i for i in range(1000000000000)]",
        "l = [[i] for i in range(1000000000000)]",
        "l = [str(i) for i in range(1000000000000)]",
        "l = [(i, i) for i in range(1000000000000)]",
        "d = {1: 1}\nfor i in range(1000000000000):\n    d[i] = i",
        "d = {'1': 1}\nfor i in range(1000000000000):\n    d[str(i)] = i",
        "d = {i: [i] for i in range(1000000000000)}",
        "l = [0]\nfor i in range(1000000000000):\n    l.insert(0, i)",
        "l = [0] * 1000000\nn = 0\n"
        "for i in range(1000000000000):\n    n += sum(l)",
        "l = [0] * 1000000\n"
        "for i in range(1000000000000):\n    l.sort()",
        "l = [0] * 1000000\nb = True\n"
        "for i in range(1000000000000):\n    b = i + 1 in l"));

INSTANTIATE_TEST_SUITE_P(
    Shared, ExplosiveProgram,
    testing::Values("l = [[[1] * 1000] * 1000] * 1000\ns = str(l)",
                    "l = [[[1] * 1000] * 1000] * 1000\nprint(l)",
                    "l = [[[x] * 1000] * 1000] * 1000",
                    "l = [[[1] * 1000] * 1000] * 1000\ns = '{}'.format(l)",
                    "l = [[[1] * 1000] * 1000] * 1000\ny = torch.tensor(l)",
                    "l = ['a'.center(1000000)] * 10000\ns = ''.join(l)"));

INSTANTIATE_TEST_SUITE_P(
    Tensors, ExplosiveProgram,
    testing::Values(
        "l = torch.unbind(torch.empty([1000000000000], device='cuda'))",
        "l = torch.split(torch.empty([1000000000000], device='cuda'), 2)",
        "l = torch.chunk(torch.empty([1000000000000], device='cuda'), "
        "1000000000000)",
        "l = torch.tensor_split(x, 1000000000000)",
        "l = annotate(List[float], "
        "torch.zeros([1]).expand([1000000000000]).tolist())",
        "s = str(torch.zeros([40000000]))"));

INSTANTIATE_TEST_SUITE_P(
    Nested, ExplosiveProgram,
    testing::Values(
        "t = annotate(Any, 0)\n"
        "for i in range(1000000):\n    t = annotate(Any, (t, 1))",
        "l = annotate(List[Any], [])\n"
        "for i in range(1000000):\n    l = annotate(List[Any], [l])"));

std::string Repeat(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// A class of the code, and those that it needs, each through the one before.
std::string ChainOfClasses(int length) {
  std::string code = "):\n    y = annotate(Optional[__torch__.C" +
                     std::to_string(length - 1) +
                     "], None)\n    return x\nclass C0(Module):\n  x : Tensor";
  for (int i = 1; i < length; ++i) {
    code += "\nclass C" + std::to_string(i) + "(Module):\n  x : __torch__.C" +
            std::to_string(i - 1);
  }
  return code;
}

/// What LibTorch reads recursively, beyond any stack.
void WriteDeep(const TemporaryFile& file, const std::string& what) {
  if (what == "brackets") {
    WriteCode(file, "):\n    return x + " + std::string(100'000, '(') + "1" +
                        std::string(100'000, ')') + "\n");
  } else if (what == "elif") {
    WriteCode(file, "):\n    if bool(x):\n      y = x\n" +
                        Repeat("    elif bool(x):\n      y = x\n", 20'000) +
                        "    else:\n      y = x\n    return y\n");
  } else if (what == "classes") {
    WriteCode(file, ChainOfClasses(20'000));
  } else {
    WriteEdited(file, [](const std::string& name, std::string& record) {
      if (name != "data.pkl") return;
      record = "\x80\2" + Repeat("]", 300'000) + Repeat("a", 299'999) + ".";
    });
  }
}

class DeepFile : public testing::TestWithParam<std::string> {};

TEST_P(DeepFile, IsAnErrorOfOneLineThatNamesItAndItsCause) {
  const TemporaryFile file("deep.pt");
  WriteDeep(file, GetParam());
  ExpectError([&] { LoadModel(file.path()); }, ErrorCode::kCorrupt,
              file.path() +
                  ": the process that opened it was ended by SIGSEGV (11): the "
                  "file is damaged, or nests too deep for LibTorch");
}

INSTANTIATE_TEST_SUITE_P(, DeepFile,
                         testing::Values("brackets", "elif", "classes",
                                         "lists"),
                         [](const auto& row) { return row.param; });

TEST(ExplosivePrograms, AreNoneOfOrdinarySize) {
  const TemporaryFile file("body.pt");
  WriteCode(file, Forward("l = [i for i in range(1000)]"));
  const Program program =
      LoadModel(file.path(), {.sandbox = Sandbox::kAuto, .timeout_s = 60});
  EXPECT_NO_THROW(TraceProgram(program, {ParseInput("x=f32[4]")}));
}

}  // namespace
}  // namespace foretell::torchscript
