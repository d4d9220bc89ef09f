#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "frontends/onnx/node_context.h"

/// Helpers shared by lowerings of several families.
namespace foretell::onnx {

/// `axis` counted from the front. Throws kCorrupt outside [-rank, rank); a
/// tensor without dimension counts as rank 1 here, as ATen does.
std::int64_t NormalizeAxis(const NodeContext& ctx, std::int64_t axis,
                           std::int64_t rank);
/// The same of attribute `axis`, or of `fallback` without it.
std::int64_t AxisAttribute(const NodeContext& ctx, std::int64_t fallback,
                           std::int64_t rank);
/// As NormalizeAxis for each of `axes`; kCorrupt when one is given twice.
std::vector<std::int64_t> NormalizeAxes(const NodeContext& ctx,
                                        std::vector<std::int64_t> axes,
                                        std::int64_t rank);

/// An integer list that newer versions of an operator have as input `input` and
/// older ones as attribute `name`; empty optional when neither is given.
std::optional<std::vector<std::int64_t>> IntsInputOrAttribute(
    NodeContext& ctx, size_t input, std::string_view name);

/// Input 1 of a binary operator whose input 0 is `first`, ready to broadcast
/// against it. Before version 7 attribute `axis` names the dimension of `first`
/// that its own first one belongs to; since then both align at the last one.
at::Tensor SecondOperand(NodeContext& ctx, const at::Tensor& first);

/// The numbers 0 … count - 1.
std::vector<std::int64_t> Iota(std::int64_t count);
/// Product of `dims`, 1 for an empty list.
std::int64_t Product(at::IntArrayRef dims);

/// The single element of a host tensor as a number of its own kind (integer,
/// Boolean or floating point).
at::Scalar HostScalar(NodeContext& ctx, size_t input);

/// A view of a weight as the layer stores it, not an operation of the network.
at::Tensor ViewOfWeight(const at::Tensor& weight,
                        at::Tensor (*view)(const at::Tensor&));

/// A host tensor on `device`. The copy is not traced as an operator: it
/// represents a table that the network stores.
at::Tensor MovedTo(const at::Tensor& host, at::Device device);

/// `y`, the result of the operator that eager PyTorch would run, with the
/// values that `exact` computes. They are computed only on devices with values,
/// so not on meta, and are not traced.
at::Tensor WithValues(at::Tensor y, const std::function<at::Tensor()>& exact);

/// Throws kUnsupported unless `tensor` has values: they decide the shape of the
/// node's result, and tensors on the meta device have no values.
void RequireData(const NodeContext& ctx, const at::Tensor& tensor);

/// Throws kUnsupported: `attribute 'name' = 'value' is not supported`.
[[noreturn]] void FailAttribute(const NodeContext& ctx, std::string_view name,
                                std::string_view value);

}  // namespace foretell::onnx
