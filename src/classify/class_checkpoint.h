#pragma once

#include <string>
#include <string_view>

#include "src/classify/ensemble.h"

namespace foretell::classify {

/// Version of the metadata; grows when an older foretell could not read it.
inline constexpr int kClassCheckpointSchema = 1;

/// The bytes of a sealed safetensors file: the weights under their names, and
/// what the ensemble is made of as JSON. Equal ensembles give equal bytes.
std::string SerializeEnsemble(const Ensemble& ensemble);

/// Reads such bytes; `origin` names them in errors. Throws Error: kCorrupt for
/// any damage, kUnsupported for a newer schema.
Ensemble ParseEnsemble(std::string_view bytes, const std::string& origin);

/// Reads a file; throws Error(kNotFound) and what ParseEnsemble throws.
Ensemble ReadEnsemble(const std::string& path);

}  // namespace foretell::classify
