#pragma once

#include <string>
#include <string_view>

#include "foretell/predictor.h"

namespace foretell {

/// Reads a file of corrections into `options`: what `foretell adapt` made, or
/// `foretell calibrate`, by the document's "format". A document without one is
/// an adaptation. Throws what the format's reader throws, and Error(kCorrupt)
/// for another format.
void ReadCorrection(std::string_view json, const std::string& origin,
                    PredictorOptions& options);

}  // namespace foretell
