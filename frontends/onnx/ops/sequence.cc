#include <ATen/ATen.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "src/core/numbers.h"
#include "src/program/call_checks.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

at::Tensor HostBool(bool value) {
  return at::scalar_tensor(value, at::TensorOptions().dtype(at::kBool));
}

/// Position input `i`, or `fallback` when absent, counted from the front of a
/// sequence that has `size` places.
std::int64_t PositionInput(NodeContext& ctx, size_t i, size_t size,
                           std::int64_t fallback) {
  const auto places = static_cast<std::int64_t>(size);
  const std::int64_t given = ctx.Has(i) ? ctx.Int(i) : fallback;
  if (given < -places || given >= places) {
    ctx.Fail(ErrorCode::kInvalidArgument, "position {} of a sequence of {}",
             given, places);
  }
  return given < 0 ? given + places : given;
}

// ---- Sequences -------------------------------------------------------------

void LowerSequenceConstruct(NodeContext& ctx) {
  Sequence sequence;
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    sequence.push_back(ctx.Tensor(i));
  }
  ctx.Set(0, std::move(sequence));
}

void LowerSequenceEmpty(NodeContext& ctx) { ctx.Set(0, Sequence{}); }

void LowerSequenceAt(NodeContext& ctx) {
  const Sequence sequence = ctx.SequenceInput(0);
  const std::int64_t position = PositionInput(ctx, 1, sequence.size(), 0);
  ctx.Set(0, sequence[static_cast<size_t>(position)]);
}

void LowerSequenceInsert(NodeContext& ctx) {
  Sequence sequence = ctx.SequenceInput(0);
  const auto length = static_cast<std::int64_t>(sequence.size());
  // The end is a place too, but negative positions count whole elements.
  std::int64_t position = ctx.Has(2) ? ctx.Int(2) : length;
  if (position < 0) position += length;
  if (position < 0 || position > length) {
    ctx.Fail(ErrorCode::kInvalidArgument, "position {} of a sequence of {}",
             position, length);
  }
  sequence.insert(sequence.begin() + position, ctx.Tensor(1));
  ctx.Set(0, std::move(sequence));
}

void LowerSequenceErase(NodeContext& ctx) {
  Sequence sequence = ctx.SequenceInput(0);
  sequence.erase(sequence.begin() + PositionInput(ctx, 1, sequence.size(), -1));
  ctx.Set(0, std::move(sequence));
}

void LowerSequenceLength(NodeContext& ctx) {
  ctx.Set(0, at::scalar_tensor(
                 static_cast<std::int64_t>(ctx.SequenceInput(0).size()),
                 at::TensorOptions().dtype(at::kLong)));
}

// ---- Splitting and joining -------------------------------------------------

void RefuseManyParts(NodeContext& ctx, std::int64_t length) {
  const bool is_scalar = ctx.Has(1) && ctx.Host(1).dim() == 0;
  if (ctx.Has(1) && !is_scalar) return;
  const std::int64_t chunk = is_scalar ? ctx.Int(1) : 1;
  if (chunk <= 0 || length / chunk <= kMaxParts) return;
  ctx.Fail(ErrorCode::kUnsupported, "splits into {}, at most {} are accepted",
           Counted(length / chunk, "part"), kMaxParts);
}

/// Sizes of the parts that SplitToSequence makes of an axis of `length`.
Ints PartSizes(NodeContext& ctx, std::int64_t length) {
  if (!ctx.Has(1)) return Ints(static_cast<size_t>(length), 1);
  const Ints split = ctx.Ints(1);
  if (ctx.Host(1).dim() > 0) return split;
  const std::int64_t chunk = split.front();
  ctx.Check(chunk > 0, "split is {}", chunk);
  Ints sizes;
  for (std::int64_t first = 0; first < length; first += chunk) {
    sizes.push_back(std::min(chunk, length - first));
  }
  return sizes;
}

