// Programs that would never end, or take all memory.

#include <gtest/gtest.h>
#include <torch/csrc/jit/api/function_impl.h>

#include "frontends/torchscript/limits.h"
#include "tests/core/process_usage.h"
#include "tests/frontends/script_file.h"
#include "tests/graph/expect_error.h"

namespace foretell::torchscript {
namespace {

void LoadAndTrace(const std::string& path) {
  TraceProgram(LoadTorchScript(path), {ParseInput("x=f32[4]")});
}

template <typename Call>
void ExpectCheap(const Call& call) {
  ForgetPeakResidentBytes();
  const std::int64_t resident = PeakResidentBytes();
  call();
  EXPECT_LT(PeakResidentBytes() - resident, kMaxResidentGrowth);
}

/// Expects that a file is refused with `part` of a message: the budget that is
/// spent, which counts steps or bytes.
void ExpectEnds(const TemporaryFile& file, const std::string& part) {
  ExpectCheap([&] {
    ExpectError([&] { LoadAndTrace(file.path()); }, ErrorCode::kUnsupported,
                part);
  });
}

void ExpectEnds(const std::string& code, const std::string& part) {
  SCOPED_TRACE(code);
  ExpectEnds(SavedModule(Script(code)).file(), part);
}

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

void ExpectBodyEnds(const std::string& statements, const std::string& part) {
  SCOPED_TRACE(statements);
  const TemporaryFile file("body.pt");
  WriteCode(file, Forward(statements));
  ExpectEnds(file, part);
}

TEST(TorchScriptLimits, EndlessLoopsOverNumbersEnd) {
  ExpectEnds(R"(
def forward(self, x):
    n = 0
    while True:
        n = n + 1
    return x
)",
             "a loop in it does not end");
  ExpectEnds(R"(
def forward(self, x):
    n = 1
    for i in range(1000000000000000):
        for k in range(1000000000000000):
            n = n + i * k
    return x
)",
             "a loop in it does not end");
}

TEST(TorchScriptLimits, EndlessLoopsOverTensorsEnd) {
  ExpectEnds(R"(
def forward(self, x):
    while True:
        x = torch.relu(x)
    return x
)",
             "a trace has at most");
}

TEST(TorchScriptLimits, ALoopThatEndsRuns) {
  const Trace trace = SavedModule(Script(R"(
def forward(self, x):
    for i in range(1000):
        x = torch.relu(x)
    return x
)"))
                          .Run({"x=f32[4]"});
  EXPECT_EQ(trace.graph.nodes().size(), 1000u);
}

TEST(TorchScriptLimits, TheBudgetIsForOnePassNotForAll) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    n = 0
    while n < 300000:
        n = n + 1
    return torch.relu(x)
)"));
  const Program program = saved.Load();
  for (int i = 0; i < 10; ++i) {
    EXPECT_NO_THROW(TraceProgram(program, {ParseInput("x=f32[4]")}));
  }
}

TEST(TorchScriptLimits, FunctionsThatDoubleAreRefusedBeforeTheyAreInlined) {
  std::string code = "def f0(self, x):\n    return torch.relu(x)\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string callee = "self.f" + std::to_string(i - 1);
    code += "def f" + std::to_string(i) + "(self, x):\n    return " + callee +
            "(" + callee + "(x))\n";
  }
  code += "def forward(self, x):\n    return self.f40(x)\n";
  const SavedModule saved(Script(code));
  ExpectError([&] { saved.Load(); }, ErrorCode::kUnsupported,
              "nodes when its calls are inlined");
}

