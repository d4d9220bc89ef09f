#pragma once

#include <string>

#include "src/core/files.h"

namespace foretell::converted {

/// Why a file is not of a format, in words that follow "is no X: "; empty if
/// its headers show no problem. Reads a few kilobytes, a JSON file completely.
/// Throws Error(kIo) if it cannot be read.
using FormatProblem = std::string (*)(const RegularFile& file);

/// @name Formats of other frameworks, checked before anything is installed
/// @{
std::string KerasProblem(const RegularFile& file);   ///< .keras
std::string Hdf5Problem(const RegularFile& file);    ///< .h5, .hdf5
std::string TfLiteProblem(const RegularFile& file);  ///< .tflite
/// Paddle 2's .pdmodel: a ProgramDesc of framework.proto.
std::string PaddleProblem(const RegularFile& file);
/// Paddle 3's .json.
std::string PaddleJsonProblem(const RegularFile& file);
/// saved_model.pb of a SavedModel.
std::string SavedModelProblem(const RegularFile& file);
/// config.json of a Hugging Face folder: names a model_type, and no code.
std::string ConfigProblem(const RegularFile& file);
/// @}

}  // namespace foretell::converted