void LowerSplitToSequence(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const std::int64_t axis = AxisAttribute(ctx, 0, x.dim());
  RefuseManyParts(ctx, x.size(axis));
  Sequence parts = at::split_with_sizes(x, PartSizes(ctx, x.size(axis)), axis);
  if (!ctx.Has(1) && ctx.IntAttribute("keepdims", 1) == 0) {
    for (at::Tensor& part : parts) part = part.squeeze(axis);
  }
  ctx.Set(0, std::move(parts));
}

void LowerConcatFromSequence(NodeContext& ctx) {
  const Sequence parts = ctx.SequenceInput(0);
  ctx.Check(!parts.empty(), "the sequence is empty");
  ctx.RequireAttribute("axis", Attribute::Kind::kInt);
  const bool stacks = ctx.IntAttribute("new_axis", 0) != 0;
  const std::int64_t axis =
      AxisAttribute(ctx, 0, parts.front().dim() + (stacks ? 1 : 0));
  ctx.Set(0, stacks ? at::stack(parts, axis) : at::cat(parts, axis));
}

/// Runs the body once for each element of the first sequence; further sequences
/// are walked along, tensors are given to every run.
void LowerSequenceMap(NodeContext& ctx) {
  const Graph& body =
      *ctx.RequireAttribute("body", Attribute::Kind::kGraph).graphs.front();
  const size_t length = ctx.SequenceInput(0).size();
  std::vector<Sequence> results(ctx.num_outputs());
  for (size_t k = 0; k < length; ++k) {
    std::vector<Value> inputs;
    for (size_t i = 0; i < ctx.num_inputs(); ++i) {
      const auto* sequence = std::get_if<Sequence>(&ctx.Raw(i));
      if (sequence == nullptr) {
        inputs.push_back(ctx.Raw(i));
        continue;
      }
      ctx.Check(sequence->size() == length, "sequences of {} and {}", length,
                Counted(sequence->size(), "element"));
      inputs.push_back((*sequence)[k]);
    }
    std::vector<Value> outputs = ctx.Run(body, std::move(inputs));
    for (size_t j = 0; j < results.size(); ++j) {
      ctx.Check(
          j < outputs.size() && std::holds_alternative<at::Tensor>(outputs[j]),
          "the body gives no tensor for output {}", j);
      results[j].push_back(std::get<at::Tensor>(std::move(outputs[j])));
    }
  }
  for (size_t j = 0; j < results.size(); ++j) {
    ctx.Set(j, std::move(results[j]));
  }
}

// ---- Optionals -------------------------------------------------------------

void LowerOptional(NodeContext& ctx) {
  ctx.Set(0, ctx.Has(0) ? ctx.Raw(0) : Value());
}

void LowerOptionalGetElement(NodeContext& ctx) {
  if (!ctx.Has(0)) {
    ctx.Fail(ErrorCode::kInvalidArgument, "the optional is empty");
  }
  ctx.Set(0, ctx.Raw(0));
}

void LowerOptionalHasElement(NodeContext& ctx) {
  ctx.Set(0, HostBool(ctx.Has(0)));
}

constexpr OnnxOperator kSequenceOperators[] = {
    {"ConcatFromSequence", {11, kAny}, &LowerConcatFromSequence},
    {"Optional", {15, kAny}, &LowerOptional},
    {"OptionalGetElement", {15, kAny}, &LowerOptionalGetElement},
    {"OptionalHasElement", {15, kAny}, &LowerOptionalHasElement},
    {"SequenceAt", {11, kAny}, &LowerSequenceAt},
    {"SequenceConstruct", {11, kAny}, &LowerSequenceConstruct},
    {"SequenceEmpty", {11, kAny}, &LowerSequenceEmpty},
    {"SequenceErase", {11, kAny}, &LowerSequenceErase},
    {"SequenceInsert", {11, kAny}, &LowerSequenceInsert},
    {"SequenceLength", {11, kAny}, &LowerSequenceLength},
    {"SequenceMap", {17, kAny}, &LowerSequenceMap},
    {"SplitToSequence", {11, kAny}, &LowerSplitToSequence},
};

}  // namespace

std::span<const OnnxOperator> SequenceOperators() { return kSequenceOperators; }

}  // namespace foretell::onnx
