// Programs that are refused before they could harm: computing while they load,
// computing on the host.

#include <gtest/gtest.h>
#include <torch/csrc/jit/api/function_impl.h>

#include <limits>

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

/// Expects that a file is refused with `part` of a message.
void ExpectEnds(const TemporaryFile& file, const std::string& part) {
  ExpectCheap([&] {
    ExpectError([&] { LoadAndTrace(file.path()); }, ErrorCode::kUnsupported,
                part);
  });
}

TEST(TorchScriptLimits, EndlessLoopsOverTensorsEnd) {
  const SavedModule saved(Script(R"(
def forward(self, x):
    while True:
        x = torch.relu(x)
    return x
)"));
  ExpectEnds(saved.file(), "a trace has at most");
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
  WriteCode(file, "):\n    " + GetParam() + "\n    return torch.relu(x), y");
  ExpectCheap([&] { EXPECT_THROW(LoadAndTrace(file.path()), Error); });
}

// Of whole numbers: those of floating point are made on the device.
INSTANTIATE_TEST_SUITE_P(
    OneTensor, HostTensorProgram,
    testing::Values(
        "y = torch.zeros([1 << 40], dtype=4)",
        "y = torch.arange(1000000000000)",
        "y = torch.full([1000000, 1000000], 1, dtype=4)",
        "y = torch.ones([1 << 25], dtype=4) + torch.ones([1 << 25], dtype=4)",
        "y = torch.zeros([1], dtype=4).expand([1 << 40]).sum()",
        "y = torch.zeros([1 << 20, 1], dtype=4) * "
        "torch.zeros([1, 1 << 20], dtype=4)",
        "y = torch.matmul(torch.ones([4000, 4000], dtype=4), "
        "torch.ones([4000, 4000], dtype=4))",
        "y = torch.conv2d(torch.ones([1, 64, 512, 512], dtype=4), "
        "torch.ones([64, 64, 9, 9], dtype=4))",
        "y = torch.linalg_svd(torch.ones([3000, 3000], dtype=4))"));

INSTANTIATE_TEST_SUITE_P(
    ManyTensors, HostTensorProgram,
    testing::Values(
        "y = [torch.zeros([1 << 20]) for i in range(1000000)]",
        "y = [torch.ones([1 << 16]) + 1 for i in range(1000000)]",
        "y = [torch.mm(torch.ones([99, 99]), torch.ones([99, 99])) "
        "for i in range(1000000)]",
        "y = [torch.empty([1 << 40], device='cuda') for i in range(1000000)]"));

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

// ---- Element types ----------------------------------------------------------

class TypeProgram : public testing::TestWithParam<std::string> {};

TEST_P(TypeProgram, IsRefusedBeforeATableIsReadBeyondItsEnd) {
  SCOPED_TRACE(GetParam());
  const TemporaryFile file("type.pt");
  WriteCode(file,
            "):\n    y = " + GetParam() + "\n    return torch.relu(x), y");
  ExpectError([&] { LoadAndTrace(file.path()); }, ErrorCode::kInvalidArgument,
              "is given element type");
}

INSTANTIATE_TEST_SUITE_P(
    Overloads, TypeProgram,
    testing::Values("torch.to(x, -5)", "torch.to(x, -5, False, False)",
                    "torch.to(x, torch.device(\"cpu\"), -5)",
                    "torch.softmax(x, 0, -5)", "torch.sum(x, dtype=99)",
                    "torch.zeros([2], dtype=-5)", "torch.tensor(1.5, dtype=-5)",
                    "torch.tensor([1, 2], dtype=99)",
                    "torch.as_tensor(1, dtype=-5)"));

// ---- Division ---------------------------------------------------------------

class DivisionProgram : public testing::TestWithParam<std::string> {};

TEST_P(DivisionProgram, IsRefusedBeforeTheProcessorEndsIt) {
  SCOPED_TRACE(GetParam());
  const TemporaryFile file("division.pt");
  WriteCode(file, "):\n    n = x.size(0) - 4\n    y = " + GetParam() +
                      "\n    return torch.relu(x), y");
  EXPECT_THROW(LoadAndTrace(file.path()), Error);
}

INSTANTIATE_TEST_SUITE_P(
    Integers, DivisionProgram,
    testing::Values("5 // n", "5 % n", "torch.__round_to_zero_floordiv(5, n)",
                    "torch.floordiv(torch.__lshift__(1, n + 63), n - 1)",
                    "torch.remainder(torch.__lshift__(1, n + 63), n - 1)",
                    // Folded while the file is loaded.
                    "5 // 0", "torch.remainder(5, 0)"));

INSTANTIATE_TEST_SUITE_P(
    Tensors, DivisionProgram,
    testing::Values(
        "torch.floor_divide(torch.full([3], torch.__lshift__(1, 63), "
        "dtype=4), -1)",
        "torch.remainder(torch.full([3], torch.__lshift__(1, 63), dtype=4), "
        "torch.full([3], -1, dtype=4))"));

TEST(TorchScriptLimits, IntegersAreDividedAsPythonDoes) {
  const TemporaryFile file("division.pt");
  WriteCode(file,
            "):\n    n = x.size(0)\n"
            "    return torch.reshape(x, [-7 // 2 + n + 1, 7 % n + 1])");
  const Trace trace =
      TraceProgram(LoadTorchScript(file.path()), {ParseInput("x=f32[4]")});
  EXPECT_EQ(ToString(trace.outputs[0].type), "f32[1,4]");
}

}  // namespace
}  // namespace foretell::torchscript
