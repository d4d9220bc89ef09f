#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx/fusion/body.h"

/// Building blocks of the rules. Rules start at the last node of a pattern and
/// walk towards its inputs.
namespace foretell::onnx {

/// A pattern that is being recognised.
class Match {
 public:
  Match(const Body& body, const Node& last) : body_(&body), absorbed_{&last} {}

  const Body& body() const { return *body_; }
  const Node& last() const { return *absorbed_.front(); }

  /// The ai.onnx node that computes `name`, now part of the pattern; nullptr,
  /// and nothing changed, when it is not an `op_type`.
  const Node* Take(const std::string& name, std::string_view op_type);

  /// Adds a node that reads a value of the pattern to the pattern.
  void Absorb(const Node* node) { absorbed_.push_back(node); }

  /// Replaces the pattern by a node of domain "foretell" that keeps the name
  /// and outputs of its last node.
  Replacement By(std::string op_type, std::vector<std::string> inputs,
                 std::vector<Attribute> attributes = {}) const;

 private:
  const Body* body_;
  std::vector<const Node*> absorbed_;
};

/// The node that computes `name` if it is an ai.onnx `op_type`, else nullptr.
/// It has an input unless it is a Constant.
const Node* ProducerOfType(const Body& body, const std::string& name,
                           std::string_view op_type);

/// The operand of a two-input `node` other than `name`; empty optional when
/// `name` is not one of them.
std::optional<std::string> Beside(const Node& node, const std::string& name);

/// The operand of a two-input `node` other than the number `value`.
std::optional<std::string> BesideNumber(const Body& body, const Node& node,
                                        double value);

/// The value of a constant of one element.
std::optional<double> NumberOf(const Body& body, const std::string& name);
/// True when `name` is the constant `value`, within the rounding of the type
/// that it is stored in.
bool IsNumber(const Body& body, const std::string& name, double value);
/// True when `name` is minus infinity, or the lowest finite number of its
/// stored type, which masks a score.
bool IsHidden(const Body& body, const std::string& name);
/// True when every element of the constant `name` is `value`.
bool IsFilledWith(const Body& body, const std::string& name, double value);

/// Values of an integer constant.
std::optional<std::vector<std::int64_t>> IntegersOf(const Body& body,
                                                    const std::string& name);

/// Constant axes of a node, from its attribute or second input.
std::optional<std::vector<std::int64_t>> AxesOf(const Body& body,
                                                const Node& node);
/// As AxesOf, for a reduction with keepdims = 1.
std::optional<std::vector<std::int64_t>> KeptAxesOf(const Body& body,
                                                    const Node& node);

/// Range that a Slice along one axis keeps, as written in the node: negative
/// numbers count from the end.
struct SliceRange {
  std::int64_t axis = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// The range of a Slice with constant ends, axis and step 1; empty optional for
/// any other.
std::optional<SliceRange> RangeOf(const Body& body, const Node& slice);

std::int64_t IntOf(const Node& node, std::string_view attribute,
                   std::int64_t fallback);
double FloatOf(const Node& node, std::string_view attribute, double fallback);

Attribute MakeInt(std::string name, std::int64_t value);
Attribute MakeInts(std::string name, std::vector<std::int64_t> values);
Attribute MakeFloat(std::string name, double value);
Attribute MakeString(std::string name, std::string value);

}  // namespace foretell::onnx
