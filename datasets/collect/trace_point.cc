#include "datasets/collect/trace_point.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "datasets/store/label_graphs.h"
#include "foretell/error.h"
#include "src/core/csv_rows.h"
#include "src/core/failure.h"
#include "src/core/parse_number.h"
#include "src/core/text.h"

namespace foretell::dataset {
namespace {

constexpr std::size_t kImageRank = 4;
constexpr std::string_view kBetweenInputs = "; ";

std::string InputsText(const std::vector<BoundInput>& inputs) {
  std::string text;
  for (const BoundInput& input : inputs) {
    if (!text.empty()) text += kBetweenInputs;
    text += fmt::format("{}={}", input.name, ToString(input.type));
  }
  return text;
}

std::optional<std::int64_t> ImageSizeOf(const std::vector<BoundInput>& inputs) {
  for (const BoundInput& input : inputs) {
    if (input.type.shape.size() >= kImageRank) return input.type.shape.back();
  }
  return std::nullopt;
}

/// "3x224x224" with room for a batch in front.
TensorType ParseSizes(std::string_view text) {
  TensorType type{.dtype = DType::kF32, .shape = {1}};
  while (true) {
    const auto size = TakeNumber<std::int64_t>(text);
    if (!size || *size <= 0) break;
    type.shape.push_back(*size);
    if (text.empty()) return type;
    if (text.front() != 'x') break;
    text.remove_prefix(1);
  }
  throw Corrupt("expected sizes such as 3x224x224");
}

}  // namespace

const Program& PointTracer::Open(const Point& point) {
  const std::string key = fmt::format("{}\n{}", point.model, point.path);
  if (!program_ || opened_ != key) {
    program_.reset();
    // Graphs are stored under the point's name, so that the folder of a file
    // does not show in them.
    program_ = setup_.open(point).Named(point.model);
    opened_ = key;
  }
  return *program_;
}

InputRequest PointTracer::RequestFor(const Point& point) const {
  InputRequest request{.inputs = {}, .batch = point.batch, .dims = setup_.dims};
  auto found = setup_.inputs.find(point.model);
  if (found == setup_.inputs.end()) found = setup_.inputs.find("");
  if (found == setup_.inputs.end()) return request;
  request.inputs = found->second;
  for (BoundInput& input : request.inputs) {
    if (!input.type.shape.empty()) input.type.shape.front() = point.batch;
  }
  return request;
}

TracedPoint PointTracer::Trace(const Point& point, const std::string& run) {
  const Program& program = Open(point);
  Session session(
      program,
      {.inputs = run.empty() ? RequestFor(point)
                             : InputRequest{.inputs = InputsOf(point)},
       .options = {.run = TracedRun(point, run), .device = setup_.device}});
  const foretell::Trace& trace = session.Step();
  TracedPoint traced{.point = point,
                     .graph = PackGraph(trace.graph),
                     .warnings = Joined(trace.warnings, "\n")};
  traced.point.format = program.format();
  traced.point.inputs = InputsText(trace.inputs);
  traced.point.image_size = ImageSizeOf(trace.inputs);
  return traced;
}

Run TracedRun(const Point& point, const std::string& run) {
  Run traced = RunOfPoint(point, run);
  if (!point.optimizer.empty()) {
    traced.optimizer = ParseOptimizer(point.optimizer);
  }
  return traced;
}

std::vector<BoundInput> InputsOf(const Point& point) {
  std::vector<BoundInput> inputs;
  std::size_t begin = 0;
  while (begin < point.inputs.size()) {
    const std::size_t end =
        std::min(point.inputs.find(kBetweenInputs, begin), point.inputs.size());
    inputs.push_back(ParseInput(point.inputs.substr(begin, end - begin)));
    begin = end + kBetweenInputs.size();
  }
  return inputs;
}

std::map<std::string, std::vector<BoundInput>> ReadInputTable(
    const std::string& path) {
  std::map<std::string, std::vector<BoundInput>> inputs;
  ForEachCsvRow(path, [&](const CsvRow& row) {
    const std::string sizes = row.At("input");
    if (sizes.empty()) return;
    try {
      inputs[row.At("model")] = {{"", ParseSizes(sizes)}};
    } catch (const Error& error) {
      throw WithContext(
          fmt::format("{}: line {}: input '{}'", path, row.line(), sizes),
          error);
    }
  });
  return inputs;
}

}  // namespace foretell::dataset
