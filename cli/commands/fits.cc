#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/answer_for_models.h"
#include "cli/commands/answer_trace.h"
#include "cli/commands/command.h"
#include "cli/flags/fit_flags.h"
#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "cli/print/progress_bar.h"
#include "foretell/fit.h"
#include "foretell/predictor.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/judge/fit_json.h"

namespace foretell::cli {
namespace {

constexpr char kFitsExamples[] =
    "Exit status 0: within every limit; 1: over a limit, or within it only if\n"
    "the allocator releases cached memory (0 with --tight). Judges memory\n"
    "by the upper end of its interval, latency and energy by their estimates\n"
    "(with --strict by their upper ends).\n"
    "Examples:\n"
    "  foretell fits model.onnx --batch 8 --profile 1g.5gb\n"
    "  foretell fits model.onnx --batch 8 --max-memory 8000 --max-latency 20";

struct FitsOptions {
  ModelOptions model;
  PredictorFlags predictor;
  FitLimits limits;
  bool json = false;
};

/// "750 MiB <= 4864 MiB", or what is left of the memory without its cache.
std::string Comparison(const FitCheck& check) {
  const auto with_unit = [&check](double value) {
    return fmt::format("{} {}", FormatSignificant(value), check.unit);
  };
  std::string text = fmt::format("{} {} {}", with_unit(check.value),
                                 check.value <= check.limit ? "<=" : ">",
                                 with_unit(check.limit));
  if (check.fit == mig::Fit::kFitsWithoutCache) {
    text += fmt::format(", {} without its cache", with_unit(check.least));
  }
  return text;
}

std::string Format(const JudgedModel& judged) {
  std::string text =
      fmt::format("{} on {}:\n", Printable(judged.model), judged.place);
  for (const FitCheck& check : judged.verdict.checks) {
    text += fmt::format("  {} {}\n", check.what, Comparison(check));
  }
  return text + fmt::format("  {}\n", mig::FitText(judged.verdict.fit));
}

/// Says what a step means that fits without its cache.
void ExplainTight(const FitVerdict& verdict) {
  if (verdict.fit != mig::Fit::kFitsWithoutCache) return;
  PrintNote(
      "before it runs out of memory, PyTorch empties its cache as "
      "torch.cuda.empty_cache() does, and waits for the GPU each time: a "
      "smaller batch avoids that, --tight accepts it");
}

ExitCode RunFits(const FitsOptions& options) {
  const Predictor predictor = options.predictor.Make(options.model.run);
  const DeviceSpec& device = predictor.device();
  const std::string place = PlaceName(device, options.limits.profile);
  std::vector<JudgedModel> judged;
  bool all_fit = true;
  const std::vector<ReportError> errors =
      ForEachStep(options.model, [&](Session& session) {
        const Prediction prediction = session.Predict(predictor);
        judged.push_back({session.program().name(), place,
                          JudgeFit(prediction, device, options.limits),
                          WarningsOf(session.Step(), prediction)});
        all_fit &= judged.back().verdict.fits;
        if (options.json) return;
        WipeProgress();
        std::cout << Format(judged.back()) << std::flush;
        PrintWarnings(session, prediction);
        ExplainTight(judged.back().verdict);
      });
  if (options.json) std::cout << DumpJson(FitsToJson(judged, errors)) << "\n";
  if (PrintErrors(errors) != kExitOk) return kExitModelFailed;
  return all_fit ? kExitOk : kExitDoesNotFit;
}

}  // namespace

void AddFits(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<FitsOptions>();
  CLI::App* command = app.add_subcommand(
      "fits", "Check whether models fit and report it as exit status, for CI");
  command->footer(kFitsExamples);
  options->model.AddTo(*command, /*many=*/true);
  options->model.passes.AddTo(*command);
  options->predictor.AddTo(*command, options->model.run);
  AddFitFlags(*command, options->limits);
  command->add_flag("--json", options->json, "JSON document on stdout");
  AnswerBy(&RunFits, options, *command, exit_code);
}

}  // namespace foretell::cli
