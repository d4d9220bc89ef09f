#include "frontends/onnx/fusion/body.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace foretell::onnx {
namespace {

/// Nodes that OriginOf names; of the others it gives only the number.
constexpr std::size_t kMaxNamed = 3;
/// Chains of Identity longer than this are not followed.
constexpr int kMaxIdentities = 24;
/// Most values that are inspected for one question about shape arithmetic.
constexpr int kMaxVisited = 64;
/// Larger constants are not kept on the host.
constexpr std::int64_t kMaxSmallElements = 16;

constexpr std::array<std::string_view, 16> kArithmetic = {
    "Add",      "Cast",    "CastLike", "Concat",     "Div",     "Gather",
    "Identity", "Mul",     "Pow",      "Reciprocal", "Reshape", "Slice",
    "Sqrt",     "Squeeze", "Sub",      "Unsqueeze",
};

bool IsOnnx(const Node& node) { return node.domain.empty(); }

bool IsSourceOfSizes(const Node& node) {
  return node.op_type == "Shape" || node.op_type == "Size" ||
         node.op_type == "Constant";
}

bool IsArithmetic(const Node& node) {
  return !node.inputs.empty() &&
         std::find(kArithmetic.begin(), kArithmetic.end(), node.op_type) !=
             kArithmetic.end();
}

bool IsSmall(const TensorLiteral& literal) {
  return literal.payload == TensorLiteral::Payload::kInline &&
         literal.dims.size() <= 1 && literal.NumElements() <= kMaxSmallElements;
}

/// "MatMul 'fc' + Add 'bias'", in the order of the file.
std::string OriginOf(std::vector<const Node*> nodes) {
  std::sort(nodes.begin(), nodes.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(nodes.size(), kMaxNamed); ++i) {
    const Node& node = *nodes[i];
    text += i == 0 ? "" : " + ";
    text +=
        !node.origin.empty()
            ? node.origin
            : fmt::format("{} '{}'", node.op_type,
                          node.name.empty() ? node.outputs.front() : node.name);
  }
  if (nodes.size() > kMaxNamed) {
    text += fmt::format(" + {} more", nodes.size() - kMaxNamed);
  }
  return text;
}

/// Adds `change` to every name that `graph` or a graph inside of it reads, its
/// outputs included.
void CountReadsInside(const Graph& graph, int change,
                      std::unordered_map<std::string, int>& reads) {
  for (const ValueInfo& output : graph.outputs) reads[output.name] += change;
  for (const Node& node : graph.nodes) {
    for (const std::string& input : node.inputs) reads[input] += change;
    for (const Attribute& attribute : node.attributes) {
      for (const auto& inner : attribute.graphs) {
        CountReadsInside(*inner, change, reads);
      }
    }
  }
}

}  // namespace

Body::Body(std::vector<Node> nodes, Scope scope)
    : nodes_(std::move(nodes)),
      scope_(std::move(scope)),
      removed_(nodes_.size(), false),
      inputs_(scope_.inputs.begin(), scope_.inputs.end()) {
  for (const TensorLiteral& literal : scope_.initializers) {
    initializers_.emplace(literal.name, &literal);
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    CountReads(nodes_[i], 1);
    for (const std::string& output : nodes_[i].outputs) {
      producers_.emplace(output, i);
    }
    for (const std::string& input : nodes_[i].inputs) {
      readers_.emplace(input, i);
    }
  }
  for (const std::string& output : scope_.outputs) ++reads_[output];
}

const Node* Body::node(std::size_t i) const {
  return removed_[i] ? nullptr : &nodes_[i];
}

void Body::RewriteGraphsOf(std::size_t i,
                           const std::function<void(Graph&)>& rewrite) {
  if (removed_[i]) return;
  for (Attribute& attribute : nodes_[i].attributes) {
    for (std::shared_ptr<const Graph>& held : attribute.graphs) {
      CountReadsInside(*held, -1, reads_);
      Graph graph = *held;
      rewrite(graph);
      held = std::make_shared<const Graph>(std::move(graph));
      CountReadsInside(*held, 1, reads_);
    }
  }
}

bool Body::IsReadNoMore(const std::string& name) const {
  const auto found = reads_.find(name);
  return found != reads_.end() && found->second == 0;
}

std::optional<std::size_t> Body::IndexOf(const std::string& name) const {
  const auto found = producers_.find(name);
  if (name.empty() || found == producers_.end() || removed_[found->second]) {
    return std::nullopt;
  }
  return found->second;
}

const Node* Body::ProducerOf(const std::string& name) const {
  const std::optional<std::size_t> index = IndexOf(name);
  return index ? &nodes_[*index] : nullptr;
}

const Node* Body::SoleReaderOf(const std::string& name) const {
  const auto count = reads_.find(name);
  const auto reader = readers_.find(name);
  if (count == reads_.end() || count->second != 1 || reader == readers_.end() ||
      removed_[reader->second]) {
    return nullptr;
  }
  const Node& node = nodes_[reader->second];
  const bool reads_it = std::find(node.inputs.begin(), node.inputs.end(),
                                  name) != node.inputs.end();
  return reads_it ? &node : nullptr;
}

const TensorLiteral* Body::FindInitializer(const std::string& name) const {
  for (const Body* body = this; body != nullptr; body = body->scope_.outer) {
    const auto found = body->initializers_.find(name);
    if (found != body->initializers_.end()) return found->second;
    const bool is_own =
        body->producers_.count(name) != 0 || body->inputs_.count(name) != 0;
    if (is_own) return nullptr;
  }
  return nullptr;
}

