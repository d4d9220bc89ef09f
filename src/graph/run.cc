#include "foretell/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "foretell/error.h"
#include "src/core/json_fields.h"
#include "src/core/name_table.h"
#include "src/core/parse_number.h"

namespace foretell {
namespace {

constexpr NameTable<kAllOptimizers.size()> kOptimizerNames = {
    "sgd",
    "momentum",
    "adam",
    "adamw",
    "rmsprop",
    "adagrad",
    "adafactor",
    "amsgrad",
    "muon",
    "hf_adafactor",
    "adamw8bit",
    "adamw_bnb_8bit",
    "paged_adamw",
    "paged_adamw8bit",
    "lion",
    "lion8bit",
    "paged_lion",
    "paged_lion8bit",
    "torchao_adamw8bit",
    "torchao_adamw4bit",
    "bnb_adamw",
    "lamb"};

struct OptimizerAlias {
  std::string_view alias;
  Optimizer optimizer;
};

/// Names of transformers 5.24, training_args.py (OptimizerNames), whose
/// "adafactor" is torch.optim's here. Nesterov's momentum changes gradients in
/// place, so it has the memory of the plain one. apex's FusedAdam has states in
/// FP32 whatever the parameter's type (apex/optimizers/fused_adam.py), as
/// bitsandbytes' in 32 bits.
constexpr OptimizerAlias kOptimizerAliases[] = {
    {"nesterov", Optimizer::kMomentum},
    {"adamw_torch", Optimizer::kAdamW},
    {"adamw_8bit", Optimizer::kBnbAdamW8bit},
    {"bnb_adamw32bit", Optimizer::kBnbAdamW},
    {"adamw_apex_fused", Optimizer::kBnbAdamW},
    {"lamb_32bit", Optimizer::kLamb},
    {"paged_adamw_32bit", Optimizer::kPagedAdamW},
    {"paged_adamw_8bit", Optimizer::kPagedAdamW8bit},
    {"lion_32bit", Optimizer::kLion},
    {"lion_8bit", Optimizer::kLion8bit},
    {"paged_lion_32bit", Optimizer::kPagedLion},
    {"paged_lion_8bit", Optimizer::kPagedLion8bit},
    {"adamw_paged8bit", Optimizer::kPagedAdamW8bit},
    {"adamw4bit", Optimizer::kTorchaoAdamW4bit},
    {"adamw_torch_8bit", Optimizer::kTorchaoAdamW8bit},
    {"adamw_torch_4bit", Optimizer::kTorchaoAdamW4bit},
};
constexpr NameTable<2> kHostNames = {"python", "cpp"};

/// Reads ".NUMBER" off the front of `text`; leaves another text alone.
std::optional<int> TakePart(std::string_view& text) {
  if (!text.starts_with('.')) return std::nullopt;
  std::string_view rest = text.substr(1);
  const std::optional<int> number = TakeNumber<int>(rest);
  if (number) text = rest;
  return number;
}

bool IsDigit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// In alphabetical order, as documents have the fields.
void DescribeRun(JsonFields& fields, Run& run) {
  fields.Value("autocast", run.autocast);
  fields.Value("channels_last", run.channels_last);
  fields.Value("grad_mode", run.grad_mode);
  fields.Optional("half_group_norm", run.half_group_norm);
  fields.Optional("half_layer_norm", run.half_layer_norm);
  fields.Optional("half_weights", run.half_weights);
  fields.Named("host", run.host, kHostNames);
  fields.Named("mode", run.mode, &ModeName, &ParseMode);
  fields.Require(!run.grad_mode || run.mode != Mode::kTraining, "grad_mode",
                 "is true, expected false where mode is 'training'");
  fields.Named("optimizer", run.optimizer, kOptimizerNames);
  fields.Optional("power_limit_w", run.power_limit_w);
  fields.Named("precision", run.precision, &PrecisionName, &ParsePrecision);
  fields.Value("restore_folded_norms", run.restore_folded_norms);
  if (fields.IsGiven("runtime", run.runtime != RuntimeSpec{})) {
    fields.Named(
        "runtime", run.runtime,
        [](const RuntimeSpec& runtime) { return ToString(runtime); },
        &FindRuntime);
  }
  fields.Named(
      "torch", run.torch,
      [](const TorchVersion& version) { return ToString(version); },
      &ParseTorchVersion);
}

}  // namespace

std::string_view OptimizerName(Optimizer optimizer) {
  return NameIn(kOptimizerNames, optimizer);
}

bool HasFusedStep(Optimizer optimizer) {
  return HasListStep(optimizer) && optimizer != Optimizer::kRmsProp;
}

bool HasListStep(Optimizer optimizer) {
  return optimizer < Optimizer::kMuon && optimizer != Optimizer::kAdafactor;
}

bool HasForeignKernels(Optimizer optimizer) {
  return optimizer > Optimizer::kHfAdafactor;
}

Optimizer ParseOptimizer(std::string_view name) {
  std::string plain(name);
  std::ranges::replace(plain, '-', '_');
  const auto* const row =
      std::ranges::find(kOptimizerAliases, plain, &OptimizerAlias::alias);
  if (row != std::end(kOptimizerAliases)) return row->optimizer;
  return RequireIn<Optimizer>(kOptimizerNames, plain, "optimizer");
}

std::string_view HostName(Host host) { return NameIn(kHostNames, host); }

std::optional<Host> ParseHost(std::string_view name) {
  return FindIn<Host>(kHostNames, name);
}

TorchGeneration TorchVersion::Generation() const {
  if (major < 2) return TorchGeneration::kNoFusedAttention;
  const bool newest = major > 2 || minor >= 5;
  return newest ? TorchGeneration::kFloatAttentionFallback
                : TorchGeneration::kFusedAttention;
}

std::string ToString(const TorchVersion& version) {
  const std::string text = fmt::format("{}.{}", version.major, version.minor);
  return version.patch ? fmt::format("{}.{}", text, *version.patch) : text;
}

std::optional<TorchVersion> ParseTorchVersion(std::string_view text) {
  while (!text.empty() && !IsDigit(text.front())) text.remove_prefix(1);
  const std::optional<int> major = TakeNumber<int>(text);
  const std::optional<int> minor = TakePart(text);
  if (!major || !minor) return std::nullopt;
  return TorchVersion{
      .major = *major, .minor = *minor, .patch = TakePart(text)};
}

std::optional<DType> AutocastType(const Run& run) {
  if (!run.autocast) return std::nullopt;
  return run.precision == Precision::kBf16 ? DType::kBF16 : DType::kF16;
}

Precision UncastPrecision(const Run& run) {
  const bool casts =
      run.autocast && run.precision != Precision::kTf32 && !run.half_weights;
  return casts ? Precision::kFp32 : run.precision;
}

Run RunOf(const GraphInfo& info, const Run& run) {
  Run stated = run;
  stated.mode = info.mode;
  stated.precision = info.precision;
  stated.optimizer = FindIn<Optimizer>(kOptimizerNames, info.optimizer)
                         .value_or(run.optimizer);
  stated.autocast = info.autocast.has_value();
  stated.half_weights =
      stated.autocast && (info.precision == Precision::kBf16 ||
                          info.precision == Precision::kFp16);
  stated.grad_mode = info.grad_mode;
  stated.channels_last = info.channels_last;
  stated.runtime = info.runtime;
  return stated;
}

std::string RunToJson(const Run& run) {
  return WriteFields(run, &DescribeRun).dump();
}

Run RunFromJson(std::string_view json, const std::string& origin) {
  const nlohmann::json document = ParseJson(json, origin);
  return ReadFields<Run>(JsonObject(document, origin, ""), &DescribeRun);
}

}  // namespace foretell
