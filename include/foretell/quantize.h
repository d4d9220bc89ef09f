#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace foretell {

/// How the weights of linear layers are held.
enum class QuantFormat : std::uint8_t {
  kUnquantized,  ///< As the network has them.
  kNf4,          ///< bitsandbytes, 4-bit NormalFloat in blocks of 64.
  kFp4,          ///< The same with 4-bit floating-point numbers.
  kInt8,         ///< bitsandbytes, LLM.int8(): one scale per row.
  kGptq,  ///< GPTQ's layers with a Triton kernel that reads packed weights.
  kAwq,   ///< AWQ, 4 bits; the layer is unpacked for every product.
  kFp8,   ///< float8_e4m3fn with one scale; unpacked for every product.
};

/// The value of `--quantize`: frozen linear layers with few bits per weight.
struct QuantizeSpec {
  QuantFormat format = QuantFormat::kUnquantized;
  int bits = 4;  ///< Of kGptq: 4 or 8.
  /// kNf4 and kFp4: the blocks' scales are quantised, too
  /// (bnb_4bit_use_double_quant).
  bool nested = false;
  int group = 128;  ///< Rows that share a scale in kGptq and kAwq.
  /// kNf4 and kFp4: the layer keeps its input for the backward pass, as
  /// bitsandbytes before 0.43.2 does (its pull request 1270): as an attribute
  /// of the step's history, so a loop that holds its loss through the next
  /// forward pass holds the inputs, too.
  bool keeps_input = false;
  /// kNf4 and kFp4: the weights were quantized from FP16, so each comes out of
  /// its 4 bits in FP16 and is then cast to the type of computation, a second
  /// matrix (QuantState.dtype of bitsandbytes; Lightning quantizes from FP16
  /// whatever the precision, lightning/fabric/plugins/precision/
  /// bitsandbytes.py).
  bool from_half = false;
  /// Regular expression (RE2); layers in whose weights' names it is found keep
  /// their weights. Empty: the layer that computes the network's last product.
  std::string skip = {};

  bool operator==(const QuantizeSpec&) const = default;
};

/// "nf4", "nf4,double", "fp4,keep-input", "gptq:4,group=128", "awq:4", "int8",
/// "fp8,skip=lm_head"; empty for kUnquantized.
std::string ToString(const QuantizeSpec& spec);
/// Reads what ToString writes; `skip=` comes last and takes the rest. Throws
/// Error(kInvalidArgument) that begins with `flag` and lists what there is.
QuantizeSpec ParseQuantize(std::string_view flag, std::string_view text);

}  // namespace foretell