const TensorLiteral* Body::InitializerOf(const std::string& name) const {
  const Node* producer = ProducerOf(name);
  for (int depth = 0; producer != nullptr && depth < kMaxIdentities; ++depth) {
    if (producer->op_type != "Identity" || !IsOnnx(*producer) ||
        producer->inputs.size() != 1) {
      return nullptr;
    }
    const std::string& source = producer->inputs[0];
    producer = ProducerOf(source);
    if (producer == nullptr) return FindInitializer(source);
  }
  return FindInitializer(name);
}

std::vector<const Node*> Body::Following(const Node& node,
                                         std::size_t most) const {
  std::vector<const Node*> following;
  const std::size_t begin = IndexOf(node) + 1;
  const std::size_t end = std::min(nodes_.size(), begin + most);
  for (std::size_t i = begin; i < end; ++i) {
    if (!removed_[i] && !nodes_[i].inputs.empty()) {
      following.push_back(&nodes_[i]);
    }
  }
  return following;
}

const TensorLiteral* Body::LiteralOf(const std::string& name) const {
  const TensorLiteral* initializer = InitializerOf(name);
  if (initializer != nullptr) return initializer;
  const Node* producer = ProducerOf(name);
  for (int depth = 0; producer != nullptr && depth < kMaxIdentities; ++depth) {
    if (!IsOnnx(*producer)) return nullptr;
    if (producer->op_type == "Constant") {
      const Attribute* value = producer->FindAttribute("value");
      return value != nullptr && value->tensors.size() == 1
                 ? &value->tensors.front()
                 : nullptr;
    }
    if (producer->op_type != "Identity" || producer->inputs.size() != 1) {
      return nullptr;
    }
    producer = ProducerOf(producer->inputs[0]);
  }
  return nullptr;
}

bool Body::IsShapeArithmetic(const std::string& name) const {
  std::vector<std::string> pending = {name};
  for (int visited = 0; !pending.empty(); ++visited) {
    if (visited == kMaxVisited) return false;
    const std::string current = std::move(pending.back());
    pending.pop_back();
    if (current.empty()) continue;
    if (const TensorLiteral* literal = LiteralOf(current)) {
      if (!IsSmall(*literal)) return false;
      continue;
    }
    const Node* producer = ProducerOf(current);
    if (producer == nullptr || !IsOnnx(*producer)) return false;
    if (IsSourceOfSizes(*producer)) continue;
    if (!IsArithmetic(*producer)) return false;
    // CastLike asks its second input for nothing but the type.
    const std::size_t count =
        producer->op_type == "CastLike" ? 1 : producer->inputs.size();
    pending.insert(
        pending.end(), producer->inputs.begin(),
        producer->inputs.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return true;
}

void Body::CountReads(const Node& node, int change) {
  for (const std::string& input : node.inputs) reads_[input] += change;
  for (const Attribute& attribute : node.attributes) {
    for (const auto& graph : attribute.graphs) {
      CountReadsInside(*graph, change, reads_);
    }
  }
}

bool Body::IsClosed(const Replacement& replacement) const {
  std::unordered_map<std::string, int> inside;
  for (const Node* node : replacement.absorbed) {
    for (const std::string& input : node->inputs) ++inside[input];
  }
  const std::vector<std::string>& kept = replacement.node.outputs;
  const auto is_hidden = [&](const std::string& output) {
    const auto total = reads_.find(output);
    return output.empty() || total == reads_.end() ||
           total->second == inside[output] ||
           std::find(kept.begin(), kept.end(), output) != kept.end();
  };
  return std::all_of(replacement.absorbed.begin(), replacement.absorbed.end(),
                     [&](const Node* node) {
                       return std::all_of(node->outputs.begin(),
                                          node->outputs.end(), is_hidden);
                     });
}

bool Body::Replace(Replacement replacement) {
  std::vector<const Node*>& absorbed = replacement.absorbed;
  const Node* first = absorbed.front();
  std::sort(absorbed.begin() + 1, absorbed.end());
  absorbed.erase(std::unique(absorbed.begin(), absorbed.end()), absorbed.end());
  if (!IsClosed(replacement)) return false;

  std::vector<std::string> read;
  const std::size_t place = IndexOf(*first);
  for (const Node* node : absorbed) {
    read.insert(read.end(), node->inputs.begin(), node->inputs.end());
    if (node != first) Remove(IndexOf(*node));
  }
  CountReads(nodes_[place], -1);
  replacement.node.origin = OriginOf(absorbed);
  nodes_[place] = std::move(replacement.node);
  CountReads(nodes_[place], 1);
  for (const std::string& output : nodes_[place].outputs) {
    producers_[output] = place;
  }
  for (const std::string& name : read) RemoveIfUnread(name);
  return true;
}

void Body::Remove(std::size_t index) {
  CountReads(nodes_[index], -1);
  removed_[index] = true;
}

void Body::RemoveIfUnread(const std::string& name) {
  std::vector<std::string> pending = {name};
  while (!pending.empty()) {
    const std::optional<std::size_t> index = IndexOf(pending.back());
    pending.pop_back();
    if (!index) continue;
    const Node& node = nodes_[*index];
    const bool is_read = std::any_of(
        node.outputs.begin(), node.outputs.end(),
        [&](const std::string& output) { return reads_[output] > 0; });
    if (is_read) continue;
    Remove(*index);
    pending.insert(pending.end(), node.inputs.begin(), node.inputs.end());
  }
}

std::vector<Node> Body::Release() && {
  std::vector<Node> left;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!removed_[i]) left.push_back(std::move(nodes_[i]));
  }
  return left;
}

}  // namespace foretell::onnx
