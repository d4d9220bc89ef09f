#include <ATen/ATen.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

/// A loop with more iterations is refused, so that no file runs forever.
constexpr std::int64_t kMaxIterations = 100000;

const Graph& Body(const NodeContext& ctx, std::string_view name) {
  const Attribute& attribute =
      ctx.RequireAttribute(name, Attribute::Kind::kGraph);
  ctx.Check(!attribute.graphs.empty(), "the graph is missing");
  return *attribute.graphs.front();
}

[[noreturn]] void FailDependsOnData(const NodeContext& ctx,
                                    const std::string& what) {
  ctx.Fail(ErrorCode::kUnsupported,
           "{} depends on data, which a trace without arithmetic does not "
           "have; use --trace cpu",
           what);
}

void SetAll(NodeContext& ctx, std::vector<Value> values, size_t expected) {
  ctx.Check(values.size() == expected, "the body gives {}, expected {}",
            Counted(values.size(), "value"), expected);
  for (size_t i = 0; i < values.size(); ++i) ctx.Set(i, std::move(values[i]));
}

void LowerIf(NodeContext& ctx) {
  if (!ctx.IsHost(0)) FailDependsOnData(ctx, "the condition");
  const Graph& branch =
      Body(ctx, ctx.Int(0) != 0 ? "then_branch" : "else_branch");
  SetAll(ctx, ctx.Run(branch, {}), ctx.num_outputs());
}

// ---- Collecting what iterations yield --------------------------------------

/// Values of one output over all iterations, to be stacked.
class Collected {
 public:
  void Add(const NodeContext& ctx, const Value& value) {
    const auto* tensor = std::get_if<at::Tensor>(&value);
    ctx.Check(tensor != nullptr, "an iteration yields no tensor");
    tensors_.push_back(*tensor);
  }

  /// All values along a new axis; without any, `type` gives the shape.
  at::Tensor Stacked(const NodeContext& ctx, std::int64_t axis, bool backwards,
                     const TypeInfo& type) const {
    if (tensors_.empty()) return Empty(ctx, axis, type);
    std::vector<at::Tensor> ordered = tensors_;
    if (backwards) std::reverse(ordered.begin(), ordered.end());
    for (at::Tensor& tensor : ordered) {
      if (tensor.device() != tensors_.back().device()) {
        tensor = MovedTo(tensor, ctx.PlaceFor(kMaxHostElements + 1));
      }
    }
    return at::stack(ordered,
                     NormalizeAxis(ctx, axis, tensors_.front().dim() + 1));
  }

 private:
  static at::Tensor Empty(const NodeContext& ctx, std::int64_t axis,
                          const TypeInfo& type) {
    Ints shape;
    if (type.shape) {
      for (const Dim& dim : *type.shape) shape.push_back(dim.value.value_or(0));
    }
    shape.insert(shape.begin() +
                     NormalizeAxis(ctx, axis,
                                   static_cast<std::int64_t>(shape.size()) + 1),
                 0);
    const std::int32_t code = type.elem_type == 0 ? kOnnxFloat : type.elem_type;
    return at::empty(shape, at::TensorOptions()
                                .dtype(ctx.TypeOf(code, ctx.device()))
                                .device(ctx.device()));
  }

  std::vector<at::Tensor> tensors_;
};

// ---- Loop ------------------------------------------------------------------

bool IsTrue(const NodeContext& ctx, const Value& value) {
  const auto* tensor = std::get_if<at::Tensor>(&value);
  ctx.Check(tensor != nullptr && tensor->numel() == 1,
            "the condition is not a tensor of one element");
  if (tensor->is_meta()) FailDependsOnData(ctx, "the condition");
  return tensor->item().toBool();
}

void LowerLoop(NodeContext& ctx) {
  const Graph& body = Body(ctx, "body");
  if (ctx.Has(0) && !ctx.IsHost(0)) FailDependsOnData(ctx, "the trip count");
  const std::int64_t trips =
      ctx.Has(0) ? ctx.Int(0) : std::numeric_limits<std::int64_t>::max();
  bool goes_on = !ctx.Has(1) || IsTrue(ctx, ctx.Raw(1));
  std::vector<Value> carried;
  for (size_t i = 2; i < ctx.num_inputs(); ++i) carried.push_back(ctx.Raw(i));
  const size_t num_carried = carried.size();
  ctx.Check(body.outputs.size() > num_carried, "the body has too few outputs");
  std::vector<Collected> collected(body.outputs.size() - 1 - num_carried);

  for (std::int64_t i = 0; goes_on && i < trips; ++i) {
    if (i == kMaxIterations) {
      ctx.Fail(ErrorCode::kUnsupported, "more than {} iterations",
               kMaxIterations);
    }
    std::vector<Value> inputs;
    inputs.emplace_back(
        at::scalar_tensor(i, at::TensorOptions().dtype(at::kLong)));
    inputs.emplace_back(
        at::scalar_tensor(true, at::TensorOptions().dtype(at::kBool)));
    for (Value& value : carried) inputs.push_back(std::move(value));
    std::vector<Value> outputs = ctx.Run(body, std::move(inputs));
    goes_on = IsTrue(ctx, outputs[0]);
    carried.clear();
    for (size_t k = 0; k < num_carried; ++k) {
      carried.push_back(std::move(outputs[1 + k]));
    }
    for (size_t k = 0; k < collected.size(); ++k) {
      collected[k].Add(ctx, outputs[1 + num_carried + k]);
    }
  }

  for (size_t k = 0; k < collected.size(); ++k) {
    carried.emplace_back(collected[k].Stacked(
        ctx, 0, false, body.outputs[1 + num_carried + k].type));
  }
  SetAll(ctx, std::move(carried), num_carried + collected.size());
}

