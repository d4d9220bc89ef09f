// Which flags go with which, for all commands in one table: a flag that has no
// effect is a user error that would otherwise go unnoticed.
// CLI11's needs() knows neither values ("--mode training") nor alternatives.
#include "cli/flags/partners.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/flags/pass_flags.h"
#include "foretell/parallel.h"
#include "foretell/runtime.h"
#include "src/core/failure.h"
#include "src/core/text.h"
#include "src/graph/parallel_plan.h"

namespace foretell::cli {
namespace {

/// What was given to one command.
class Given {
 public:
  explicit Given(const CLI::App& command) : command_(command) {}

  bool Has(const std::string& flag) const {
    const CLI::Option* option = command_.get_option_no_throw(flag);
    return option != nullptr && IsGiven(*option);
  }
  /// Values of a flag or a positional; its default where it was not given.
  std::vector<std::string> Values(const std::string& flag) const {
    const CLI::Option* option = command_.get_option_no_throw(flag);
    if (option == nullptr) return {};
    if (!option->empty()) return option->results();
    return {option->get_default_str()};
  }
  bool Is(const std::string& flag, std::string_view value) const {
    return std::ranges::count(Values(flag), value) > 0;
  }
  bool Trains() const {
    return Is("--mode", "training") || command_.get_name() == "finetune";
  }

  static bool IsGiven(const CLI::Option& option) {
    return !option.empty() && ValueOf(option) != option.get_default_str();
  }
  /// "--link 300"; "--strict"; the words of a positional.
  static std::string WordsOf(const CLI::Option& option) {
    if (option.get_positional()) return ValueOf(option);
    const bool is_switch = option.get_expected_max() == 0;
    return is_switch ? option.get_name()
                     : fmt::format("{} {}", option.get_name(), ValueOf(option));
  }

 private:
  static std::string ValueOf(const CLI::Option& option) {
    return fmt::format("{}", fmt::join(option.results(), ","));
  }

