#pragma once

#include <string>

#include "foretell/serving.h"

namespace foretell::cli {

/// What `foretell kv-cache` says of one decoder.
struct ServingAnswer {
  std::string model;
  std::string device;
  Decoder decoder;
  ServingRequest request;
  ServingPlan plan;
};

std::string FormatServing(const ServingAnswer& answer);
/// docs/json_output.md describes it.
std::string FormatServingJson(const ServingAnswer& answer);

}  // namespace foretell::cli
