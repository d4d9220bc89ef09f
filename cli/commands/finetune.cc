#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/answer_trace.h"
#include "cli/commands/command.h"
#include "cli/commands/step_simulator.h"
#include "cli/flags/defaulted_flag.h"
#include "cli/flags/fit_flags.h"
#include "cli/flags/flag_groups.h"
#include "cli/flags/model_options.h"
#include "cli/flags/number_checks.h"
#include "cli/flags/recipe_words.h"
#include "cli/flags/run_flags.h"
#include "cli/print/print_report.h"
#include "cli/print/terminal_style.h"
#include "foretell/advise.h"
#include "foretell/fit.h"
#include "src/core/failure.h"
#include "src/core/json_text.h"
#include "src/core/text.h"
#include "src/judge/report_json.h"
#include "src/judge/summary.h"
#include "src/recipes/recipe.h"

namespace foretell::cli {
namespace {

constexpr char kFinetuneExamples[] =
    "Predicts a training step as transformers' Trainer runs it: AdamW,\n"
    "checkpointed blocks, weights in BF16; with qlora 4-bit weights, and BF16\n"
    "autocast as after prepare_model_for_kbit_training. Flags of `foretell\n"
    "predict` replace parts of it. Exit status 1: the step does not fit.\n"
    "Examples:\n"
    "  foretell finetune zoo:mistral_7b --method qlora --seq-len 4096 --batch "
    "2 "
    "\\\n"
    "      --device rtx-4090\n"
    "  foretell finetune zoo:qwen2_0_5b --method full --seq-len 2048 --batch "
    "8\n"
    "  foretell finetune model.pt2 --lora r=64,targets=attn --batch 4\n"
    "  foretell finetune sdxl_unet.pt2 + zoo:sd_vae_encoder?image_size=1024\n"
    "  foretell finetune --config qlora.yaml --device rtx-4090";

struct FinetuneMethod {
  std::string_view name;
  bool adapts;
  std::string_view weights;  ///< --quantize.
  /// prepare_model_for_kbit_training: what is not quantized has 32 bits, and
  /// runs under autocast.
  bool for_kbit;
};

constexpr auto kMethods = std::to_array<FinetuneMethod>({
    {"full", false, "", false},
    {"lora", true, "", false},
    {"qlora", true, "nf4,double", true},
});

struct FinetuneOptions {
  ModelOptions model;
  PredictorFlags predictor;
  FitLimits limits;
  std::string method = "lora";
  std::int64_t batch = 1;
  bool no_checkpointing = false;
  bool answer_only = false;
  bool json = false;
};

/// What is asked about the step in addition to whether it fits.
struct Outlook {
  std::int64_t batch = 0;                ///< The largest that fits.
  std::optional<std::int64_t> length{};  ///< Likewise; empty: not given.
  std::vector<Remedy> savings;           ///< At most three, the best first.
};

constexpr std::int64_t kMostBatch = 4096;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 20;
constexpr std::int64_t kLengthStep = 128;
constexpr std::size_t kShownSavings = 3;

/// The flags with the method's defaults where the user gave none.
ModelOptions WithMethod(const FinetuneOptions& options) {
  const FinetuneMethod& method =
      *std::ranges::find(kMethods, options.method, &FinetuneMethod::name);
  ModelOptions model = options.model;
  TrainingLoop& loop = model.loop;
  model.run.mode = Mode::kTraining;
  if (!model.chose_precision && !model.run.autocast) {
    model.run.precision = Precision::kBf16;
    model.run.autocast = method.for_kbit;
    model.chose_precision = true;
  }
  loop.loss_in_function = true;
  if (loop.quantize == QuantizeSpec{} && !method.weights.empty()) {
    loop.quantize = ParseQuantize("--quantize", method.weights);
  }
  if (loop.lora == LoraSpec{} && method.adapts) {
    loop.lora = ParseLora(
        "--lora", fmt::format("r=16,targets={}{}", recipes::kBlockLayers,
                              method.for_kbit ? ",kbit" : ""));
  }
  // PEFT refuses prefixes with checkpointing.
  if (loop.recompute.empty() && !options.no_checkpointing &&
      loop.lora.method != AdapterMethod::kPrefix) {
    loop.recompute = "auto";
  }
  return model;
}

/// Opens and traces the step of `model`. If the network has no blocks to
/// checkpoint and that is only the default, takes it out of `model` and says
/// so.
Session OpenStep(const FinetuneOptions& options, ModelOptions& model) {
  try {
    Session session = model.Open(options.batch);
    session.Step();
    return session;
  } catch (const Error& error) {
    const bool is_default = options.model.loop.recompute.empty();
    if (model.loop.recompute.empty() || !is_default) throw;
    model.loop.recompute.clear();
    Session session = model.Open(options.batch);
    session.Step();  // Throws again if blocks were not the problem.
    PrintNote(fmt::format("{}; predicted without checkpointing", error.what()));
    return session;
  }
}

/// The largest size >= `least` that fits; 0 if not even that does.
std::int64_t LargestFrom(std::int64_t least, std::int64_t most,
                         const std::function<Prediction(std::int64_t)>& predict,
                         const DeviceSpec& device, const FitLimits& limits) {
  const BatchRange range = {.least = std::min(least, most), .most = most};
  return LargestBatch(range, predict, device, limits).batch;
}

std::optional<std::int64_t> LongestSequence(const ModelOptions& model,
                                            const FinetuneOptions& options,
                                            const Predictor& predictor,
                                            const Prediction& asked) {
  if (!model.seq_len) return std::nullopt;
  const bool fits = JudgeFit(asked, predictor.device(), options.limits).fits;
  const std::int64_t known = fits ? *model.seq_len / kLengthStep : 1;
  const auto predict = [&](std::int64_t steps) {
    if (steps * kLengthStep == *model.seq_len) return asked;
    Session longer = model.AtLength(steps * kLengthStep).Open(options.batch);
    return longer.Predict(predictor);
  };
  return kLengthStep * LargestFrom(std::max<std::int64_t>(known, 1),
                                   kMostTokens / kLengthStep, predict,
                                   predictor.device(), options.limits);
}

std::vector<Remedy> BestSavings(const ModelOptions& model,
                                const FinetuneOptions& options,
                                const Prediction& asked) {
  const StepSimulator simulator(model, options.predictor, options.batch);
  const AdviceRequest request = {.setup = simulator.Setup(),
                                 .batch = options.batch,
                                 .limits = options.limits,
                                 .alone = true,
                                 .unchanged = asked};
  std::vector<Remedy> savings =
      Advise(request, simulator.device(), [&simulator](const StepSetup& setup) {
        return simulator.Predict(setup);
      }).remedies;
  std::erase_if(savings,
                [](const Remedy& remedy) { return remedy.saved_mib < 1; });
  std::ranges::stable_sort(savings, std::greater(), &Remedy::saved_mib);
  savings.resize(std::min(savings.size(), kShownSavings));
  return savings;
}

std::string SavingsText(const std::vector<Remedy>& savings) {
  std::vector<std::string> texts;
  for (const Remedy& remedy : savings) {
    texts.push_back(fmt::format("{} ({} GiB, time ×{:.2f})",
                                Joined(remedy.names), GibText(remedy.saved_mib),
                                remedy.time_factor));
  }
  return texts.empty() ? "nothing that foretell tries" : Joined(texts);
}

void PrintOutlook(const Outlook& outlook) {
  const auto print = [](std::string_view label, const std::string& text) {
    std::cout << fmt::format("  {:<12} {}\n", label, text);
  };
  print("batch", outlook.batch == 0
                     ? "not even 1 fits"
                     : fmt::format("at most {} at this length", outlook.batch));
  if (outlook.length) {
    print("length", *outlook.length == 0
                        ? fmt::format("not even {} fits", kLengthStep)
                        : fmt::format("at most {} tokens at this batch",
                                      *outlook.length));
  }
  print("would save", SavingsText(outlook.savings));
}

nlohmann::ordered_json OutlookToJson(const FinetuneOptions& options,
                                     const Outlook& outlook) {
  nlohmann::ordered_json savings = nlohmann::ordered_json::array();
  for (const Remedy& remedy : outlook.savings) {
    savings.push_back({{"names", remedy.names},
                       {"saved_mib", remedy.saved_mib},
                       {"time_factor", remedy.time_factor}});
  }
  nlohmann::ordered_json document = {{"method", options.method},
                                     {"largest_batch", outlook.batch}};
  document["longest_sequence"] =
      outlook.length ? nlohmann::ordered_json(*outlook.length) : nullptr;
  document["savings"] = std::move(savings);
  return document;
}

/// Whether an Outlook is wanted. One of a run of eight lengths would take
/// minutes.
bool Searches(const FinetuneOptions& options) {
  if (options.answer_only) return false;
  if (options.model.passes.lengths.empty()) return true;
  PrintNote(
      "--lengths: the largest batch and savings are searched for with one "
      "length, --seq-len");
  return false;
}

ExitCode RunFinetune(const FinetuneOptions& options) {
  ModelOptions model = WithMethod(options);
  if (model.models.size() > 1) {
    throw InvalidArgument(
        "{}: finetune answers one step; '{}' stands between networks that one "
        "process runs",
        Joined(model.models, " "), kAnd);
  }
  model.WarnOfMissingLocks();
  const Predictor predictor = options.predictor.Make(model.run);
  const DeviceSpec& device = predictor.device();
  Session session = OpenStep(options, model);
  Report report = AnswerStep(predictor, session, std::nullopt, {});
  report.setup = SetupWords(model, options.predictor);
  const bool fits = JudgeFit(report.prediction, device, options.limits).fits;
  if (!options.json) {
    std::cout << FormatReports({&report, 1}, StyleOfStdout(false))
              << std::flush;
  }
  const bool searches = Searches(options);
  Outlook outlook;
  if (searches) {
    outlook.batch = LargestFrom(
        fits ? options.batch : 1, kMostBatch,
        [&](std::int64_t batch) {
          if (batch == options.batch) return report.prediction;
          return session.With({.batch = batch}).Predict(predictor);
        },
        device, options.limits);
    outlook.length =
        LongestSequence(model, options, predictor, report.prediction);
    outlook.savings = BestSavings(model, options, report.prediction);
  }
  if (options.json) {
    nlohmann::ordered_json document = ReportsToJson({&report, 1}, {});
    if (searches) {
      document["finetune"] = OutlookToJson(options, outlook);
    }
    std::cout << DumpJson(document) << "\n";
  } else if (searches) {
    PrintOutlook(outlook);
  }
  return fits ? kExitOk : kExitDoesNotFit;
}

}  // namespace

void AddFinetune(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<FinetuneOptions>();
  CLI::App* command = app.add_subcommand(
      "finetune",
      "Whether a fine-tuning step fits, and what would save memory");
  command->footer(kFinetuneExamples);
  options->model.AddTo(*command, /*many=*/false);
  constexpr int kMostWords = 64;
  command->get_option("MODEL")->expected(1, kMostWords);
  options->model.passes.AddTo(*command);
  command->remove_option(command->get_option("--mode"));
  options->predictor.AddTo(*command, options->model.run);
  command->remove_option(command->get_option("--method"));
  AddFitFlags(*command, options->limits);
  std::vector<std::string> names;
  std::ranges::transform(kMethods, std::back_inserter(names),
                         [](const auto& row) { return std::string(row.name); });
  AddDefaulted(
      *command, "--method", options->method,
      "full: every weight; lora: adapters; qlora: adapters on 4-bit weights",
      CLI::IsMember(names))
      ->group(kStepGroup);
  AddDefaulted(*command, "-b,--batch", options->batch,
               "Batch size: sequences or images of a step on one GPU",
               AboveZero());
  AddRecipeFlags(*command);
  command->add_flag("--no-checkpointing", options->no_checkpointing,
                    "Keep all activations; default: blocks are "
                    "checkpointed in eager PyTorch");
  command->add_flag(
      "--answer-only", options->answer_only,
      "Skip the search for the largest batch, length and savings");
  command->add_flag("--json", options->json, "JSON document on stdout");
  AnswerBy(&RunFinetune, options, *command, exit_code);
}

}  // namespace foretell::cli
