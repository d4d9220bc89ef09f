#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <utility>

#include "cli/commands/plan_options.h"
#include "cli/flags/model_options.h"
#include "cli/print/print_plan.h"
#include "cli/print/progress_bar.h"
#include "foretell/error.h"
#include "foretell/plan.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"
#include "src/core/text.h"
#include "src/plan/explore.h"
#include "src/plan/run_block.h"

namespace foretell::cli {
namespace {

constexpr char kDefaultDType[] = "f64";  ///< NumPy's default.
/// Name of a footprint for which the command line gives none.
constexpr char kUnnamed[] = "command";

/// --halo by axis. Throws Error(kInvalidArgument) for a wrong number of values.
std::vector<std::int64_t> HaloOf(const PlanOptions& options,
                                 const std::vector<std::string>& axes) {
  if (options.halo.size() == 1) {
    return std::vector<std::int64_t>(axes.size(), options.halo.front());
  }
  if (options.halo.size() == axes.size()) return options.halo;
  throw InvalidArgument("--halo has {} numbers, expected 1 or {}: {}",
                        options.halo.size(), axes.size(), Joined(axes));
}

/// `names`, which `flag` gives. Throws Error(kInvalidArgument) for one that is
/// not an axis.
std::vector<std::string> AxesOf(const Footprint& footprint,
                                std::string_view flag,
                                std::vector<std::string> names) {
  for (const std::string& name : names) {
    if (std::ranges::count(footprint.axes, name) > 0) continue;
    throw InvalidArgument("{} {}: no axis of {}, which has {}", flag, name,
                          footprint.algorithm, Joined(footprint.axes));
  }
  return names;
}

/// Lets --halo, --whole and --array override the footprint.
void ApplyGeometry(const PlanOptions& options, Footprint& footprint) {
  if (!options.halo.empty()) {
    footprint.halo = HaloOf(options, footprint.axes);
  }
  if (!options.whole.empty()) {
    footprint.whole = AxesOf(footprint, "--whole", options.whole);
  }
  if (!options.arrays.empty()) footprint.arrays.clear();
  for (const std::string& array : options.arrays) {
    footprint.arrays.push_back(
        AxesOf(footprint, "--array", CLI::detail::split(array, ',')));
  }
}

Footprint StoredFootprint(const PlanOptions& options) {
  Footprint footprint =
      FootprintFromJson(ReadText(options.footprint), options.footprint);
  if (!options.dtype.empty() && options.dtype != footprint.dtype) {
    throw InvalidArgument("{}: is of dtype '{}', and --dtype is '{}'",
                          options.footprint, footprint.dtype, options.dtype);
  }
  return footprint;
}

Footprint FootprintOf(const PlanOptions& options) {
  if (!options.footprint.empty()) return StoredFootprint(options);
  return BuiltInFootprint(
      options.what(), options.dtype.empty() ? kDefaultDType : options.dtype);
}

/// Reports what is wrong with the flags of a volume before blocks are run.
void RequireGeometry(const PlanOptions& options,
                     const std::vector<surrogate::Axis>& axes) {
  Footprint footprint;
  footprint.algorithm = options.what().empty() ? kUnnamed : options.what();
  for (const surrogate::Axis& axis : axes) footprint.axes.push_back(axis.name);
  ApplyGeometry(options, footprint);
  if (options.shape.empty() || options.shape.size() == axes.size()) return;
  throw InvalidArgument("--shape has {}, expected {}: {}",
                        Counted(options.shape.size(), "dimension"), axes.size(),
                        Joined(footprint.axes));
}

Footprint LearnFootprint(const PlanOptions& options) {
  if (options.axes.empty()) {
    throw InvalidArgument("--run needs --axes, the range of blocks to run");
  }
  const std::vector<surrogate::Axis> axes =
      surrogate::ParseAxes(options.axes, "--axes");
  RequireGeometry(options, axes);
  if (!options.out.empty()) RequireWritable(options.out);
  ProgressBar progress;
  Footprint footprint = plan::ExploreFootprint(
      {.axes = axes,
       .runs = options.runs,
       .seed = options.seed,
       .on_run =
           [&](int done, const std::vector<std::int64_t>& shape) {
             progress.Show(done, options.runs, 0,
                           fmt::format("{}", fmt::join(shape, ",")));
           }},
      [&](const std::vector<std::int64_t>& shape) {
        return plan::MeasurePeak(options.run, shape, options.deadline_s);
      });
  footprint.algorithm = options.what().empty() ? kUnnamed : options.what();
  footprint.dtype = options.dtype;
  footprint.command = options.run;
  footprint.source = options.note;
  ApplyGeometry(options, footprint);
  return footprint;
}

/// Warns if the runs were too small for what will be planned by them.
void WarnOfSmallRuns(const Footprint& footprint, double margin) {
  const double error = ErrorOfGrowth(footprint);
  if (error <= margin) return;
  const std::string known = std::isfinite(error)
                                ? fmt::format("known to {:.0f} %", 100 * error)
                                : "not known";
  PrintNote(
      fmt::format("note: the memory of a larger block is {}, and the margin is "
                  "{:g} %: the blocks that ran need too little memory compared "
                  "with the process itself; run larger ones (--axes)",
                  known, 100 * margin));
}

ExitCode PlanBy(const PlanOptions& options, Footprint footprint) {
  ChunkRequest request{.shape = options.shape,
                       .memory_bytes = options.memory_bytes(),
                       .margin = options.margin,
                       .align = options.align};
  PlannedVolume planned{std::move(footprint), std::move(request), {}};
  try {
    planned.plan = PlanChunk(planned.footprint, planned.request);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    if (options.json) {
      planned.plan.usable_bytes =
          (1 - options.margin) * static_cast<double>(options.memory_bytes());
      std::cout << DumpJson(PlannedVolumeToJson(planned)) << "\n";
    }
    PrintError(error.what());
    return kExitDoesNotFit;
  }
  if (options.json) {
    std::cout << DumpJson(PlannedVolumeToJson(planned)) << "\n";
  } else {
    std::cout << FormatPlannedVolume(planned);
  }
  return kExitOk;
}

}  // namespace

ExitCode PlanByRuns(const PlanOptions& options) {
  const Footprint footprint = LearnFootprint(options);
  WarnOfSmallRuns(footprint, options.margin);
  const std::string document = FootprintToJson(footprint);
  if (!options.out.empty()) WriteWhole(options.out, document);
  if (!options.shape.empty()) return PlanBy(options, footprint);
  std::cout << (options.json ? document : FormatFootprint(footprint));
  return kExitOk;
}

ExitCode PlanVolume(const PlanOptions& options) {
  Footprint footprint = FootprintOf(options);
  ApplyGeometry(options, footprint);
  return PlanBy(options, std::move(footprint));
}

}  // namespace foretell::cli
