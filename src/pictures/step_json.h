#pragma once

#include <nlohmann/json_fwd.hpp>

#include "foretell/device.h"
#include "foretell/graph.h"
#include "src/judge/report.h"
#include "src/pictures/memory_timeline.h"

namespace foretell::pictures {

/// The document of one answer's page: "schema_version", "result"
/// (ReportToJson), "device", "memory_over_step", "modules" and "kernels" of the
/// step of `graph`, which `report` is of. docs/json_output.md has the fields.
/// With the default `limits` at most a few hundred KB, however large the graph.
/// Errors as EstimateCost.
nlohmann::ordered_json StepToJson(const Report& report,
                                  const OperatorGraph& graph,
                                  const DeviceSpec& device,
                                  const TimelineLimits& limits = {});

}  // namespace foretell::pictures
