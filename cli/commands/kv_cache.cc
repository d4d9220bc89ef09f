#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/command.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/model_options.h"
#include "cli/flags/number_checks.h"
#include "cli/print/print_serving.h"
#include "foretell/quantize.h"
#include "foretell/serving.h"
#include "foretell/zoo.h"

namespace foretell::cli {
namespace {

constexpr char kKvCacheExamples[] =
    "Computes from a decoder's config.json what its cache of keys and values\n"
    "takes, and how many sequences a GPU holds as vLLM divides its memory.\n"
    "Exit status 1: not one sequence fits.\n"
    "Examples:\n"
    "  foretell kv-cache meta-llama/Llama-3.1-8B --device a100-80gb\n"
    "  foretell kv-cache Qwen/Qwen2.5-72B --tensor-parallel 4 --quantize fp8 "
    "\\\n"
    "      --kv-format fp8 --context 32768 --device h100-80gb\n"
    "  foretell kv-cache DeepSeek-V3/config.json --parameters 671e9 \\\n"
    "      --tensor-parallel 8 --device h200";

struct KvCacheOptions {
  std::string model;
  std::string format = "bf16";
  std::string quantize;
  double parameters = 0;
  ServingRequest request;
  DeviceFlags device;
  bool json = false;
};

/// Parameters of the network; 0 for a file that no family of the zoo expresses.
std::int64_t CountParameters(const KvCacheOptions& options) {
  if (options.parameters > 0) {
    return static_cast<std::int64_t>(options.parameters);
  }
  std::error_code ignored;
  const bool is_file = std::filesystem::exists(options.model, ignored);
  if (is_file && !zoo::IsNetwork(options.model)) return 0;
  return zoo::Load(options.model).parameter_elements();
}

ExitCode RunKvCache(const KvCacheOptions& options) {
  const DeviceSpec device = options.device.Find();
  ServingAnswer answer{
      .model = options.model,
      .device = device.name,
      .decoder = ReadDecoder(zoo::DecoderConfig(options.model), options.model),
      .request = options.request};
  answer.request.cache = ParseCacheFormat(options.format);
  if (!options.quantize.empty()) {
    answer.request.weights = ParseQuantize("--quantize", options.quantize);
  }
  answer.request.usable_mib = static_cast<double>(device.usable_mib);
  answer.request.parameters = CountParameters(options);
  answer.plan = PlanServing(answer.decoder, answer.request);
  const std::int64_t positions = answer.decoder.positions;
  if (positions > 0 && positions < answer.request.context) {
    PrintWarning(fmt::format("--context {}: the network has {} positions",
                             answer.request.context, positions));
  }
  std::cout << (options.json ? FormatServingJson(answer)
                             : FormatServing(answer));
  const bool fits = !answer.plan.weight_bytes || answer.plan.concurrency >= 1;
  return fits ? kExitOk : kExitDoesNotFit;
}

void AddCacheFlags(CLI::App& command, KvCacheOptions& options) {
  ServingRequest& request = options.request;
  AddDefaulted(command, "--context", request.context,
               "Tokens of a sequence, prompt and answer together", AboveZero());
  AddDefaulted(command, "--kv-format", options.format,
               "Numbers of the cache: bf16, fp16, fp32, fp8, int8 (scales "
               "per token and head), nvfp4, int4 (transformers)");
  AddDefaulted(command, "--block-size", request.block,
               "Tokens that are allocated at once; 1: no blocks", AboveZero());
  AddDefaulted(command, "--tensor-parallel", request.tensor_parallel,
               "GPUs that share every layer", AboveZero());
}

void AddMemoryFlags(CLI::App& command, KvCacheOptions& options) {
  ServingRequest& request = options.request;
  AddDefaulted(command, "--memory-utilization", request.memory_utilization,
               "Share of the GPU's memory that serving may use",
               CLI::Range(0.01, 1.0));
  command
      .add_option("--parameters", options.parameters,
                  "Parameters of the network: 671e9; default: counted")
      ->check(AboveZero());
  command.add_option("--quantize", options.quantize,
                     "Weights of few bits, as for predict: fp8, awq:4, "
                     "gptq:4, nf4; embedding and head have 16 bits");
  AddDefaulted(command, "--batched-tokens", request.batched_tokens,
               "Tokens of one pass, all sequences together", AboveZero());
  AddDefaulted(command, "--sequences", request.sequences,
               "Sequences of one pass, at most", AboveZero());
}

}  // namespace

void AddKvCache(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<KvCacheOptions>();
  CLI::App* command = app.add_subcommand(
      "kv-cache", "Size of a decoder's cache, and sequences that a GPU holds");
  command->footer(kKvCacheExamples);
  command
      ->add_option("MODEL", options->model,
                   "Name on the Hugging Face Hub, config.json, its folder, or "
                   "zoo:NAME")
      ->required();
  AddCacheFlags(*command, *options);
  AddMemoryFlags(*command, *options);
  options->device.AddTo(*command);
  command->add_flag("--json", options->json, "JSON document on stdout");
  command->callback([options, &exit_code] {
    exit_code = AnswerForModels(
        {&options->model, 1}, [&] { return RunKvCache(*options); },
        options->json ? &NoResults : nullptr);
  });
}

}  // namespace foretell::cli
