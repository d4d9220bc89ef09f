// Files that are opened and traced in a process of their own: the same answers,
// and what becomes of one that goes wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "foretell/frontends.h"
#include "foretell/graph_io.h"
#include "foretell/trace.h"
#include "frontends/sandboxed_messages.h"
#include "src/core/bytes.h"
#include "src/core/process.h"
#include "src/core/units.h"
#include "tests/frontends/script_file.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using testing::HasSubstr;
using torchscript::SavedModule;
using torchscript::Script;
using torchscript::TemporaryFile;

constexpr char kTinyVit[] =
    FORETELL_SOURCE_DIR "/tests/frontends/data/vit_tiny";

/// Every test leaves no child behind.
class Sandboxed : public testing::Test {
 protected:
  ~Sandboxed() override {
    ChildProcess::BuryAbandoned();
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }
};

Program LoadHere() {
  return LoadModel(std::string(kTinyVit) + ".onnx", {.sandbox = Sandbox::kOff});
}

template <typename Tensor>
std::vector<std::string> TypesOf(const std::vector<Tensor>& tensors) {
  std::vector<std::string> types;
  for (const Tensor& tensor : tensors) {
    types.push_back(tensor.name + "=" + ToString(tensor.type));
  }
  return types;
}

/// All that a user sees of a program and its trace.
std::vector<std::string> Seen(const Program& program, const Trace& trace) {
  std::vector<std::string> seen = {
      std::string(program.format()),
      std::to_string(program.parameter_elements()),
      PrintGraph(trace.graph, {.with_timeline = true})};
  for (const auto& texts :
       {trace.warnings, TypesOf(trace.inputs), TypesOf(trace.outputs)}) {
    seen.insert(seen.end(), texts.begin(), texts.end());
  }
  for (const auto& [dtype, count] : program.weight_elements()) {
    seen.push_back(std::string(DTypeName(dtype)) + std::to_string(count));
  }
  return seen;
}

std::vector<std::string> Answers(const std::string& path, Sandbox sandbox,
                                 const TraceOptions& options) {
  const Program program = LoadModel(path, {.sandbox = sandbox});
  const std::vector<BoundInput> inputs = BindInputs(
      program.inputs(), {.inputs = {ParseInput("f32[2,3,32,32]")}, .batch = 4},
      program.name());
  return Seen(program, TraceProgram(program, inputs, options));
}

TEST_F(Sandboxed, AnswersAsThisProcessDoes) {
  const TraceOptions runs[] = {
      {},
      {.run = {.precision = Precision::kBf16, .grad_mode = true}},
      {.run = {.mode = Mode::kTraining, .optimizer = Optimizer::kAdam}},
      {.run = {.autocast = true, .torch = {.major = 1, .minor = 13}}},
      {.run = {.autocast = true, .half_layer_norm = true}},
      {.run = {.channels_last = true}}};
  for (const char* suffix : {".onnx", ".pt"}) {
    for (const TraceOptions& run : runs) {
      // Too long to print.
      EXPECT_TRUE(
          Answers(std::string(kTinyVit) + suffix, Sandbox::kAuto, run) ==
          Answers(std::string(kTinyVit) + suffix, Sandbox::kOff, run))
          << suffix;
    }
  }
}

TEST_F(Sandboxed, TracesAProgramAgain) {
  const Program program =
      LoadModel(std::string(kTinyVit) + ".onnx", {.sandbox = Sandbox::kAuto});
  for (const std::int64_t batch : {1, 3, 1}) {
    const std::vector<BoundInput> inputs =
        BindInputs(program.inputs(), {.batch = batch}, "vit");
    EXPECT_EQ(TraceProgram(program.Named("vit"), inputs).graph.info().batch,
              batch);
  }
}

