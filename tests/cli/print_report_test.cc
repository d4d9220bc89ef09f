#include "cli/print/print_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/print/print_graph.h"
#include "foretell/graph_io.h"
#include "src/core/numbers.h"

namespace foretell::cli {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

OperatorGraph SmallGraph() {
  return ParseGraph(R"(graph "network" batch=8 parameters=100864
%x = input f32[8,64,56,56]
%a = conv2d(%x, weight f32[64,64,3,3]) {padding=[1,1]} : f32[8,64,56,56] @ "layer1.conv1"
%b = relu(%a) : f32[8,64,56,56]
%c = mean(%b) : f32[8,64]
%d = linear(%c, weight f32[1000,64]) : f32[8,1000]
output %d
)");
}

Predictor A100Predictor() {
  const DeviceSpec& device = DeviceCatalog::BuiltIn().FindDevice("a100");
  return Predictor::Analytic(device, {.host = Host::kCpp});
}

Report ReportOf(const std::string& model = "network.onnx") {
  const OperatorGraph graph = SmallGraph();
  const Predictor predictor = A100Predictor();
  const Prediction prediction = predictor.Predict(graph);
  return MakeReport({model, "onnx", {"something odd"}}, graph, prediction,
                    mig::Recommend(ToDemand(prediction), predictor.device()));
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// The line of a report that says `label`, blanks before it left out.
std::string LineOf(const std::string& text, const std::string& label) {
  for (const std::string& line : LinesOf(text)) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos && line.substr(begin).starts_with(label)) {
      return line;
    }
  }
  return "no line " + label;
}

TEST(FormatReports, SaysNothingOfNothing) { EXPECT_EQ(FormatReports({}), ""); }

/// One report with every figure.
std::string InFull(const Report& report, const TerminalStyle& style = {}) {
  return FormatReports(std::vector{report}, style, Detail::kAll);
}

TEST(FormatReports, BeginsWithTheVerdict) {
  const std::string text = FormatReports(std::vector{ReportOf()});
  const std::vector<std::string> lines = LinesOf(text);
  EXPECT_EQ(lines[0], "network.onnx · inference · fp32 · batch 8");
  EXPECT_EQ(lines[1], "input x f32[8,64,56,56]");
  EXPECT_THAT(lines[2], StartsWith("on a100-sxm4-40gb"));
  EXPECT_EQ(lines[3], "");
  EXPECT_THAT(lines[4], StartsWith("  FITS         "));
  EXPECT_EQ(LineOf(text, "warning"), "  warning      something odd");
  EXPECT_THAT(LineOf(text, "method"), StartsWith("no line"));
}

TEST(FormatReports, TellsEveryFigureInFull) {
  Report report = ReportOf();
  report.prediction.figures[1].value = 12.34;
  report.prediction.figures[1].interval = {9, 15.6};
  const std::string text = InFull(report);
  EXPECT_EQ(LineOf(text, "network "),
            "  network      101 k parameters, 925 M MACs, 4 operators (onnx)");
  EXPECT_EQ(LineOf(text, "latency"),
            "  latency      12.3 ms   (9 – 15.6)   LibTorch (C++)");
  EXPECT_THAT(text, HasSubstr(" as shown by nvidia-smi"));
  EXPECT_THAT(LineOf(text, "activations"), EndsWith(" MiB"));
  // Inference keeps neither.
  EXPECT_THAT(LineOf(text, "gradients"), StartsWith("no line"));
  EXPECT_THAT(LineOf(text, "optimizer"), StartsWith("no line"));
  EXPECT_THAT(text, HasSubstr("1g.5gb"));
}

TEST(FormatReports, BeginsTheBarsOfAllPartsInOneColumn) {
  const std::string text = InFull(ReportOf(), {.width = 80});
  std::vector<std::size_t> columns;
  for (const char* part : {"parameters", "inputs", "activations"}) {
    columns.push_back(LineOf(text, part).find("\xe2\x96"));
  }
  EXPECT_THAT(columns, testing::Each(columns.front()));
  EXPECT_NE(columns.front(), std::string::npos);
}

TEST(FormatReports, NamesOptimizerAutocastAndHost) {
  Report report = ReportOf();
  report.mode = Mode::kTraining;
  report.optimizer = "adam";
  report.autocast = DType::kF16;
  report.prediction.run.host = Host::kPython;
  const std::string text = InFull(report);
  EXPECT_THAT(text, HasSubstr("training with adam · fp32 with autocast to f16 "
                              "· batch 8"));
  EXPECT_THAT(LineOf(text, "latency"), EndsWith("PyTorch"));
}