TEST(TorchScriptLimits, DeepCodeIsRefusedBeforeItIsParsed) {
  const auto refused = [](const std::string& text) {
    ExpectError(
        [&] {
          RefuseDeepCode("m.pt", {{"code/net.py", text}});
        },
        ErrorCode::kUnsupported, "m.pt: code/net.py: ");
  };
  refused("x = " + std::string(10'000, '(') + std::string(10'000, ')'));
  refused("x = " + std::string(10'000, '-') + "1");
  std::string blocks;
  for (int i = 0; i < 10'000; ++i) {
    blocks += std::string(static_cast<std::size_t>(i), ' ') + "if c:\n";
    if (blocks.size() > 1'000'000) break;
  }
  refused(blocks);
  EXPECT_NO_THROW(RefuseDeepCode(
      "m.pt", {{"code/net.py", "x = \"" + std::string(10'000, '(') + "\"\n"}}));
}

// ---- Lists, strings, dictionaries -------------------------------------------

constexpr char kBytes[] = "bytes of lists, strings and dictionaries";

class ExplosiveProgram : public testing::TestWithParam<std::string> {};

TEST_P(ExplosiveProgram, IsEndedBeforeItTakesTheMemory) {
  ExpectBodyEnds(GetParam(), kBytes);
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

class NestingProgram : public testing::TestWithParam<std::string> {};

TEST_P(NestingProgram, IsEndedBeforeItsDestructionOverflowsTheStack) {
  ExpectBodyEnds(GetParam(), "deep into one another");
}

INSTANTIATE_TEST_SUITE_P(
    Any, NestingProgram,
    testing::Values(
        "t = annotate(Any, 0)\n"
        "for i in range(1000000):\n    t = annotate(Any, (t, 1))",
        "l = annotate(List[Any], [])\n"
        "for i in range(1000000):\n    l = annotate(List[Any], [l])",
        "l = annotate(List[Any], [])\n"
        "for i in range(1000000):\n"
        "    inner = annotate(List[Any], [])\n"
        "    l.append(inner)\n    l = inner"));

class DefaultArgument : public testing::TestWithParam<std::string> {};

TEST_P(DefaultArgument, IsRefusedWhenItComputes) {
  SCOPED_TRACE(GetParam());
  const TemporaryFile file("default.pt");
  WriteCode(file, ", y: " + GetParam() + "):\n    return torch.relu(x), y");
  ExpectEnds(file, "literal");
}

INSTANTIATE_TEST_SUITE_P(
    RunWhileLoading, DefaultArgument,
    testing::Values("List[int]=[0] * 1000000000000",
                    "List[int]=[i for i in range(1000000000000)]",
                    "List[int]=list(range(1000000000000))",
                    "str='a'.center(1000000000000)",
                    "Tensor=torch.arange(1000000000000)"));

TEST(TorchScriptLimits, ConstantsOfAClassAreLiteralsToo) {
  const TemporaryFile file("class.pt");
  WriteCode(file,
            "):\n    return torch.relu(x)\n"
            "  k : Final[int] = len([i for i in range(1000000000000)])");
  ExpectEnds(file, "literal");
}

TEST(TorchScriptLimits, DefaultArgumentsMayBeLiterals) {
  const TemporaryFile file("default.pt");
  WriteCode(file,
            ", a: int=-1, b: List[int]=[1, 2], c: str=\"f(x) * 2\", "
            "d: Optional[Tensor]=None, e: Dict[str, int]={\"k\": 1}, "
            "f: List[Tensor]=annotate(List[Tensor], []), "
            "g: Tuple[int, float]=(1, 1.5e-05), h: bool=True):\n"
            "    return torch.relu(x)");
  EXPECT_NO_THROW(LoadAndTrace(file.path()));
}

// ---- Tensors on the host ----------------------------------------------------

class HostTensorProgram : public testing::TestWithParam<std::string> {};

TEST_P(HostTensorProgram, EndsOrRunsWithoutItsMemory) {
  const TemporaryFile file("host.pt");
  WriteCode(file, Forward(GetParam()));
  ExpectCheap([&] { EXPECT_THROW(LoadAndTrace(file.path()), Error); });
}

INSTANTIATE_TEST_SUITE_P(
    OneTensor, HostTensorProgram,
    testing::Values(
        "y = torch.zeros([1 << 40])", "y = torch.arange(1000000000000)",
        "y = torch.full([1000000, 1000000], 1.5)",
        "y = torch.ones([1 << 25]) + torch.ones([1 << 25])",
        "y = torch.zeros([1]).expand([1 << 40]).sum()",
        "y = torch.zeros([1 << 20, 1]) * torch.zeros([1, 1 << 20])",
        "y = torch.matmul(torch.ones([4000, 4000]), torch.ones([4000, 4000]))",
        "y = torch.conv2d(torch.ones([1, 64, 512, 512]), "
        "torch.ones([64, 64, 9, 9]))",
        "y = torch.linalg_svd(torch.ones([3000, 3000]))"));

INSTANTIATE_TEST_SUITE_P(
    ManyTensors, HostTensorProgram,
    testing::Values(
        "l = [torch.zeros([1 << 20]) for i in range(1000000)]",
        "l = [torch.ones([1 << 16]) + 1 for i in range(1000000)]",
        "l = [torch.mm(torch.ones([99, 99]), torch.ones([99, 99])) "
        "for i in range(1000000)]",
        "l = [torch.empty([1 << 40], device='cuda') for i in range(1000000)]"));

TEST(TorchScriptLimits, HugeTensorsOnTheDeviceAreFree) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    return torch.relu(torch.zeros([1 << 30], device="cuda"))
)"));
  ExpectCheap([&] { EXPECT_NO_THROW(LoadAndTrace(saved.file().path())); });
}

TEST(TorchScriptLimits, AMaskOfAThousandTokensMayBeMadeOnTheHost) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    mask = torch.triu(torch.full([1024, 1024], -1.0), 1)
    return torch.relu(x) + mask[0, 0:4].to(x.device)
)"));
  EXPECT_NO_THROW(LoadAndTrace(saved.file().path()));
}

TEST(TorchScriptLimits, ListsAndStringsOfOrdinarySizeRun) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    sizes: List[int] = []
    names: Dict[str, int] = {}
    for i in range(1000):
        sizes.append(i)
        names["layer" + str(i)] = len(sizes) + sum(sizes[-10:])
    if len(",".join(list(names.keys()))) != 8889:
        return x
    return torch.relu(x).reshape(sizes[4:5] * 1)
)"));
  EXPECT_NO_THROW(LoadAndTrace(saved.file().path()));
}

}  // namespace
}  // namespace foretell::torchscript