TEST_F(Sandboxed, PassesErrorsOn) {
  const auto load = [](const std::string& path) {
    return LoadModel(path, {.sandbox = Sandbox::kAuto});
  };
  ExpectError([&] { load("/no/such.onnx"); }, ErrorCode::kNotFound,
              "/no/such.onnx: no such file");
  const TemporaryFile noise("noise.onnx");
  noise.Write(
      "\x7f"
      "ELF and so on");
  for (const Sandbox sandbox : {Sandbox::kAuto, Sandbox::kOff}) {
    ExpectError([&] { LoadModel(noise.path(), {.sandbox = sandbox}); },
                ErrorCode::kCorrupt, noise.path() + ": not an ONNX model");
  }
  const Program program = load(std::string(kTinyVit) + ".onnx");
  ExpectError(
      [&] { TraceProgram(program, {ParseInput("image=f32[1,3,7,7]")}); },
      ErrorCode::kInvalidArgument, "vit_tiny.onnx");
  ExpectError([&] { program.Instantiate({}); }, ErrorCode::kUnsupported,
              "can only trace it");
}

/// Values so deep inside one another that to free them takes the whole stack.
void WriteOverrunning(const TemporaryFile& file) {
  torchscript::WriteCode(file,
                         "):\n    t = annotate(Any, 0)\n"
                         "    for i in range(1000000):\n"
                         "        t = annotate(Any, (t, 1))\n"
                         "    return torch.relu(x), t");
}

TEST_F(Sandboxed, IsWhereFilesAreOpenedUnlessSaidOtherwise) {
  const Program program = LoadModel(std::string(kTinyVit) + ".pt");
  ExpectError([&] { program.Instantiate({}); }, ErrorCode::kUnsupported,
              "load it with Sandbox::kOff");
  EXPECT_NO_THROW(LoadHere().Instantiate({}));
}

TEST_F(Sandboxed, OpensFilesFromAnyThreadWhileItLives) {
  std::thread([] {
    const Program program = LoadModel(std::string(kTinyVit) + ".onnx");
    EXPECT_FALSE(TraceProgram(program, {ParseInput("image=f32[1,3,32,32]")})
                     .graph.nodes()
                     .empty());
  }).join();
}

TEST_F(Sandboxed, SurvivesAFileThatCrashesItsProcess) {
  const TemporaryFile crashing("crashing.pt");
  WriteOverrunning(crashing);
  const Program program =
      LoadModel(crashing.path(), {.sandbox = Sandbox::kAuto});
  const auto trace = [&] { TraceProgram(program, {ParseInput("x=f32[4]")}); };
  ExpectError(trace, ErrorCode::kCorrupt,
              "the process that opened it was ended by SIGSEGV (11): the file "
              "is damaged, or nests too deep for LibTorch");
  // The process is gone for good.
  ExpectError(trace, ErrorCode::kCorrupt, "the process that opened it");
}

TEST_F(Sandboxed, EndsAFileThatTakesTooLong) {
  ExpectError(
      [] {
        LoadModel(std::string(kTinyVit) + ".pt",
                  {.sandbox = Sandbox::kAuto, .timeout_s = 1e-6});
      },
      ErrorCode::kUnsupported, "vit_tiny.pt: is not traced after 1e-06 s");
}

