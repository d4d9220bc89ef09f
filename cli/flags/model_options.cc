#include "cli/flags/model_options.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <utility>

#include "cli/flags/defaulted_flag.h"
#include "cli/flags/loop_flags.h"
#include "cli/flags/number_checks.h"
#include "cli/flags/open_model.h"
#include "cli/flags/run_flags.h"
#include "cli/print/progress_bar.h"
#include "foretell/zoo.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/numbers.h"
#include "src/core/parse_number.h"
#include "src/core/printable.h"
#include "src/core/text.h"
#include "src/correct/model_field.h"
#include "src/device/local_gpu.h"

namespace foretell::cli {
namespace {

std::pair<std::string, std::int64_t> ParseDim(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals != std::string::npos && equals != 0) {
    const auto size =
        ParseNumber<std::int64_t>(std::string_view(text).substr(equals + 1));
    if (size && *size >= 0) return {text.substr(0, equals), *size};
  }
  throw InvalidArgument("--dim '{}': expected NAME=SIZE, e.g. seq=128", text);
}

/// "lengths=7,3,1", "3" for the only input.
std::pair<std::string, std::vector<std::int64_t>> ParseValue(
    const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const bool has_name = equals != std::string::npos;
  std::pair<std::string, std::vector<std::int64_t>> value;
  if (has_name) value.first = text.substr(0, equals);
  std::string_view rest = text;
  if (has_name) rest.remove_prefix(equals + 1);
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    auto number = ParseNumber<std::int64_t>(word);
    if (word == "true") number = 1;
    if (word == "false") number = 0;
    if (!number) {
      throw InvalidArgument(
          "--value '{}': '{}' is not a whole number, expected e.g. "
          "lengths=7,3,1",
          text, word);
    }
    value.second.push_back(*number);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  return value;
}

/// A network of the zoo has its length in its name.
std::string WithLength(const std::string& model, std::int64_t length) {
  if (!zoo::IsNetwork(model)) return model;
  return WithField(model, "seq", fmt::format("{}", length));
}

/// The steps of every model. Throws Error for bad flags.
std::vector<StepRequest> StepsOf(const ModelOptions& options) {
  if (options.batches.empty()) return {options.ToStep(std::nullopt)};
  std::vector<StepRequest> steps;
  for (const std::int64_t batch : options.batches) {
    steps.push_back(options.ToStep(batch));
  }
  return steps;
}

/// `steps`, and after each of them the same one with the run `also`.
std::vector<StepRequest> WithOthers(const std::vector<StepRequest>& steps,
                                    const std::optional<Run>& also) {
  if (!also) return steps;
  std::vector<StepRequest> all;
  for (const StepRequest& step : steps) {
    all.push_back(step);
    all.push_back(step);
    all.back().options.run = *also;
  }
  return all;
}

ReportError ToReportError(const std::string& model,
                          const std::exception& error) {
  const auto* ours = dynamic_cast<const Error*>(&error);
  if (ours != nullptr) return {model, ours->code(), ours->what()};
  return {model, ErrorCode::kInternal,
          fmt::format("{}: {}", model, FirstLine(error.what()))};
}

/// Stages of one model: it is opened, traced, and predicted.
constexpr int kStages = 3;

/// `message` on one line of bounded length, whatever names a file contains.
std::string OnALine(const std::string& message) {
  constexpr std::size_t kMostBytes = 4000;
  if (message.size() <= kMostBytes) return Printable(message);
  return fmt::format("{} … and {} more",
                     Printable(message.substr(0, kMostBytes)),
                     Counted(message.size() - kMostBytes, "byte"));
}

/// The catalogue's name of the first GPU of this machine; empty if unknown.
std::string LocalDevice() {
  const std::string model = device::LocalGpuModel();
  if (model.empty()) return "";
  const DeviceSpec* known = DeviceCatalog::BuiltIn().DeviceNamed(model);
  return known == nullptr ? "" : known->name;
}

/// Answers whether a converter may be installed; empty where no one can be
/// asked.
std::function<bool(const std::string&)> MayInstall(bool is_said,
                                                   bool is_quiet) {
  if (is_said) return [](const std::string&) { return true; };
  if (is_quiet) return {};
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0) return {};
  return [](const std::string& question) {
    WipeProgress();
    std::cerr << fmt::format("foretell: {} [y/N] ", OnALine(question));
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
  };
}

}  // namespace

void ModelOptions::AddInputFlag(CLI::App& command) {
  command
      .add_option(
          "-i,--input", inputs,
          "Type of an input: name=f32[8,3,224,224]; omit the name of the only "
          "input, and a type that the file states: 8,3,224,224")
      ->allow_extra_args(false);
}

