#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace foretell {

/// What `torch.autocast("cuda", dtype)` does to a call: to its floating-point
/// arguments on the device, f64 excepted.
enum class AutocastPolicy : std::uint8_t {
  kLeave,     ///< Nothing; types promote as without autocast.
  kLower,     ///< Casts them to `dtype`, those of parameters once per region.
  kLowerAll,  ///< As kLower, but parameters are cast for every call.
  kFloat,     ///< Casts them to f32.
  kFloatResult,    ///< Asks for an f32 result, where the caller named no dtype.
  kFloatOverload,  ///< Calls the overload with a dtype for the result.
  kPromote,        ///< Casts them to the widest of their types.
  kRefused,        ///< PyTorch throws.
};

/// The policy of exactly this operator and overload: LibTorch's own lists
/// (ATen/autocast_mode.h of the version that is linked), and in addition the
/// recurrent layers, whose wrapper is part of cuDNN's
/// (aten/src/ATen/cudnn/AutocastRNN.cpp).
AutocastPolicy AutocastPolicyOf(const c10::OperatorHandle& op);

/// All rows, as "softmax.int", in LibTorch's order.
std::vector<std::pair<std::string, AutocastPolicy>> AutocastRules();

}  // namespace foretell