// ---- Scan ------------------------------------------------------------------

struct ScanPlan {
  const Graph* body = nullptr;
  size_t num_states = 0;
  Ints input_axes, input_directions, output_axes, output_directions;

  size_t num_scan_outputs() const { return body->outputs.size() - num_states; }
};

/// Runs the body over all slices of `scanned`; returns final states, then the
/// stacked outputs.
std::vector<Value> ScanOver(NodeContext& ctx, const ScanPlan& plan,
                            std::vector<Value> states,
                            const std::vector<at::Tensor>& scanned) {
  std::vector<Collected> collected(plan.num_scan_outputs());
  const std::int64_t length = scanned.front().size(plan.input_axes.front());
  for (std::int64_t t = 0; t < length; ++t) {
    std::vector<Value> inputs = std::move(states);
    for (size_t i = 0; i < scanned.size(); ++i) {
      const std::int64_t at = plan.input_directions[i] ? length - 1 - t : t;
      inputs.emplace_back(scanned[i].select(plan.input_axes[i], at));
    }
    std::vector<Value> outputs = ctx.Run(*plan.body, std::move(inputs));
    states.assign(
        outputs.begin(),
        outputs.begin() + static_cast<std::ptrdiff_t>(plan.num_states));
    for (size_t k = 0; k < collected.size(); ++k) {
      collected[k].Add(ctx, outputs[plan.num_states + k]);
    }
  }
  for (size_t k = 0; k < collected.size(); ++k) {
    states.emplace_back(collected[k].Stacked(
        ctx, plan.output_axes[k], plan.output_directions[k] != 0,
        plan.body->outputs[plan.num_states + k].type));
  }
  return states;
}

/// Lists that have one element per scanned input or output, or are left out.
Ints PerScan(const NodeContext& ctx, std::string_view name, size_t count) {
  Ints values = ctx.IntsAttribute(name, Ints(count, 0));
  ctx.Check(values.size() == count, "{} has {}, expected {}", name,
            Counted(values.size(), "element"), count);
  return values;
}

/// `first` is the input at which the states begin.
ScanPlan ReadScanPlan(const NodeContext& ctx, size_t first) {
  ScanPlan plan{.body = &Body(ctx, "body")};
  ctx.RequireAttribute("num_scan_inputs", Attribute::Kind::kInt);
  const std::int64_t given = ctx.IntAttribute("num_scan_inputs", 0);
  const auto inputs = static_cast<std::int64_t>(ctx.num_inputs() - first);
  ctx.Check(given > 0 && given <= inputs, "num_scan_inputs is {}", given);
  const auto scanned = static_cast<size_t>(given);
  plan.num_states = ctx.num_inputs() - first - scanned;
  ctx.Check(plan.body->outputs.size() >= plan.num_states,
            "the body has too few outputs");
  const bool old = ctx.opset() < 9;
  plan.input_directions =
      PerScan(ctx, old ? "directions" : "scan_input_directions", scanned);
  plan.input_axes = PerScan(ctx, "scan_input_axes", scanned);
  plan.output_axes = PerScan(ctx, "scan_output_axes", plan.num_scan_outputs());
  plan.output_directions =
      PerScan(ctx, "scan_output_directions", plan.num_scan_outputs());
  return plan;
}

void LowerScan(NodeContext& ctx) {
  ScanPlan plan = ReadScanPlan(ctx, 0);
  std::vector<Value> states;
  std::vector<at::Tensor> scanned;
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    if (i < plan.num_states) {
      states.push_back(ctx.Raw(i));
      continue;
    }
    scanned.push_back(ctx.Tensor(i));
    std::int64_t& axis = plan.input_axes[i - plan.num_states];
    axis = NormalizeAxis(ctx, axis, scanned.back().dim());
    ctx.Check(scanned.back().size(axis) ==
                  scanned.front().size(plan.input_axes.front()),
              "scanned inputs differ in length");
  }
  SetAll(ctx, ScanOver(ctx, plan, std::move(states), scanned),
         plan.body->outputs.size());
}

/// Version 8 scans axis 1 of every input separately for each element of a
/// batch.
void LowerBatchedScan(NodeContext& ctx) {
  if (ctx.Has(0)) {
    ctx.Fail(ErrorCode::kUnsupported, "sequence_lens is not supported");
  }
  const ScanPlan plan = ReadScanPlan(ctx, 1);
  const std::int64_t batch = ctx.Tensor(1).size(0);
  std::vector<std::vector<at::Tensor>> outputs(plan.body->outputs.size());
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<Value> states;
    std::vector<at::Tensor> scanned;
    for (size_t i = 0; i + 1 < ctx.num_inputs(); ++i) {
      const at::Tensor one = ctx.Tensor(i + 1).select(0, b);
      if (i < plan.num_states) {
        states.emplace_back(one);
      } else {
        scanned.push_back(one);
      }
    }
    const std::vector<Value> values =
        ScanOver(ctx, plan, std::move(states), scanned);
    for (size_t k = 0; k < values.size(); ++k) {
      outputs[k].push_back(std::get<at::Tensor>(values[k]));
    }
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    ctx.Check(!outputs[k].empty(), "the batch is empty");
    ctx.Set(k, at::stack(outputs[k], 0));
  }
}

constexpr OnnxOperator kControlFlowOperators[] = {
    {"If", {1, kAny}, &LowerIf},
    {"Loop", {1, kAny}, &LowerLoop},
    {"Scan", {8, 8}, &LowerBatchedScan},
    {"Scan", {9, kAny}, &LowerScan},
};

}  // namespace

std::span<const OnnxOperator> ControlFlowOperators() {
  return kControlFlowOperators;
}

}  // namespace foretell::onnx