void ModelOptions::AddTo(CLI::App& command, bool many, bool with_loop) {
  CLI::Option* files =
      command
          .add_option("MODEL", models,
                      many ? "ONNX, TorchScript or torch.export files; names "
                             "of networks, zoo:resnet50 or Qwen/Qwen2.5-0.5B, "
                             "or a config.json; models of other frameworks are "
                             "converted"
                           : "ONNX, TorchScript or torch.export file; name of "
                             "a network, zoo:resnet50 or Qwen/Qwen2.5-0.5B, or "
                             "a config.json; a model of another framework is "
                             "converted")
          ->required();
  if (!many) files->expected(1);
  AddInputFlag(command);
  if (many) {
    AddList(command, "-b,--batch", batches,
            "Batch sizes, e.g. 8 or 1,8,32: the leading dimension of every "
            "input")
        ->check(AboveZero());
  }
  AddTraceFlags(command, with_loop);
}

void ModelOptions::AddTraceFlags(CLI::App& command, bool with_loop) {
  command.add_option("-d,--dim", dims, "Size of a named dimension: seq=128")
      ->allow_extra_args(false);
  AddLengthFlag(command);
  command
      .add_option("--value", values,
                  "Content of an integer or Boolean input on which sizes or "
                  "branches depend: lengths=7,3,1; one number fills the input")
      ->allow_extra_args(false);
  AddStepFlags(command, run);
  command.get_option("--precision")->each([this](const std::string&) {
    chose_precision = true;
  });
  if (with_loop) AddLoopFlags(command, loop);
  phase.AddTo(command);
  command.parse_complete_callback([this] {
    for (std::string& model : models) {
      if (model != kAnd) model = phase.Apply(model);
    }
    TakeLength();
    passes.JoinNetworks(models);
  });
  AddDefaulted(command, "--trace", trace,
               "meta: no arithmetic; cpu: run once on random data, for models "
               "whose shapes depend on data",
               CLI::IsMember({"meta", "cpu"}));
  AddDefaulted(command, "--fuse", fuse,
               "ONNX patterns to replace by the operator that PyTorch runs: "
               "exported forms, none, or all equivalent ones",
               CLI::IsMember({"none", "exported", "equivalent"}));
  AddDefaulted(command, "--sandbox", sandbox,
               "Isolation of the process that opens files: auto uses the locks "
               "of this kernel, require refuses to run without all of them",
               CLI::IsMember({"auto", "require", "off"}));
  AddDefaulted(command, "--timeout", timeout_s,
               "Time limit of a sandbox in seconds, for opening a file and for "
               "each trace",
               CLI::Range(0.001, 1e6));
  CLI::Option* converts =
      command.add_flag("--convert", convert,
                       "Let pip install the converter for another framework "
                       "(TensorFlow, Paddle, Hugging Face) on first use, 950 "
                       "to 1700 MiB; if unset, ask on a terminal");
  command
      .add_flag("--no-convert", no_convert,
                "Refuse models of other frameworks instead of running their "
                "converter")
      ->excludes(converts);
}

void ModelOptions::AddLengthFlag(CLI::App& command) {
  command
      .add_option(kSequenceLength, seq_len,
                  "Sequence length: size of the only named dimension that can "
                  "be one, or field seq of a zoo network")
      ->check(AboveZero());
}

void ModelOptions::TakeLength() {
  std::vector<std::int64_t> lengths;
  if (!passes.lengths.empty()) {
    lengths = ParseLengths(passes.lengths);
    seq_len = std::ranges::max(lengths);
  }
  models_without_length = models;
  if (!seq_len) return;
  dims.push_back(fmt::format("{}={}", kSequenceLength, *seq_len));
  for (std::string& model : models) {
    const std::string name = std::exchange(model, WithLength(model, *seq_len));
    for (const std::int64_t length : lengths) {
      if (length == *seq_len) continue;
      passes.other_lengths[model][length] = WithLength(name, length);
    }
  }
}

ModelOptions ModelOptions::AtLength(std::int64_t length) const {
  ModelOptions options = *this;
  options.models = models_without_length;
  options.dims.pop_back();
  options.seq_len = length;
  options.TakeLength();
  options.passes.JoinNetworks(options.models);
  return options;
}

LoadOptions ModelOptions::ToLoadOptions() const {
  return {.fusion = *ParseFusion(fuse),
          .sandbox = *ParseSandbox(sandbox),
          .timeout_s = timeout_s,
          .runs_arithmetic = trace == "cpu",
          .conversion = {.allowed = !no_convert,
                         .may_install = MayInstall(convert, is_quiet),
                         .tell = PrintNote}};
}

TraceDevice ModelOptions::DeviceOfTrace() const {
  return trace == "cpu" ? TraceDevice::kCpu : TraceDevice::kMeta;
}

StepRequest ModelOptions::ToStep(std::optional<std::int64_t> batch) const {
  return {.inputs = ToRequest(batch),
          .options = {.run = run,
                      .loop = loop,
                      .device = DeviceOfTrace(),
                      .chose_precision = chose_precision}};
}

