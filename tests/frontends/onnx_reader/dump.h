#pragma once

#include <string>

#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// Everything in `model` as text, one line per part; the elements of tensors
/// and how they are held only on request.
std::string Dump(const Model& model, bool with_payloads);

}  // namespace foretell::onnx