TEST(FormatReports, SaysWhatTheStepWaitsFor) {
  Report report = ReportOf();
  report.prediction.cost.gpu_ms = 0.123;
  report.prediction.cost.dispatch_ms = 4.56;
  report.prediction.bound = StepBound::kHost;
  EXPECT_EQ(LineOf(InFull(report), "host-bound"),
            "    host-bound 0.123 ms of kernels, 4.56 ms of CPU launch time");
  EXPECT_THAT(LineOf(InFull(report), "speed"),
              EndsWith(", host-bound, narrower with --host"));
  Report other = report;
  other.prediction.bound = StepBound::kGpu;
  EXPECT_THAT(LineOf(InFull(other), "GPU-bound"),
              HasSubstr("0.123 ms of kernels"));
  other.model = "other.onnx";
  const std::string table = FormatReports(std::vector{report, other});
  EXPECT_THAT(LineOf(table, "network.onnx"), HasSubstr(" host "));
  EXPECT_THAT(LineOf(table, "other.onnx"), HasSubstr(" gpu "));
}

TEST(FormatReports, SaysHowFarALearnedFigureReaches) {
  Report report = ReportOf();
  FigureSource& source = report.prediction.figures[1].source;
  source.distance = 2.5;
  EXPECT_THAT(LineOf(InFull(report), "latency"),
              EndsWith("   learned, distance 2.5"));
  source.far_distance = 2;
  EXPECT_THAT(LineOf(InFull(report), "latency"),
              EndsWith("   learned, distance 2.5 (far: above 2)"));
}

TEST(FormatReports, HasARowForEachOfSeveral) {
  Report second = ReportOf("other.onnx");
  second.batch = 16;
  second.recommendation.profile.reset();
  const std::string text = FormatReports(std::vector{ReportOf(), second});
  const std::vector<std::string> lines = LinesOf(text);
  EXPECT_THAT(lines[0], StartsWith("model"));
  EXPECT_THAT(LineOf(text, "network.onnx"), EndsWith("1g.5gb"));
  EXPECT_THAT(LineOf(text, "other.onnx"), EndsWith("none"));
  EXPECT_THAT(LineOf(text, "other.onnx"), HasSubstr(" 16 "));
  EXPECT_THAT(lines.back(),
              StartsWith("on a100-sxm4-40gb, inference, fp32; analytic"));
}

TEST(FormatReports, ShowsHostileNamesHarmless) {
  Report report = ReportOf("net\n\x1b[31m\xb1größe");
  report.warnings = {"line\nfeed"};
  report.peak_operator = "op\x07";
  const std::string one = InFull(report);
  EXPECT_THAT(one, StartsWith("net\\x0a\\x1b[31m\\xb1größe · "));
  EXPECT_EQ(LineOf(one, "warning"), "  warning      line\\x0afeed");
  EXPECT_THAT(LineOf(one, "reserved"), EndsWith(" during op\\x07"));
  const std::string several = FormatReports(std::vector{report, report});
  EXPECT_THAT(several, HasSubstr("net\\x0a\\x1b[31m\\xb1größe"));
  EXPECT_EQ(several.find('\x1b'), std::string::npos);
}