Session ModelOptions::Open(std::optional<std::int64_t> batch) const {
  WarnOfMissingLocks();
  const std::string& entry = models.front();
  const Program first = OpenModel(passes.FirstOf(entry), ToLoadOptions());
  return PassPlanner(*this, entry, first).Open(ToStep(batch));
}

void ModelOptions::WarnOfMissingLocks() const {
  const bool has_files = std::ranges::any_of(
      models, [](const std::string& name) { return !zoo::IsNetwork(name); });
  if (is_quiet || sandbox != "auto" || !has_files) return;
  const std::string missing = MissingLocks();
  if (missing.empty()) return;
  PrintWarning(
      fmt::format("this kernel lacks {}: files are opened in a separate "
                  "process without locks; --sandbox require refuses them, "
                  "--sandbox off silences this warning",
                  missing));
}

InputRequest ModelOptions::ToRequest(std::optional<std::int64_t> batch) const {
  InputRequest request{.batch = batch};
  for (const std::string& text : inputs) {
    request.inputs.push_back(ParseInput(text));
  }
  for (const std::string& text : values) {
    auto [name, numbers] = ParseValue(text);
    if (request.values.emplace(name, std::move(numbers)).second) continue;
    throw InvalidArgument("--value '{}': the input is given twice", text);
  }
  for (const std::string& text : dims) {
    const auto [name, size] = ParseDim(text);
    const auto [said, is_new] = request.dims.emplace(name, size);
    if (is_new || said->second == size) continue;
    throw InvalidArgument("--dim {}={} and --dim {}={}: one of the two", name,
                          said->second, name, size);
  }
  return request;
}

void DeviceFlags::AddTo(CLI::App& command) {
  if (const std::string own = LocalDevice(); !own.empty()) device = own;
  AddDefaulted(command, "--device", device,
               "Target GPU, see `foretell devices`; default: the first GPU of "
               "this machine, else an A100");
  command.add_option("--environment", environment,
                     "CUDA context model, see `foretell devices`; default: "
                     "today's");
  command
      .add_option("--device-file", device_files, "JSON file that adds a device")
      ->allow_extra_args(false);
  command
      .add_option("--environment-file", environment_files,
                  "JSON file that adds environments")
      ->allow_extra_args(false);
  command
      .add_option("--host-memory", host_memory_mib,
                  "Memory left to the host on GPUs that share it (GB10, "
                  "Jetson): MiB or with a unit; default: 8GiB")
      ->transform(SizeInMib());
}

DeviceCatalog DeviceFlags::Catalog() const {
  DeviceCatalog catalog = DeviceCatalog::BuiltIn();
  for (const std::string& path : device_files) {
    catalog.AddDevice(ReadText(path), path);
  }
  for (const std::string& path : environment_files) {
    catalog.AddContexts(ReadText(path), path);
  }
  if (host_memory_mib) {
    catalog.KeepForHost(static_cast<std::int64_t>(*host_memory_mib));
  }
  return catalog;
}

std::vector<ReportError> ForEachStep(const ModelOptions& options,
                                     const std::function<void(Session&)>& use,
                                     const std::optional<Run>& also) {
  const std::vector<StepRequest> steps = StepsOf(options);
  const auto total =
      static_cast<std::int64_t>(options.models.size() * steps.size());
  ProgressBar progress(!options.is_quiet);
  std::int64_t done = 0;
  std::vector<ReportError> errors;
  // With a single model, the stage is shown instead of a count.
  const auto stage = [&](int number, const std::string& what) {
    if (total == 1) progress.ShowStage(number, kStages, what);
  };
  options.WarnOfMissingLocks();
  std::vector<std::string> firsts;
  for (const std::string& entry : options.models) {
    firsts.push_back(options.passes.FirstOf(entry));
  }
  ModelQueue queue(firsts, options.ToLoadOptions(), WithOthers(steps, also));
  for (const std::string& path : options.models) {
    const std::int64_t done_with_it = done + std::ssize(steps);
    try {
      stage(0, "opening " + path);
      const PassPlanner planner(options, path, queue.Next());
      for (const StepRequest& step : steps) {
        if (total > 1) {
          progress.Show(done++, total, std::ssize(errors), path);
        }
        Session session = planner.Open(step);
        stage(1, "tracing " + path);
        session.Step();
        stage(2, "predicting " + path);
        use(session);
      }
    } catch (const std::exception& error) {
      errors.push_back(ToReportError(path, error));
    }
    done = done_with_it;
  }
  return errors;
}

void PrintError(const std::string& message) {
  WipeProgress();
  std::cerr << fmt::format("foretell: error: {}\n", OnALine(message));
}

void PrintWarning(const std::string& message) {
  WipeProgress();
  std::cerr << fmt::format("foretell: warning: {}\n", OnALine(message));
}

void PrintNote(const std::string& message) {
  WipeProgress();
  std::cerr << fmt::format("foretell: {}\n", OnALine(message));
}

}  // namespace foretell::cli
