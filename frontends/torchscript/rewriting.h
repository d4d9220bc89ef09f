#pragma once

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <functional>
#include <optional>
#include <string>

namespace foretell::torchscript {

/// Calls `visit` on every node of every function of the code of `module`, those
/// in blocks before the node that has them. `visit` may destroy its node and
/// insert others.
void ForEachNode(const torch::jit::Module& module,
                 const std::function<void(torch::jit::Node&)>& visit);

/// Replaces `node` by one of foretell's own operators ("foretell::slice"), with
/// the same inputs and outputs, and destroys `node`.
void ReplaceBy(const std::string& name, torch::jit::Node& node);

/// Inserts one of foretell's own operators, with inputs and no result, before
/// `next`.
void InsertBefore(const std::string& name, torch::jit::Node& next,
                  at::ArrayRef<torch::jit::Value*> inputs);

/// Number or flag that `value` always is; empty where it is computed.
std::optional<c10::IValue> ConstantOf(const torch::jit::Value& value);

/// Name of a class without what LibTorch adds to distinguish two of the same
/// name ("___torch_mangle_3."); empty for other types.
std::string ClassNameOf(const c10::Type& type);

}  // namespace foretell::torchscript
