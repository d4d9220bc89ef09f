#include "src/recipes/recipe_flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "foretell/error.h"
#include "foretell/run.h"
#include "src/core/text.h"

namespace foretell::recipes {
namespace {

/// PEFT's targets if none are named, tuners' utils/constants.py, of the
/// decoders and encoders that foretell knows.
constexpr std::string_view kUsualTargets =
    "q_proj|v_proj|query_key_value|c_attn|qkv_proj|query|value";

/// Layers by the names that transformers gives them.
struct TargetRow {
  Setting setting;
  std::string_view layers;
};

constexpr TargetRow kMoreTargets[] = {
    {Setting::kQueryTarget, "q_proj|qkv_proj|query_key_value"},
    {Setting::kKeyTarget, "k_proj"},
    {Setting::kValueTarget, "v_proj"},
    {Setting::kOutTarget, "o_proj|dense"},
    {Setting::kMlpTargets,
     "gate_proj|up_proj|down_proj|gate_up_proj|fc1|fc2|dense_h_to_4h|"
     "dense_4h_to_h"},
    {Setting::kHeadTarget, "lm_head"},
};

struct KernelRow {
  Setting setting;
  std::string_view name;
};

constexpr KernelRow kKernels[] = {
    {Setting::kLiger, "liger"},
    {Setting::kRope, "rope"},
    {Setting::kRmsNorm, "rms-norm"},
    {Setting::kSwiglu, "swiglu"},
    {Setting::kCrossEntropy, "cross-entropy"},
    {Setting::kFusedLinear, "fused-linear-cross-entropy"},
};

/// What PEFT takes if a file states neither a rank nor a block,
/// tuners/*/config.py.
struct AdapterRow {
  std::string_view name;
  std::string_view rank;
  std::string_view block;
};

constexpr AdapterRow kAdapters[] = {
    {"lora", "8", ""}, {"ia3", "", ""},   {"vera", "256", ""},
    {"loha", "8", ""}, {"lokr", "8", ""}, {"oft", "", "32"},
    {"boft", "", "4"},
};

class FlagWriter {
 public:
  FlagWriter(const Settings& settings, std::optional<int> gpus)
      : settings_(settings),
        copies_(CopiesOf(gpus)),
        knows_gpus_(gpus.has_value() || settings.Has(Setting::kGpus) ||
                    settings.Has(Setting::kDataGpus) || GroupGpus() > 1) {}

  Recipe Write() && {
    recipe_.model = settings_.Get(Setting::kModel);
    AddMethod();
    AddBatches();
    Add("--seq-len", settings_.Get(Setting::kLength));
    AddOptimizer();
    AddPrecision();
    AddQuantization();
    if (settings_.Has(Setting::kTokens)) {
      AddTokens();
    } else if (adapts_) {
      AddLora();
    }
    AddMemorySavers();
    AddParallel();
    return std::move(recipe_);
  }

 private:
  int CountOr1(Setting setting) const {
    return std::max(settings_.Count(setting), 1);
  }
  /// GPUs that share a batch.
  int GroupGpus() const {
    return CountOr1(Setting::kTensorGpus) * CountOr1(Setting::kContextGpus);
  }

