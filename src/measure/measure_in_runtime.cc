#include "src/measure/measure_in_runtime.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "src/core/embedded_file.h"
#include "src/core/files.h"
#include "src/core/output_file.h"
#include "src/core/parse_json.h"
#include "src/core/work_folder.h"
#include "src/measure/statistics.h"
#include "src/sandbox/run_program.h"

namespace foretell::measure {

std::span<const EmbeddedFile> RuntimeProgramFiles();

namespace {

constexpr std::size_t kMostResultBytes = 64 * 1024 * 1024;

std::string PythonProgram() {
  const char* given = std::getenv("FORETELL_PYTHON");
  return given != nullptr ? given : "python3";
}

std::string RequestText(const MeasureRequest& request) {
  const MeasureOptions& options = request.options;
  nlohmann::json json = {
      {"model", std::filesystem::absolute(request.model).string()},
      {"runtime", ToString(request.run.runtime)},
      {"device", request.device},
      {"batch", nullptr},
      {"dims", request.inputs.dims},
      {"warmup_runs", options.warmup_runs},
      {"min_runs", options.min_runs},
      {"min_seconds", options.min_seconds},
      {"threads", options.threads}};
  if (request.inputs.batch) json["batch"] = *request.inputs.batch;
  return json.dump();
}

/// Why the runtime cannot measure the request; empty if it can.
std::string RefusalOf(const MeasureRequest& request) {
  const Run& run = request.run;
  if (!request.options.trusts_code) {
    return fmt::format(
        "--runtime {} runs the model in Python with all your permissions; "
        "allow it with --trust",
        ToString(run.runtime));
  }
  const bool is_plain = run.mode == Mode::kInference && !run.autocast &&
                        !run.channels_last && !run.grad_mode &&
                        run.precision == Precision::kFp32;
  if (is_plain && !request.options.energy) return "";
  return fmt::format(
      "--runtime {} measures latency and memory of inference in the file's own "
      "types alone",
      ToString(run.runtime));
}

template <typename T>
std::optional<T> Optional(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return {};
  return found->get<T>();
}

/// `text` is what the program wrote.
Measurement ResultOfRuntime(const MeasureRequest& request,
                            const std::string& text) {
  const nlohmann::json json = ParseJson(text, "the runtime's result");
  if (const auto status = Optional<std::string>(json, "status")) {
    return FailedMeasurement(
        request, ParseMeasureStatus(*status).value_or(MeasureStatus::kFailed),
        json.at("message"));
  }
  Measurement result = FailedMeasurement(request, MeasureStatus::kOk, "");
  result.latency =
      measure::Summarize(json.at("times_ms").get<std::vector<double>>());
  result.memory.peak_allocated_bytes =
      Optional<std::int64_t>(json, "peak_allocated_bytes");
  result.memory.peak_reserved_bytes =
      Optional<std::int64_t>(json, "peak_reserved_bytes");
  result.memory.peak_rss_bytes = json.at("peak_rss_bytes");
  if (const auto batch = Optional<std::int64_t>(json, "batch")) {
    result.batch = batch;
  }
  result.environment.device_name =
      Optional<std::string>(json, "device_name").value_or(request.device);
  result.environment.libtorch = json.at("version");
  result.notes.push_back(
      {"energy", "not measured in runtime " + ToString(request.run.runtime)});
  return result;
}

}  // namespace

Measurement MeasureInRuntime(const MeasureRequest& request) {
  const std::string refusal = RefusalOf(request);
  if (!refusal.empty()) {
    return FailedMeasurement(request, MeasureStatus::kFailed, refusal);
  }
  const WorkFolder work;
  WriteWhole(work / "measure.py", RuntimeProgramFiles().front().bytes);
  WriteWhole(work / "request.json", RequestText(request));
  const sandbox::Command command{
      .argv = {PythonProgram(), work / "measure.py", work / "request.json",
               work / "result.json"},
      .folder = work.path(),
      .log = work / "log.txt",
      .deadline_s = request.options.deadline_s};
  const ProcessEnd end = sandbox::Run(command);
  if (end.kind == ProcessEnd::Kind::kDeadline) {
    return FailedMeasurement(request, MeasureStatus::kDeadline, ToString(end));
  }
  if (end.kind != ProcessEnd::Kind::kExited || end.status != 0) {
    return FailedMeasurement(
        request, MeasureStatus::kCrashed,
        fmt::format("{}: {}", ToString(end), sandbox::LastWords(command.log)));
  }
  try {
    return ResultOfRuntime(request,
                           FirstBytes(work / "result.json", kMostResultBytes));
  } catch (const std::exception& error) {
    return FailedMeasurement(request, MeasureStatus::kCrashed, error.what());
  }
}

}  // namespace foretell::measure
