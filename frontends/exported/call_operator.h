#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace foretell::exported {

/// The operator that "torch.ops.aten.conv2d.default" names, if LibTorch has it.
std::optional<c10::OperatorHandle> FindOperator(const std::string& target);

/// "aten::conv2d" of "torch.ops.aten.conv2d.default"; empty for other targets.
std::string OperatorName(const std::string& target);

/// Values by the names that the schema has for them.
using NamedValues = std::vector<std::pair<std::string, c10::IValue>>;

/// Calls `op` as eager code would: missing arguments take the schema's
/// defaults, numbers instead of tensors become scalars without a device,
/// devices become `device`. Consumes `values`, so that the operator may hold
/// the last reference to a tensor. Throws Error(kCorrupt) for a value that does
/// not fit its argument.
std::vector<c10::IValue> CallOperator(const c10::OperatorHandle& op,
                                      NamedValues values,
                                      c10::DeviceType device);

}  // namespace foretell::exported