  /// GPUs, or groups of them that share a batch, on `gpus` if that is given,
  /// else on as many as the files state.
  int CopiesOf(std::optional<int> gpus) const {
    if (!gpus && settings_.Has(Setting::kDataGpus)) {
      return settings_.Count(Setting::kDataGpus);
    }
    if (!gpus && !settings_.Has(Setting::kGpus)) return 1;
    const int all = gpus.value_or(settings_.Count(Setting::kGpus));
    const int group = GroupGpus();
    if (all % group == 0) return all / group;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}, expected a multiple of {}, the GPUs that "
                            "share a batch",
                            gpus ? fmt::format("{} GPUs", all)
                                 : settings_.Describe(Setting::kGpus),
                            group));
  }

  bool Is(Setting setting, std::string_view value) const {
    return settings_.Is(setting, value);
  }
  bool IsOn(Setting setting) const { return Is(setting, "true"); }

  void Add(std::string_view name, const std::string& value) {
    if (!value.empty()) recipe_.flags.push_back({std::string(name), value});
  }
  void AddSwitch(std::string_view name) {
    recipe_.flags.push_back({std::string(name)});
  }

  void AddMethod() {
    if (!settings_.Has(Setting::kMethod)) {
      adapts_ = settings_.Has(Setting::kAdapter);
      return;
    }
    adapts_ = Is(Setting::kMethod, "lora") || settings_.Has(Setting::kAdapter);
    const bool is_qlora = adapts_ && Is(Setting::kBits, "4");
    Add("--method", is_qlora ? "qlora" : adapts_ ? "lora" : "full");
  }

  void AddBatches() {
    std::string batch = settings_.Get(Setting::kBatch);
    std::string accumulation = settings_.Get(Setting::kAccumulation);
    if (settings_.Has(Setting::kGlobalBatch)) {
      const bool has_steps = settings_.IsStated(Setting::kAccumulation);
      const std::int64_t steps =
          has_steps ? settings_.Count(Setting::kAccumulation) : 1;
      if (batch.empty()) {
        batch = ShareOfBatch(steps);
      } else if (!has_steps) {
        accumulation = ShareOfBatch(settings_.Count(Setting::kBatch));
      }
      if (!knows_gpus_) NoteOneGpu(Setting::kGlobalBatch);
    }
    Add("--batch", batch);
    accumulates_ = accumulation != "1" && !accumulation.empty();
    if (accumulates_) Add("--accumulate", accumulation);
  }

  /// The batch of all GPUs over `known`, the batch or the passes of each.
  std::string ShareOfBatch(std::int64_t known) const {
    const std::int64_t all = settings_.Count(Setting::kGlobalBatch);
    const std::int64_t parts = known * copies_;
    if (all % parts == 0) return fmt::format("{}", all / parts);
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}, expected a multiple of {}, {} for each of {} "
                    "{}",
                    settings_.Describe(Setting::kGlobalBatch), parts, known,
                    copies_, GroupGpus() > 1 ? "groups of GPUs" : "GPUs"));
  }

  void NoteOneGpu(Setting setting) {
    recipe_.left_out.push_back(
        fmt::format("{} (one GPU is assumed; --gpus states how many)",
                    settings_.Describe(setting)));
  }

  void AddOptimizer() {
    constexpr std::string_view kSuffix = "_fused";
    std::string name = settings_.Get(Setting::kOptimizer);
    if (name.empty()) return;
    bool is_fused = Is(Setting::kFused, "on");
    if (name.ends_with(kSuffix)) {
      name.resize(name.size() - kSuffix.size());
      is_fused = true;
    }
    try {
      const Optimizer optimizer = ParseOptimizer(name);
      Add("--optimizer", std::string(OptimizerName(optimizer)));
      if (is_fused && HasFusedStep(optimizer)) Add("--fused", "on");
      if (HasListStep(optimizer)) {
        Add("--foreach", settings_.Get(Setting::kForeach));
      }
    } catch (const Error&) {
      recipe_.left_out.push_back(
          fmt::format("optimizer {} (adamw is assumed)", name));
    }
  }

  /// accelerate's prepare_model holds shards of what is trained in FP32, and
  /// DeepSpeed's optimizers a copy, whatever type the weights were read in.
  bool WidensWeights() const {
    if (adapts_ || Is(Setting::kMaster, "false")) return false;
    const int sharing = copies_ * CountOr1(Setting::kContextGpus);
    const bool is_sharded = settings_.Has(Setting::kShard) && sharing > 1 &&
                            !Is(Setting::kShard, "ddp");
    return is_sharded || Is(Setting::kEngine, "deepspeed");
  }

  /// Whether trained weights have 32 bits and products run in 16.
  bool HasMasterWeights() const {
    if (adapts_ || Is(Setting::kMaster, "false")) return false;
    return IsOn(Setting::kMaster) || Is(Setting::kAmp, "fp16");
  }

  void AddPrecision() {
    const std::string& amp = settings_.Get(Setting::kAmp);
    std::string weights = settings_.Get(Setting::kWeights);
    if (!settings_.IsStated(Setting::kWeights) && !amp.empty()) {
      // A tool that loads weights in FP32 names it only for steps without amp.
      weights.clear();
    }
    if (weights == "fp32" && IsOn(Setting::kTf32)) weights = "tf32";
    const bool is_wide = weights == "fp32" || weights == "tf32";
    const bool is_autocast =
        !amp.empty() &&
        (is_wide || WidensWeights() || (HasMasterWeights() && weights.empty()));
    if (is_autocast) AddSwitch("--autocast");
    const bool is_amp = is_autocast || weights.empty();
    Add("--precision", is_amp ? amp : weights);
  }

  void AddQuantization() {
    const std::string& bits = settings_.Get(Setting::kBits);
    // A tool's default quantizes for adapters only.
    if (bits.empty() || (!adapts_ && !settings_.IsStated(Setting::kBits))) {
      return;
    }
    if (bits == "8") return Add("--quantize", "int8");
    std::string text = settings_.Get(Setting::kQuantType);
    if (text.empty()) text = "nf4";
    if (IsOn(Setting::kNested)) text += ",double";
    Add("--quantize", text);
  }

  std::string Targets() const {
    std::string targets = settings_.Get(Setting::kTargets);
    if (targets == kAllLayers || IsOn(Setting::kAllLinear)) {
      return std::string(kBlockLayers);
    }
    if (targets.starts_with('^')) return targets;
    for (const TargetRow& row : kMoreTargets) {
      if (!IsOn(row.setting)) continue;
      targets.append(targets.empty() ? "" : "|").append(row.layers);
    }
    if (targets.empty()) targets = kUsualTargets;
    // PEFT compares whole names: `dense` is not `dense_h_to_4h`.
    return fmt::format("\\b({})\\.", targets);
  }

  void AddLora() {
    const std::string& method = settings_.Get(Setting::kAdapter);
    const auto* const usual = std::ranges::find(
        kAdapters, method.empty() ? "lora" : method, &AdapterRow::name);
    // A tool's default rank is of LoRA.
    const bool has_rank =
        settings_.IsStated(Setting::kRank) ||
        (settings_.Has(Setting::kRank) && !usual->rank.empty());
    const bool is_sized = has_rank || settings_.Has(Setting::kBlock);
    const std::string rank(has_rank   ? settings_.Get(Setting::kRank)
                           : is_sized ? ""
                                      : usual->rank);
    const std::string block(is_sized ? settings_.Get(Setting::kBlock)
                                     : usual->block);
    std::string text = rank.empty() ? "" : fmt::format("r={},", rank);
    text += "targets=" + Targets();
    const auto add = [&text](std::string_view key, const std::string& value) {
      if (!value.empty()) text += fmt::format(",{}={}", key, value);
    };
    if (!Is(Setting::kDropout, "0")) {
      add("dropout", settings_.Get(Setting::kDropout));
    }
    const bool is_quantized = settings_.Has(Setting::kBits);
    const Setting type = is_quantized && !settings_.Has(Setting::kAdapterType)
                             ? Setting::kQuantizedAdapterType
                             : Setting::kAdapterType;
    add("type", settings_.Get(type));
    add("save", settings_.Get(Setting::kSave));
    add("bias", settings_.Get(Setting::kBias));
    if (IsOn(Setting::kDora)) text += ",dora";
    if (usual != std::begin(kAdapters)) add("method", method);
    if (method == "ia3") {
      add("feedforward", settings_.Get(Setting::kFeedforward));
    }
    add("block", block);
    add("factor", settings_.Get(Setting::kFactor));
    if (IsOn(Setting::kBoth)) text += ",both";
    Add("--lora", text);
  }

  void AddTokens() {
    const bool is_prefix = Is(Setting::kAdapter, "prefix");
    const bool has_encoder = is_prefix ? IsOn(Setting::kProjection)
                                       : Is(Setting::kAdapter, "ptuning");
    std::string text =
        fmt::format("method={},tokens={}", settings_.Get(Setting::kAdapter),
                    settings_.Get(Setting::kTokens));
    if (has_encoder && settings_.Has(Setting::kHidden)) {
      text += ",hidden=" + settings_.Get(Setting::kHidden);
    }
    Add("--lora", text);
  }

  void AddMemorySavers() {
    if (IsOn(Setting::kCheckpointing)) {
      Add("--recompute", "auto");
    } else if (settings_.Has(Setting::kCheckpointing)) {
      AddSwitch("--no-checkpointing");
    }
    if (IsOn(Setting::kInBackward)) AddSwitch("--optimizer-in-backward");
    std::vector<std::string> kernels;
    if (settings_.Has(Setting::kFloat8)) {
      kernels.push_back(settings_.Get(Setting::kFloat8));
    }
    for (const KernelRow& row : kKernels) {
      const bool is_part = row.setting != Setting::kLiger;
      if (!IsOn(row.setting)) continue;
      if (is_part && IsOn(Setting::kLiger)) continue;
      kernels.emplace_back(row.name);
    }
    const std::string chunks = ChunksOfLoss();
    if (!chunks.empty()) kernels.push_back("chunked-cross-entropy:" + chunks);
    Add("--kernels", Joined(kernels, ","));
  }

  std::string ChunksOfLoss() const {
    if (!settings_.Has(Setting::kLossChunk)) {
      return settings_.Get(Setting::kChunkedLoss);
    }
    const int tokens = settings_.Count(Setting::kLength);
    const int chunk = settings_.Count(Setting::kLossChunk);
    return tokens > chunk ? fmt::format("{}", (tokens + chunk - 1) / chunk)
                          : "";
  }

  void AddParallel() {
    const std::string group = GroupPlan();
    std::string kind = settings_.Get(Setting::kShard);
    // GPUs that share sequences shard parameters among themselves, too.
    const bool shards_group =
        CountOr1(Setting::kContextGpus) > 1 && !kind.empty() && kind != "ddp";
    if (copies_ < 2 && !shards_group) {
      Add("--parallel", group);
      if (!knows_gpus_ && !kind.empty() && kind != "ddp" &&
          settings_.IsStated(Setting::kShard)) {
        NoteOneGpu(Setting::kShard);
      }
      return;
    }
    if (kind.empty()) kind = "ddp";
    if (kind == "fsdp" && Is(Setting::kShardVersion, "1")) kind = "fsdp1";
    if (kind.starts_with("fsdp") && IsOn(Setting::kGathered)) kind = "zero2";
    if (!adapts_ && Is(Setting::kEngine, "deepspeed") &&
        kind.starts_with("zero")) {
      recipe_.left_out.push_back(
          "weights in 16 bits next to DeepSpeed's sharded FP32 copies (FP32 "
          "weights are assumed)");
    }
    const bool is_offloaded =
        kind.starts_with("fsdp") && IsOn(Setting::kShardOffload);
    Add("--parallel",
        fmt::format("{}{}{}:{}{}{}", group, group.empty() ? "" : "+", kind,
                    copies_, is_offloaded ? ",cpu-offload" : "",
                    HoldsGradients(kind) ? ",no-sync" : ""));
  }

  /// By which GPUs share a batch; empty: each has its own.
  std::string GroupPlan() const {
    const int layers = CountOr1(Setting::kTensorGpus);
    const int sequences = CountOr1(Setting::kContextGpus);
    if (layers > 1 && sequences > 1) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("{}, and {}: shared layers and sequences are not "
                              "modelled together",
                              settings_.Describe(Setting::kTensorGpus),
                              settings_.Describe(Setting::kContextGpus)));
    }
    if (layers > 1) return fmt::format("tp:{}", layers);
    if (sequences < 2) return "";
    const bool rotates = settings_.Has(Setting::kRotation);
    return fmt::format("cp:{}{}", sequences, rotates ? ",all-to-all" : "");
  }

  /// accelerate's accumulate() runs all batches but the last in no_sync();
  /// DeepSpeed, torchtune and torchtitan reduce those of each.
  bool HoldsGradients(std::string_view kind) const {
    const bool is_sharded = kind.starts_with("fsdp") || kind == "zero2";
    return accumulates_ && is_sharded && !IsOn(Setting::kSyncsEach) &&
           !Is(Setting::kEngine, "deepspeed");
  }

  const Settings& settings_;
  int copies_;  ///< GPUs, or groups of them that share a batch.
  bool knows_gpus_;
  bool adapts_ = false;
  bool accumulates_ = false;
  Recipe recipe_;
};

}  // namespace

Recipe RecipeOf(const Settings& settings, std::optional<int> gpus) {
  return FlagWriter(settings, gpus).Write();
}

}  // namespace foretell::recipes