TEST_F(Sandboxed, LeavesNoTraceOfAFileInTheNext) {
  const SavedModule hostile(Script(R"(
def forward(self, x):
    torch.set_grad_enabled(False)
    return torch.relu(x)
)"));
  const std::string next = std::string(kTinyVit) + ".pt";
  const TraceOptions training{.run = {.mode = Mode::kTraining}};
  const auto before = Answers(next, Sandbox::kAuto, training);
  try {
    Answers(hostile.file().path(), Sandbox::kAuto, {});
  } catch (const Error&) {
  }
  EXPECT_TRUE(Answers(next, Sandbox::kAuto, training) == before);
}

TEST_F(Sandboxed, OpensTheNextFileAhead) {
  LoadingModel good(std::string(kTinyVit) + ".pt", {.sandbox = Sandbox::kAuto});
  LoadingModel missing("/no/such.onnx", {.sandbox = Sandbox::kAuto});
  LoadingModel here(std::string(kTinyVit) + ".onnx",
                    {.sandbox = Sandbox::kOff});
  EXPECT_EQ(good.Wait().format(), "torchscript");
  ExpectError([&] { missing.Wait(); }, ErrorCode::kNotFound, "/no/such.onnx");
  EXPECT_EQ(here.Wait().format(), "onnx");
}

TEST_F(Sandboxed, TracesWhatIsExpectedAndWhatIsNot) {
  const std::string path = std::string(kTinyVit) + ".onnx";
  const TraceOptions training{.run = {.mode = Mode::kTraining}};
  std::vector<StepRequest> expected;
  for (const std::int64_t batch : {2, 3, 4}) {
    expected.push_back({{.batch = batch}, {}});
    expected.push_back({{.batch = batch}, training});
  }
  const Program here = LoadModel(path, {.sandbox = Sandbox::kOff});
  const auto ask = [&here](const Program& program, std::int64_t batch,
                           const TraceOptions& options) {
    const std::vector<BoundInput> inputs =
        BindInputs(program.inputs(), {.batch = batch}, program.name());
    EXPECT_TRUE(Seen(program, TraceProgram(program, inputs, options)) ==
                Seen(here, TraceProgram(here, inputs, options)))
        << batch;
  };
  LoadingModel loading(path, {.sandbox = Sandbox::kAuto}, expected);
  const Program program = loading.Wait();
  ask(program, 2, {});
  ask(program, 3, training);  // Two answers that nobody asked for lie before.
  ask(program, 9, {});        // All others do.
  ask(program, 4, {});
}

TEST_F(Sandboxed, GoesOnAfterAnExpectedTraceThatFails) {
  const std::vector<StepRequest> expected = {
      {{.inputs = {ParseInput("image=f32[1,3,7,7]")}}, {}},
      {{.inputs = {ParseInput("picture=f32[1,3,32,32]")}}, {}},
      {{.batch = 5}, {}}};
  LoadingModel loading(std::string(kTinyVit) + ".onnx",
                       {.sandbox = Sandbox::kAuto}, expected);
  const Program program = loading.Wait();
  ExpectError([&] { TraceProgram(program, expected[0].inputs.inputs); },
              ErrorCode::kInvalidArgument, "vit_tiny.onnx");
  const std::vector<BoundInput> inputs =
      BindInputs(program.inputs(), {.batch = 5}, program.name());
  EXPECT_EQ(TraceProgram(program, inputs).graph.info().batch, 5);
}

TEST(SandboxedMessages, SayTheSameOfAnExpectedTraceOnceItsInputsAreKnown) {
  const Program program = LoadHere();
  const StepRequest expected{
      {.batch = 6},
      {.run = {.mode = Mode::kTraining,
               .precision = Precision::kTf32,
               .optimizer = Optimizer::kAdamW,
               .autocast = true,
               .channels_last = true,
               .torch = {.major = 1, .minor = 12, .patch = 1}},
       .device = TraceDevice::kCpu,
       .seed = 7}};
  const sandboxed::Request bound{
      "vit", BindInputs(program.inputs(), expected.inputs, "vit"),
      expected.options};
  const std::string packed = sandboxed::PackRequest(bound);
  const sandboxed::Request unpacked = sandboxed::UnpackRequest(
      sandboxed::PackExpected("vit", expected), program.inputs());
  EXPECT_EQ(sandboxed::PackRequest(unpacked), packed);
  EXPECT_EQ(sandboxed::PackRequest(sandboxed::UnpackRequest(packed, {})),
            packed);
  sandboxed::Request other = unpacked;
  other.options.run.torch.patch.reset();
  EXPECT_NE(sandboxed::PackRequest(other), packed);
}

TEST(SandboxedMessages, RefuseDamagedAnswers) {
  const Program program = LoadHere();
  const std::string description = sandboxed::PackDescription(program);
  const sandboxed::Request request{
      "vit", {ParseInput("image=f32[1,3,32,32]")}, {}};
  const std::string answer =
      sandboxed::PackTrace(TraceProgram(program.Named("vit"), request.inputs));
  EXPECT_EQ(sandboxed::UnpackDescription(description).format, "onnx");
  EXPECT_EQ(sandboxed::UnpackTrace(answer, request).graph.info().name, "vit");
  for (std::size_t size = 0; size < description.size(); ++size) {
    ExpectError(
        [&] { sandboxed::UnpackDescription(description.substr(0, size)); },
        ErrorCode::kCorrupt, "the process that opened it gave");
  }
  for (std::size_t size = 0; size < answer.size(); size += 97) {
    ExpectError(
        [&] { sandboxed::UnpackTrace(answer.substr(0, size), request); },
        ErrorCode::kCorrupt, "");
  }
}

TEST(SandboxedMessages, CutWarningsBeforeTheyAreSent) {
  std::vector<std::string> warnings(1'500, "short");
  warnings.front() = std::string(5'000, 'w');
  const std::vector<std::string> cut = sandboxed::WithinLimits(warnings);
  ASSERT_EQ(cut.size(), sandboxed::kMostWarnings);
  EXPECT_EQ(cut.front().size(), sandboxed::kMostWarningBytes);
  EXPECT_EQ(cut.back(), "501 more warnings");
}

TEST(SandboxedMessages, RefuseListsLongerThanTheirMessage) {
  ByteWriter writer;
  writer.Text("onnx");
  writer.Number(std::uint64_t{100'000});
  ExpectError([&] { sandboxed::UnpackDescription(writer.Take()); },
              ErrorCode::kCorrupt, "a list of 100000 items in 0 bytes");
}

TEST(SandboxedMessages, LimitWhatParsingTakes) {
  const Program program = LoadHere();
  const sandboxed::Request request{
      "vit", {ParseInput("image=f32[1,3,32,32]")}, {}};
  const std::string answer =
      sandboxed::PackTrace(TraceProgram(program.Named("vit"), request.inputs));
  const auto unpack = [&](const sandboxed::ParseLimits& limits) {
    return [&, limits] { sandboxed::UnpackTrace(answer, request, limits); };
  };
  EXPECT_NO_THROW(unpack(sandboxed::LimitsFor(100'000, 60))());
  ExpectError(unpack({.seconds = 0}), ErrorCode::kUnsupported,
              "the limit of --timeout");
  ExpectError(unpack({.memory_bytes = -64 * kMiB}), ErrorCode::kUnsupported,
              "MiB, the limit for a file of its size");
}

TEST(SandboxedMessages, AllowMoreOfALargerFile) {
  EXPECT_EQ(sandboxed::MostAnswerBytes(0), 24 * kMiB);
  EXPECT_EQ(sandboxed::MostAnswerBytes(100'000), 24 * kMiB + 6'400'000);
  EXPECT_EQ(sandboxed::MostAnswerBytes(INT64_MAX), 64 * kMiB);
  EXPECT_EQ(sandboxed::LimitsFor(INT64_MAX, 60).memory_bytes, 1024 * kMiB);
}

TEST(SandboxedMessages, RefuseTheGraphOfAnotherStep) {
  const Program program = LoadHere();
  sandboxed::Request request{"vit", {ParseInput("image=f32[1,3,32,32]")}, {}};
  const std::string answer =
      sandboxed::PackTrace(TraceProgram(program.Named("vit"), request.inputs));
  request.options.run.mode = Mode::kTraining;
  ExpectError([&] { sandboxed::UnpackTrace(answer, request); },
              ErrorCode::kCorrupt, "the graph of another step");
  request.options.run.mode = Mode::kInference;
  request.name = "bert";
  ExpectError([&] { sandboxed::UnpackTrace(answer, request); },
              ErrorCode::kCorrupt, "the graph of another step");
}

}  // namespace
}  // namespace foretell
