#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "foretell/plan.h"

namespace foretell::cli {

/// Version of the documents of `plan --json`.
inline constexpr int kPlanSchemaVersion = 1;

/// The largest value of an axis for which a step of a model fits.
struct PlannedModel {
  std::string model;
  std::string place;
  std::string axis;
  std::int64_t value = 0;  ///< 0: not even `smallest` fits.
  std::int64_t step = 1;
  std::int64_t smallest = 1;     ///< Smallest value that the model accepts.
  std::string smallest_refusal;  ///< Reason for accepting none below; or empty.
  bool is_limit = false;         ///< --limit ended the search.
  std::string refusal;  ///< Why the model accepts no larger value; or empty.
  double needed_mib =
      0;  ///< Upper end of the interval, at `value` or else at `smallest`.
  double memory_mib = 0;
  double usable_mib = 0;  ///< Memory without the margin.
  double device_mib = 0;  ///< Usable on the device, which may be less.
};

/// "zoo:resnet50 on a100-sxm4-40gb: batch 212 …", with a line of its memory.
std::string FormatPlannedModel(const PlannedModel& planned);
/// States that not even the smallest value fits, with both sizes.
std::string SmallestDoesNotFit(const PlannedModel& planned);
nlohmann::ordered_json PlannedModelToJson(const PlannedModel& planned);

/// A volume and its chunks.
struct PlannedVolume {
  Footprint footprint;
  ChunkRequest request;
  ChunkPlan plan;  ///< 0 chunks if not even the smallest block fits.
};

/// Dask's `chunks` argument, the chunks and the memory of a worker.
std::string FormatPlannedVolume(const PlannedVolume& planned);
nlohmann::ordered_json PlannedVolumeToJson(const PlannedVolume& planned);

/// The formula of a learned footprint, its errors and the runs that failed.
std::string FormatFootprint(const Footprint& footprint);

}  // namespace foretell::cli
