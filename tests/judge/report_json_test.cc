#include "src/judge/report_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "foretell/predictor.h"
#include "src/core/json_text.h"

namespace foretell {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

Report TestReport() {
  const OperatorGraph graph =
      ParseGraph(R"(graph "network" batch=8 parameters=100864
%x = input f32[8,64,56,56]
%a = conv2d(%x, weight f32[64,64,3,3]) {padding=[1,1]} : f32[8,64,56,56] @ "layer1.conv1"
%b = relu(%a) : f32[8,64,56,56]
%c = mean(%b) : f32[8,64]
%d = linear(%c, weight f32[1000,64]) : f32[8,1000]
output %d
)");
  const DeviceSpec& device = DeviceCatalog::BuiltIn().FindDevice("a100");
  const Prediction prediction =
      Predictor::Analytic(device, {.host = Host::kCpp}).Predict(graph);
  return MakeReport({"network.onnx", "onnx", {"something odd"}}, graph,
                    prediction, mig::Recommend(ToDemand(prediction), device));
}

std::vector<std::string> KeysOf(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

TEST(ReportJson, ListsThePassesOfAProcess) {
  const OperatorGraph graph = ParseGraph(
      "graph \"g\"\n%x = input f32[8,64]\n%y = relu(%x) : f32[8,64]\n"
      "output %y\n");
  const DeviceSpec& device = DeviceCatalog::BuiltIn().FindDevice("a100");
  const Prediction prediction =
      Predictor::Analytic(device, {})
          .PredictRun(PassSequence({{&graph}, {&graph}}), 0, /*adds_up=*/false);
  ReportedModel model = {.name = "g", .format = "graph"};
  model.passes = {
      {.label = "length 8", .runs = 1, .figures = {.latency_ms = 1}},
      {.label = "length 64", .runs = 3, .figures = {.latency_ms = 5}}};
  model.has_lengths = true;
  model.peak_pass = "length 64";
  const Json json = ReportToJson(
      MakeReport(model, graph, prediction,
                 mig::Recommend(ToDemand(prediction), device), &graph));
  ASSERT_EQ(json["passes"].size(), 2u);
  EXPECT_THAT(KeysOf(json["passes"][0]),
              ElementsAre("label", "mode", "batch", "runs", "latency_ms",
                          "energy_j", "allocated_mib"));
  EXPECT_EQ(json["latency"]["mean_ms"], 4.0);
  EXPECT_EQ(json["memory"]["peak_operator"], "relu of length 64");
}

TEST(ReportJson, HasTheDocumentedFieldsInOrder) {
  const Json json = ReportToJson(TestReport());
  EXPECT_THAT(KeysOf(json),
              ElementsAre("model", "format", "device", "environment", "mode",
                          "optimizer", "loss", "setup", "precision", "autocast",
                          "grad_mode", "batch", "verdict", "parameters",
                          "operators", "static_features", "weights", "inputs",
                          "outputs", "memory", "latency", "energy", "method",
                          "coverage", "warnings", "mig"));
  EXPECT_THAT(KeysOf(json["static_features"]),
              ElementsAre("macs", "batch", "convolutions", "dense", "relus"));
  EXPECT_THAT(
      KeysOf(json["memory"]),
      ElementsAre("total_mib", "interval_mib", "least_mib", "on_device_mib",
                  "grad_mode_mib", "source", "allocated_mib", "reserved_mib",
                  "context_mib", "workspace_mib", "parameters_mib",
                  "buffers_mib", "inputs_mib", "activations_mib",
                  "gradients_mib", "optimizer_mib", "temporaries_mib",
                  "workspace_at_peak_mib", "rounding_mib", "peak_operator",
                  "peak_phase", "largest_tensors"));
  EXPECT_THAT(
      KeysOf(json["verdict"]),
      ElementsAre("outcome", "estimate_mib", "at_most_mib", "usable_mib",
                  "samples_per_s", "tokens_per_s", "total_samples_per_s",
                  "total_tokens_per_s", "cards", "parts", "suggestion", "title",
                  "inputs", "place", "lines"));
  EXPECT_THAT(KeysOf(json["latency"]),
              ElementsAre("ms", "interval_ms", "source", "compute_ms",
                          "memory_ms", "overhead_ms", "bound", "gpu_ms",
                          "dispatch_ms", "host", "host_name", "host_factor"));
  EXPECT_THAT(KeysOf(json["energy"]),
              ElementsAre("j", "interval_j", "source", "average_power_w",
                          "power_limit_w"));
  EXPECT_THAT(KeysOf(json["coverage"]),
              ElementsAre("operators", "macs", "bytes", "unknown_operators"));
  EXPECT_THAT(KeysOf(json["mig"]), ElementsAre("rule", "profile", "reason",
                                               "whole_device", "profiles"));
  EXPECT_THAT(
      KeysOf(json["mig"]["profiles"][0]),
      ElementsAre("profile", "usable_mib", "total_mib", "fits", "fit",
                  "margin_mib", "latency_ms", "energy_j", "sms", "reason"));
}

TEST(ReportJson, DocumentsEveryField) {
  std::ifstream file(std::string(FORETELL_SOURCE_DIR) + "/docs/json_output.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(document.empty());
  std::vector<Json> open = {ReportsToJson(
      std::vector{TestReport()},
      std::vector{ReportError{"bad.onnx", ErrorCode::kCorrupt, "broken"}})};
  while (!open.empty()) {
    const Json json = open.back();
    open.pop_back();
    for (const auto& [key, value] : json.items()) {
      if (json.is_object()) {
        EXPECT_THAT(document, HasSubstr("`" + key + "`"));
      }
      if (value.is_structured()) open.push_back(value);
    }
  }
}

TEST(ReportJson, SaysWhatTheReportSays) {
  const Report report = TestReport();
  const Json json = ReportToJson(report);
  EXPECT_EQ(json["model"], "network.onnx");
  EXPECT_EQ(json["device"], "a100-sxm4-40gb");
  EXPECT_EQ(json["environment"], "cuda13");
  EXPECT_EQ(json["mode"], "inference");
  EXPECT_EQ(json["optimizer"], nullptr);
  EXPECT_EQ(json["precision"], "fp32");
  EXPECT_TRUE(json["autocast"].is_null());
  EXPECT_EQ(json["grad_mode"], false);
  EXPECT_TRUE(json["memory"]["grad_mode_mib"].is_null());
  EXPECT_EQ(json["batch"], 8);
  EXPECT_EQ(json["parameters"], 100'864);
  EXPECT_EQ(json["operators"], 4);
  EXPECT_EQ(json["static_features"]["convolutions"], 1);
  EXPECT_EQ(json["static_features"]["macs"],
            8LL * 64 * 56 * 56 * 64 * 9 + 8 * 64 * 1000);
  EXPECT_EQ(json["inputs"], Json::parse(R"([
      {"name": "x", "dtype": "f32", "shape": [8, 64, 56, 56],
       "place": "device", "from_example": {}}])"));
  EXPECT_EQ(json["outputs"], Json::parse(R"([
      {"name": "d", "dtype": "f32", "shape": [8, 1000],
       "place": "device"}])"));
  EXPECT_EQ(json["warnings"], Json::parse(R"(["something odd"])"));
  EXPECT_EQ(json["mig"]["profile"], "1g.5gb");
  EXPECT_EQ(json["mig"]["rule"], "usable-memory");
  EXPECT_EQ(json["mig"]["profiles"].size(),
            report.recommendation.profiles.size());
}

TEST(ReportJson, AddsMemoryUp) {
  const Json memory = ReportToJson(TestReport())["memory"];
  EXPECT_NEAR(memory["total_mib"].get<double>(),
              memory["context_mib"].get<double>() +
                  memory["reserved_mib"].get<double>(),
              0.01);
  double parts = 0;
  for (const char* part :
       {"parameters_mib", "buffers_mib", "inputs_mib", "activations_mib",
        "gradients_mib", "optimizer_mib", "temporaries_mib",
        "workspace_at_peak_mib", "rounding_mib"}) {
    parts += memory[part].get<double>();
  }
  EXPECT_NEAR(parts, memory["allocated_mib"].get<double>(), 0.001);
  EXPECT_EQ(memory["peak_operator"], "layer1.conv1 (conv2d)");
  EXPECT_EQ(memory["largest_tensors"][0]["operator"], nullptr);
  EXPECT_EQ(memory["largest_tensors"][0]["type"], "f32[8,64,56,56]");
  EXPECT_EQ(memory["largest_tensors"][1]["operator"], "layer1.conv1 (conv2d)");
}

TEST(ReportJson, RoundsToSixSignificantDigits) {
  Report report = TestReport();
  report.prediction[Target::kLatency] = {
      .value = 1234.56789, .interval = {0.000123456789, 98765432.1}};
  report.prediction[Target::kEnergy].value = 0;
  const Json json = ReportToJson(report);
  EXPECT_EQ(json["latency"]["ms"], 1234.57);
  EXPECT_EQ(json["latency"]["interval_ms"],
            Json::array({0.000123457, 98765400.0}));
  EXPECT_EQ(json["energy"]["j"], 0.0);
}

TEST(ReportJson, WritesNullWhenNoProfileFits) {
  Report report = TestReport();
  report.recommendation.profile.reset();
  EXPECT_EQ(ReportToJson(report)["mig"]["profile"], nullptr);
}

TEST(ReportJson, ListsErrorsBesideResults) {
  const Json json = ReportsToJson(
      std::vector{TestReport()},
      std::vector{ReportError{"bad.onnx", ErrorCode::kCorrupt, "cut short"}});
  EXPECT_THAT(KeysOf(json), ElementsAre("schema_version", "results", "errors"));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["results"].size(), 1u);
  EXPECT_EQ(json["errors"], Json::parse(R"([
      {"model": "bad.onnx", "code": "corrupt", "message": "cut short"}])"));
}

TEST(ReportJson, SurvivesNamesThatAreNotUtf8) {
  const Json json = ReportErrorToJson({"a\xff.onnx", ErrorCode::kIo, "\xc3"});
  const std::string text = DumpJson(json);
  EXPECT_EQ(Json::parse(text)["model"], R"(a\xff.onnx)");
}

}  // namespace
}  // namespace foretell
