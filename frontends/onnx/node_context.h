#pragma once

#include <ATen/core/Tensor.h>
#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "frontends/onnx/reader/model.h"
#include "frontends/onnx/value.h"

namespace foretell::onnx {

class Evaluator;
class Frame;

/// Results with more elements do not stay on the host: they cannot be sizes.
inline constexpr std::int64_t kMaxHostElements = 65536;

/// One ONNX node during its execution, as a lowering sees it.
///
/// Tensors live in two places. *Host* tensors are on the CPU with values: shape
/// arithmetic and small constants. *Device* tensors are on the device of the
/// run (meta, cpu or cuda) and, on meta, have no values. A node whose tensor
/// inputs are all on the host runs on the host, unless they broadcast to more
/// than kMaxHostElements; any other node runs on the device. When the device is
/// the CPU the two coincide.
///
/// Accessors throw Error with the file, the node's name and its operator.
class NodeContext {
 public:
  NodeContext(Evaluator& evaluator, Frame& frame, const Node& node,
              std::int64_t opset);

  const Node& node() const { return node_; }
  /// Version of the node's domain that its graph or function imports.
  std::int64_t opset() const { return opset_; }

  // ---- Inputs --------------------------------------------------------------

  size_t num_inputs() const { return node_.inputs.size(); }
  size_t num_outputs() const { return node_.outputs.size(); }
  /// True when input `i` is given and not an empty optional.
  bool Has(size_t i) const;
  /// True when output `i` has a name, and may be read.
  bool Wants(size_t i) const;
  const Value& Raw(size_t i) const;

  /// Input `i` on the device of this node (a host tensor is moved there).
  at::Tensor Tensor(size_t i);
  /// As Tensor, but an undefined tensor when the input is absent.
  at::Tensor OptionalTensor(size_t i);
  /// As Tensor, but a host tensor of one element and no dimension stays on the
  /// host: element-wise ATen operators take it as a scalar operand, as eager
  /// code does for Python numbers.
  at::Tensor Operand(size_t i);
  /// Input `i` with its values, contiguous on the CPU. Throws kUnsupported
  /// ("depends on data") when it has none.
  at::Tensor Host(size_t i);
  /// True when Host(i) would succeed.
  bool IsHost(size_t i) const;
  /// Values of a host tensor of any integer or Boolean type, flattened.
  std::vector<std::int64_t> Ints(size_t i);
  /// Values of a host tensor of any numeric type, flattened.
  std::vector<double> Doubles(size_t i);
  /// The single value of a host tensor.
  std::int64_t Int(size_t i);
  double Double(size_t i);
  Sequence SequenceInput(size_t i);

  // ---- Attributes ----------------------------------------------------------

  bool HasAttribute(std::string_view name) const;
  std::int64_t IntAttribute(std::string_view name, std::int64_t fallback) const;
  double FloatAttribute(std::string_view name, double fallback) const;
  std::string StringAttribute(std::string_view name,
                              std::string_view fallback) const;
  std::vector<std::int64_t> IntsAttribute(
      std::string_view name, std::vector<std::int64_t> fallback) const;
  std::vector<double> FloatsAttribute(std::string_view name,
                                      std::vector<double> fallback) const;
  /// The attribute, with a function's reference resolved; nullptr if absent.
  const Attribute* FindAttribute(std::string_view name) const;
  /// The attribute `name` of kind `kind`; kCorrupt if absent or of another.
  const Attribute& RequireAttribute(std::string_view name,
                                    Attribute::Kind kind) const;

  // ---- Types and places ----------------------------------------------------

  /// ATen type of a TensorProto.DataType code. A run in reduced precision maps
  /// floating-point types to that precision. Throws kUnsupported for types that
  /// ATen lacks.
  at::ScalarType TypeOf(std::int64_t onnx_code) const;
  /// As TypeOf, for a tensor that is created at `place`.
  at::ScalarType TypeOf(std::int64_t onnx_code, at::Device place) const;
  /// Device on which this node runs.
  at::Device device() const;
  /// Device for a tensor of this many elements that the node creates: that of
  /// the run beyond kMaxHostElements.
  at::Device PlaceFor(std::int64_t num_elements) const;
  /// True when this node runs on the host with values.
  bool OnHost() const;
  bool IsTraining() const;
  /// The tensor of a literal (attribute `value`), on the host, or on the device
  /// if its payload was skipped.
  at::Tensor Literal(const TensorLiteral& literal) const;

  // ---- Results -------------------------------------------------------------

  /// Sets output `i`; ignored when it is not wanted.
  void Set(size_t i, Value value);

  // ---- Subgraphs -----------------------------------------------------------

  /// Runs the graph attribute's body with `inputs` bound to its inputs in
  /// order; outer names are visible. Returns its outputs.
  std::vector<Value> Run(const Graph& body, std::vector<Value> inputs);

  /// Throws Error whose message names file, node and operator, followed by
  /// `args` formatted as by fmt::format.
  template <typename... Args>
  [[noreturn]] void Fail(ErrorCode code, fmt::format_string<Args...> format,
                         Args&&... args) const {
    Throw(code, fmt::format(format, std::forward<Args>(args)...));
  }
  /// Fails with kCorrupt unless `condition`.
  template <typename... Args>
  void Check(bool condition, fmt::format_string<Args...> format,
             Args&&... args) const {
    if (!condition) {
      Fail(ErrorCode::kCorrupt, format, std::forward<Args>(args)...);
    }
  }

 private:
  [[noreturn]] void Throw(ErrorCode code, const std::string& message) const;

  Evaluator& evaluator_;
  Frame& frame_;
  const Node& node_;
  std::int64_t opset_;
  bool on_host_;
};

}  // namespace foretell::onnx
