// LSTM, GRU and RNN take weights of all directions in one tensor, gates in an
// order of their own. Exporters that fold no constants write the steps from
// PyTorch's weights: a Slice for each gate, a Concat of the gates, an Unsqueeze
// and a Concat of the directions.
//
// Eager PyTorch reads its weights unchanged, so the new node does too: after
// the inputs of ai.onnx it has, for each direction, the weights for the input
// and for the state and, if they were concatenated too, the two biases.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/onnx/fusion/rules.h"

namespace foretell::onnx {
namespace {

using Names = std::vector<std::string>;

/// Gates as ONNX orders them, by their places in PyTorch's weights.
struct Cell {
  std::string_view op;
  std::vector<std::int64_t> gates;
};

const Cell& CellOf(const Node& node) {
  static const std::vector<Cell> cells = {
      {"LSTM", {0, 3, 1, 2}}, {"GRU", {1, 0, 2}}, {"RNN", {0}}};
  return *std::ranges::find(cells, node.op_type, &Cell::op);
}

/// Gates of one initializer, in the order in which they are read.
struct Part {
  std::string weight;
  std::vector<std::int64_t> gates;
};

/// Reads rows of gates, each of `height` rows, along the first axis.
class GateReader {
 public:
  GateReader(Match& match, const Cell& cell, std::int64_t height)
      : match_(match), cell_(cell), height_(height) {}

  /// The initializers that `name` consists of along the first axis, if each
  /// contributes all of its gates in the order of ONNX.
  std::optional<Names> Read(const std::string& name) {
    parts_.clear();
    if (!Add(name)) return std::nullopt;
    Names weights;
    for (const Part& part : parts_) {
      if (part.gates != cell_.gates) return std::nullopt;
      weights.push_back(part.weight);
    }
    return weights;
  }

 private:
  bool Add(const std::string& name) {
    if (IsWeight(name)) return AddRows(name, 0, num_rows());
    if (const Node* slice = match_.Take(name, "Slice")) {
      const auto rows = RangeOf(match_.body(), *slice);
      return rows && rows->axis == 0 && IsWeight(slice->inputs[0]) &&
             AddRows(slice->inputs[0], rows->begin, rows->end);
    }
    const Node* concat = match_.Take(name, "Concat");
    return concat != nullptr && IntOf(*concat, "axis", 0) == 0 &&
           std::ranges::all_of(concat->inputs,
                               [&](const auto& input) { return Add(input); });
  }

  /// True for an initializer with the rows of all gates.
  bool IsWeight(const std::string& name) const {
    const TensorLiteral* literal = match_.body().InitializerOf(name);
    return literal != nullptr && !literal->dims.empty() &&
           literal->dims[0] == num_rows();
  }

  std::int64_t num_rows() const { return height_ * std::ssize(cell_.gates); }

  bool AddRows(const std::string& weight, std::int64_t begin,
               std::int64_t end) {
    if (begin % height_ != 0 || end % height_ != 0 || begin < 0 ||
        end > num_rows()) {
      return false;
    }
    const bool is_new = parts_.empty() || parts_.back().weight != weight ||
                        parts_.back().gates.size() == cell_.gates.size();
    if (is_new) parts_.push_back({.weight = weight, .gates = {}});
    for (std::int64_t row = begin; row < end; row += height_) {
      parts_.back().gates.push_back(row / height_);
    }
    return true;
  }

  Match& match_;
  const Cell& cell_;
  std::int64_t height_;
  std::vector<Part> parts_;
};

/// The tensors of each direction in `name`, unsqueezed and put together.
Names TakeDirections(Match& match, const std::string& name) {
  Names directions = {name};
  if (const Node* concat = match.Take(name, "Concat")) {
    if (IntOf(*concat, "axis", 0) != 0) return {};
    directions = concat->inputs;
  }
  for (std::string& direction : directions) {
    const Node* unsqueeze = match.Take(direction, "Unsqueeze");
    if (unsqueeze == nullptr ||
        AxesOf(match.body(), *unsqueeze) != std::vector<std::int64_t>{0}) {
      return {};
    }
    direction = unsqueeze->inputs[0];
  }
  return directions;
}

/// By direction, `count` initializers each; empty if `name` does not consist of
/// them.
std::vector<Names> TakeWeights(Match& match, const Cell& cell,
                               const std::string& name, std::size_t count) {
  const std::int64_t height = IntOf(match.last(), "hidden_size", 0);
  if (height <= 0) return {};
  std::vector<Names> result;
  for (const std::string& direction : TakeDirections(match, name)) {
    const auto weights = GateReader(match, cell, height).Read(direction);
    if (!weights || weights->size() != count) return {};
    result.push_back(*weights);
  }
  return result;
}

/// True for a layer that PyTorch has: no clipping, no peepholes, no lengths.
bool IsPlain(const Node& node) {
  constexpr std::size_t kLengths = 4, kPeepholes = 7;
  const auto given = [&](std::size_t i) {
    return i < node.inputs.size() && !node.inputs[i].empty();
  };
  const bool as_torch =
      node.op_type != "GRU" || IntOf(node, "linear_before_reset", 0) != 0;
  return node.inputs.size() >= 3 && as_torch && !given(kLengths) &&
         !given(kPeepholes) && node.FindAttribute("clip") == nullptr &&
         node.FindAttribute("activations") == nullptr &&
         IntOf(node, "input_forget", 0) == 0;
}

}  // namespace

std::optional<Replacement> FuseRecurrentWeights(Match match) {
  constexpr std::size_t kInputs = 8;  // Those of ai.onnx.
  constexpr std::size_t kBias = 3;
  const Node& node = match.last();
  if (!IsPlain(node)) return std::nullopt;
  const Cell& cell = CellOf(node);
  const auto input = TakeWeights(match, cell, node.inputs[1], 1);
  const auto recurrent = TakeWeights(match, cell, node.inputs[2], 1);
  if (input.empty() || input.size() != recurrent.size()) return std::nullopt;

  Names inputs = node.inputs;
  inputs.resize(kInputs);
  inputs[1].clear();
  inputs[2].clear();
  std::vector<Names> biases;
  if (!inputs[kBias].empty()) {
    Match attempt = match;
    biases = TakeWeights(attempt, cell, inputs[kBias], 2);
    if (biases.size() == input.size()) {
      match = std::move(attempt);
      inputs[kBias].clear();
    } else {
      biases.clear();
    }
  }
  for (std::size_t d = 0; d < input.size(); ++d) {
    inputs.push_back(input[d][0]);
    inputs.push_back(recurrent[d][0]);
    if (!biases.empty()) {
      inputs.insert(inputs.end(), biases[d].begin(), biases[d].end());
    }
  }
  return match.By(node.op_type, std::move(inputs), node.attributes);
}

}  // namespace foretell::onnx
