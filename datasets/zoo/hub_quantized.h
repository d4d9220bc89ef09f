#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace foretell::zoo {

/// A sentence about the quantization_config of a config.json: which --quantize
/// holds its weights as transformers loads them, or that they are held in the
/// type of the others, as mxfp4 is in training
/// (quantizers/quantizer_mxfp4.py of transformers 4.57). Weights are predicted
/// in 16 bits until that flag is given.
std::string DescribeQuantization(const nlohmann::json& quantization);

}  // namespace foretell::zoo
