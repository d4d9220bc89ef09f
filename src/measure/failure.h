#pragma once

#include <exception>
#include <string>

#include "foretell/measure.h"

namespace foretell::measure {

/// Meaning of an exception from LibTorch or foretell for a measurement.
struct Failure {
  MeasureStatus status = MeasureStatus::kFailed;
  std::string message;  ///< First line.
};
Failure Classify(const std::exception& error);

/// As Classify, from the message alone; kFailed if it fits no other status.
MeasureStatus StatusOfMessage(const std::string& message);

}  // namespace foretell::measure
