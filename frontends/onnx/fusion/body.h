#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// A pattern and the node that replaces it.
struct Replacement {
  /// Its outputs are the only values of the pattern that remain.
  Node node;
  /// Nodes of the pattern; the new node replaces the first, so all its inputs
  /// must be defined there.
  std::vector<const Node*> absorbed;
};

/// The nodes of a graph or function body while patterns in it are replaced:
/// tracks which node computes a name, which nodes read it, and constants.
class Body {
 public:
  /// The environment of the nodes; must outlive the body.
  struct Scope {
    std::span<const TensorLiteral> initializers;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    /// Version of ai.onnx.
    std::int64_t opset = 1;
    /// Body whose constants this one sees; nullptr for none.
    const Body* outer = nullptr;
  };

  Body(std::vector<Node> nodes, Scope scope);
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  std::int64_t opset() const { return scope_.opset; }
  /// Number of nodes at the beginning.
  std::size_t size() const { return nodes_.size(); }
  /// Node `i`, or nullptr once it has been removed.
  const Node* node(std::size_t i) const;
  /// Rewrites the graphs that node `i` holds, unless it has been removed.
  void RewriteGraphsOf(std::size_t i,
                       const std::function<void(Graph&)>& rewrite);

  /// The node of this body that computes `name`, or nullptr.
  const Node* ProducerOf(const std::string& name) const;
  /// The only node that reads `name`; nullptr if no node reads it or there are
  /// other readers, including graphs that nodes hold and outputs.
  const Node* SoleReaderOf(const std::string& name) const;
  /// Remaining nodes among the next `most` after `node`, in order; each has an
  /// input.
  std::vector<const Node*> Following(const Node& node, std::size_t most) const;
  /// The constant behind `name`, through Identity: an initializer or the tensor
  /// of a Constant node, here or in an enclosing body; else nullptr.
  const TensorLiteral* LiteralOf(const std::string& name) const;
  /// As LiteralOf, but only for initializers, as weights are.
  const TensorLiteral* InitializerOf(const std::string& name) const;
  /// True if `name` was read before but no longer is.
  bool IsReadNoMore(const std::string& name) const;
  /// True if `name` is computed only from shapes and small constants, so that
  /// its value is known without data.
  bool IsShapeArithmetic(const std::string& name) const;

  /// Replaces a pattern, and drops nodes that are no longer read because of it.
  /// Does nothing and returns false when a value inside of the pattern has
  /// a reader outside of it or is an output of the body.
  bool Replace(Replacement replacement);

  /// The remaining nodes, in order.
  std::vector<Node> Release() &&;

 private:
  std::optional<std::size_t> IndexOf(const std::string& name) const;
  std::size_t IndexOf(const Node& node) const {
    return static_cast<std::size_t>(&node - nodes_.data());
  }
  const TensorLiteral* FindInitializer(const std::string& name) const;
  bool IsClosed(const Replacement& replacement) const;
  void CountReads(const Node& node, int change);
  void Remove(std::size_t index);
  void RemoveIfUnread(const std::string& name);

  std::vector<Node> nodes_;
  Scope scope_;
  std::vector<bool> removed_;
  std::unordered_map<std::string, std::size_t> producers_;
  /// A node that read the name at the beginning.
  std::unordered_map<std::string, std::size_t> readers_;
  std::unordered_map<std::string, const TensorLiteral*> initializers_;
  std::unordered_set<std::string> inputs_;
  /// Reads by nodes, by graphs that nodes hold, and as an output.
  std::unordered_map<std::string, int> reads_;
};

}  // namespace foretell::onnx