std::vector<std::string> CellsOf(const std::string& line) {
  std::vector<std::string> cells = {""};
  for (const char c : line) {
    if (c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

TEST(FormatCsv, HasACellForEveryColumn) {
  Report report = ReportOf();
  report.prediction.figures[1].value = 0.5;
  report.prediction.bound = StepBound::kGpu;
  report.prediction.cost.gpu_ms = 4.5;
  report.prediction.cost.dispatch_ms = 0.25;
  report.recommendation.profile = "2g.10gb";
  const std::vector<std::string> lines =
      LinesOf(FormatCsv(std::vector{report, report}));
  ASSERT_EQ(lines.size(), 3u);
  const std::vector<std::string> names = CellsOf(lines[0]);
  // The method holds a comma and stands last, in quotes.
  ASSERT_EQ(names.back(), "method");
  EXPECT_THAT(lines[1], EndsWith(",\"analytic, uncalibrated\""));
  const std::vector<std::string> cells = CellsOf(lines[1]);
  ASSERT_EQ(cells.size(), names.size() + 1);
  const auto cell = [&](const std::string& name) {
    return cells.at(static_cast<std::size_t>(std::ranges::find(names, name) -
                                             names.begin()));
  };
  EXPECT_EQ(cell("model"), "network.onnx");
  EXPECT_EQ(cell("device"), "a100-sxm4-40gb");
  EXPECT_EQ(cell("batch"), "8");
  EXPECT_EQ(cell("parameters"), "100864");
  EXPECT_EQ(cell("operators"), "4");
  EXPECT_EQ(cell("latency_ms"), "0.500000");
  EXPECT_EQ(cell("latency_bound"), "gpu");
  EXPECT_EQ(cell("gpu_ms"), "4.500000");
  EXPECT_EQ(cell("dispatch_ms"), "0.250000");
  EXPECT_EQ(cell("mig_profile"), "2g.10gb");
  EXPECT_EQ(cell("optimizer"), "");
}

TEST(FormatCsv, QuotesNamesAndDisarmsFormulas) {
  EXPECT_THAT(FormatCsv(std::vector{ReportOf("=cmd|calc!A1")}),
              HasSubstr("\n'=cmd|calc!A1,onnx,"));
  EXPECT_THAT(FormatCsv(std::vector{ReportOf("a,\"b\"\n")}),
              HasSubstr("\n\"a,\"\"b\"\"\\x0a\",onnx,"));
}

TEST(FormatCsv, OfNothingIsItsHeader) {
  EXPECT_THAT(FormatCsv({}), StartsWith("model,format,device,"));
  EXPECT_EQ(LinesOf(FormatCsv({})).size(), 1u);
}

TEST(FormatGraphTable, HasARowPerOperatorTotalsAndWhatIsAlive) {
  const OperatorGraph graph = SmallGraph();
  const Prediction prediction = A100Predictor().Predict(graph);
  const std::string text = FormatGraphTable(graph, prediction);
  const std::string convolution = LineOf(text, "conv2d");
  EXPECT_THAT(convolution, HasSubstr("layer1.conv1"));
  EXPECT_THAT(convolution, HasSubstr("f32[8,64,56,56]"));
  // 8 * 64 * 56 * 56 * 64 * 9 multiply-accumulates.
  EXPECT_THAT(convolution, HasSubstr("925 M"));
  EXPECT_THAT(LineOf(text, "relu"), Not(HasSubstr("925 M")));
  EXPECT_THAT(LineOf(text, "4 operators"),
              StartsWith("4 operators, 101 k parameters, 925 M MACs; peak "));
  EXPECT_THAT(text, HasSubstr("alive at the peak"));
  EXPECT_THAT(convolution,
              HasSubstr(FormatSignificant(prediction.cost.nodes[0].gpu_us)));
  EXPECT_THAT(LineOf(text, "a100"),
              AllOf(HasSubstr(": memory "),
                    HasSubstr(" MiB (analytic, uncalibrated), "),
                    HasSubstr(" ms (analytic, uncalibrated), "),
                    HasSubstr(" J (analytic, uncalibrated)")));
}

TEST(FormatModuleTree, IndentsModulesBelowTheNetwork) {
  const OperatorGraph graph = SmallGraph();
  const std::string text =
      FormatModuleTree(graph, A100Predictor().Predict(graph));
  EXPECT_THAT(LineOf(text, "(network)"), StartsWith("(network)"));
  EXPECT_THAT(LineOf(text, "(network)"), HasSubstr("925 M"));
  EXPECT_THAT(LineOf(text, "layer1"), StartsWith("  layer1 "));
  EXPECT_THAT(LineOf(text, "conv1"), StartsWith("    conv1 "));
  EXPECT_THAT(text, HasSubstr("4 operators, 101 k parameters"));
}

TEST(FormatGraphJson, AddsTotalsAndTheTimeline) {
  const OperatorGraph graph = SmallGraph();
  const Prediction prediction = A100Predictor().Predict(graph);
  const MemoryBreakdown& memory = prediction.memory;
  const auto json =
      nlohmann::ordered_json::parse(FormatGraphJson(graph, prediction, {"w"}));
  EXPECT_EQ(json["parameters"], 100864);
  EXPECT_EQ(json["static_features"]["convolutions"], 1);
  EXPECT_EQ(json["static_features"]["relus"], 1);
  EXPECT_EQ(json["memory"]["allocated_peak"], memory.allocated_peak);
  ASSERT_EQ(json["memory"]["timeline"].size(), 4u);
  EXPECT_EQ(json["memory"]["timeline"][0]["peak_allocated"],
            memory.timeline[0].peak_allocated);
  ASSERT_EQ(json["cost"].size(), 4u);
  EXPECT_EQ(json["cost"][0]["gpu_us"], prediction.cost.nodes[0].gpu_us);
  EXPECT_EQ(json["figures"]["latency_ms"]["source"]["method"],
            prediction[Target::kLatency].source.method);
  EXPECT_EQ(json["warnings"], nlohmann::ordered_json::array({"w"}));
  EXPECT_GT(json["figures"]["memory_mib"]["value"], 0);
}

}  // namespace
}  // namespace foretell::cli