  const CLI::App& command_;
};

bool RunsInTurn(const Given& given) {
  return given.Has("--lengths") || given.Has("--evaluate") ||
         given.Is("MODEL", kAnd);
}

using Condition = std::function<bool(const Given& given)>;

/// At least one of the flags is given.
Condition With(std::vector<std::string> flags) {
  return [flags = std::move(flags)](const Given& given) {
    return std::ranges::any_of(
        flags, [&](const std::string& flag) { return given.Has(flag); });
  };
}
/// None of the flags is given.
Condition Without(std::vector<std::string> flags) {
  return std::not_fn(With(std::move(flags)));
}

constexpr std::string_view kAllBut = "all but ";

/// When flags have an effect.
struct PartnerRow {
  /// "mig pack"; empty: every command that has the flags.
  std::string_view command;
  std::string_view flags;  ///< Those that are meant, or kAllBut the others.
  Condition count;
  std::string_view why;  ///< The message if they do not.
};

const std::vector<PartnerRow>& Rows() {
  using G = const Given&;
  constexpr std::string_view kTraining = "needs --mode training";
  static const std::string kShared = fmt::format(
      "is for one GPU, compile also for {}, and without --offload-activations",
      CompiledPlans());
  static const std::vector<PartnerRow> kPartners = {
      {"",
       "--optimizer --foreach --fused --set-to-none --late-zero-grad "
       "--optimizer-in-backward --offload-optimizer --offload-activations "
       "--loss-in-function --step-in-function --accumulate --trainable --lora "
       "--input-grad --recompute --try-trainable --try-lora --evaluate",
       &Given::Trains, kTraining},
      {"", "--parallel",
       [](G given) {
         const auto values = given.Values("--parallel");
         return given.Trains() ||
                SharesInference(ParseParallel("--parallel", values.front()));
       },
       kTraining},
      {"", "--runtime",
       [](G given) {
         if (given.Is("--runtime", "eager")) return true;
         if (given.Has("--offload-activations")) return false;
         if (!given.Has("--parallel")) return true;
         const auto runtimes = given.Values("--runtime");
         const auto plans = given.Values("--parallel");
         return CanShareStep(
             ParseRuntime("--runtime", runtimes.front()).runtime,
             ParseParallel("--parallel", plans.front()));
       },
       kShared},
      {"", "--runtime",
       [](G given) {
         const auto values = given.Values("--runtime");
         return !given.Trains() || (!values.front().starts_with("onnx") &&
                                    !values.front().starts_with("tensor"));
       },
       "trains in eager or compile alone"},
      {"", "--half-weights", With({"--autocast"}), "needs --autocast"},
      {"", "--grad --keep-result",
       [](G given) {
         return !given.Trains() || given.Is("--mode", "inference");
       },
       "applies to inference; leave it out with --mode training"},
      {"", "--link", With({"--parallel"}),
       "applies to the GPUs of --parallel; add --parallel"},
      {"", "--profile", Without({"--parallel"}),
       "is a MIG instance, and the GPUs of --parallel use NCCL, which does not "
       "span MIG instances"},
      {"", "--parallel --html", std::not_fn(&RunsInTurn),
       "is for one step, not for --lengths, --evaluate or networks with '+'"},
      {"", "--lengths --evaluate",
       [](G given) {
         return !given.Is("MODEL", kAnd) &&
                !(given.Has("--lengths") && given.Has("--evaluate"));
       },
       "one of --lengths, --evaluate and networks with '+'"},
      {"mig pack", "--parallel", [](G) { return false; },
       "uses NCCL, which does not span MIG instances"},
      {"", "--strict", With({"--max-latency", "--max-energy"}),
       "applies to --max-latency and --max-energy; add one of them"},
      {"", "--timeout", [](G given) { return !given.Is("--sandbox", "off"); },
       "limits a sandbox; --sandbox off disables it"},
      {"", "--markdown", Without({"--json"}),
       "conflicts with --json: only one output format is possible"},
      {"diff", "all but --modules --json --html",
       [](G given) {
         return !std::ranges::all_of(
             given.Values("MODEL"),
             [](const std::string& name) { return name.ends_with(".json"); });
       },
       "applies to predictions, and both sides are saved answers"},
      {"finetune", "--gpus", With({"--config"}),
       "applies to --config; --parallel ddp:N or fsdp:N shares a step"},
      {"measure", "--energy-repeats", With({"--energy"}),
       "applies to energy measurements; add --energy"},
      {"mig layouts", "--json", With({"--count"}),
       "only counts are printed as JSON; add --count"},
      {"mig layouts", "--all --with", Without({"--count"}),
       "selects listed layouts; --count counts all of them"},
      {"mig pack",
       "all but --job --device --device-file --max-devices "
       "--media-extensions --format --html",
       With({"MODEL"}), "applies to predictions; name a model"},
      {"zoo list", "--count", With({"--sweep"}),
       "counts the points of a sweep; add --sweep"},
      {"fit", "all but --judge --target --json", Without({"--judge"}),
       "applies to fitting; --judge fits nothing"},
      {"fit",
       "all but --judge --target --columns --method --held-out --seed "
       "--population --generations --out --json",
       With({"--sweep"}), "applies to a sweep; add --sweep"},
      {"fit", "--columns --held-out", Without({"--sweep"}),
       "applies to a table; with --sweep use --points and --checks"},
      {"fit", "--population --generations",
       [](G given) {
         return !given.Has("--method") || given.Is("--method", "symbolic");
       },
       "applies to the search for formulas; add --method symbolic"},
      {"plan", "--axes --runs --deadline --seed --note --out", With({"--run"}),
       "applies to learning a footprint; add --run"},
      {"plan", "--memory --margin --align",
       [](G given) { return !given.Has("--run") || given.Has("--shape"); },
       "sets what must fit; --run alone learns a footprint; add --shape"},
      {"plan", "--dtype --halo --whole --array --align",
       With({"--shape", "--run"}),
       "applies to the chunks of a volume; add --shape"},
      {"plan",
       "all but --memory --margin --json --shape --dtype --align --halo "
       "--whole --array --footprint --run --axes --runs --deadline --seed "
       "--note --out",
       Without({"--shape", "--run"}), "applies to models; this plans no model"},
      {"plan", "WHAT", Without({"--footprint"}),
       "names an algorithm; --footprint names one already"},
      {"plan", "--batch", [](G given) { return !given.Is("--axis", "batch"); },
       "fixes the batch while another axis grows; --axis is batch"},
      {"calibrate", "--seed", With({"--checks", "--random"}),
       "applies to --checks and --random; add one of them"},
      {"dataset split", "--family",
       [](G given) { return given.Is("--kind", "family"); },
       "applies to --kind family; add it"},
      {"train",
       "all but --resume --epochs --patience --dataset --threads --cache-mib "
       "--worker-timeout",
       Without({"--resume"}), "is stored in the run that --resume continues"},
  };
  return kPartners;
}

/// Words of the flags of `row` that were given to `command`.
std::vector<std::string> WordsOf(const PartnerRow& row,
                                 const CLI::App& command) {
  const bool all_but = row.flags.starts_with(kAllBut);
  const std::string listed = fmt::format(" {} ", row.flags);
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    const bool is_listed =
        listed.find(fmt::format(" {} ", option->get_name())) !=
        std::string::npos;
    if (all_but && option->get_positional()) continue;
    if (is_listed != all_but && Given::IsGiven(*option)) {
      words.push_back(Given::WordsOf(*option));
    }
  }
  return words;
}

void RequirePartnersOf(const CLI::App& command, const std::string& name) {
  const Given given(command);
  for (const PartnerRow& row : Rows()) {
    if (!row.command.empty() && row.command != name) continue;
    const std::vector<std::string> words = WordsOf(row, command);
    if (words.empty() || row.count(given)) continue;
    throw InvalidArgument("{}: {}", Joined(words), row.why);
  }
}

/// `path` is the command's name with those that it stands under: "mig pack".
void RequirePartnersBelow(const CLI::App& app, const std::string& path) {
  for (const CLI::App* command : app.get_subcommands()) {
    const std::string name =
        path.empty() ? command->get_name() : path + " " + command->get_name();
    RequirePartnersOf(*command, name);
    RequirePartnersBelow(*command, name);
  }
}

}  // namespace

void RequirePartners(const CLI::App& app) { RequirePartnersBelow(app, ""); }

}  // namespace foretell::cli
