#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/graph.h"
#include "src/core/files.h"

/// Plain structures of an ONNX model, made by the reader and run by the
/// interpreter. They depend neither on Protobuf nor on Torch.
namespace foretell::onnx {

/// Element type codes of TensorProto.DataType that foretell can hold; empty for
/// strings, 4-bit and 2-bit numbers and anything unknown.
std::optional<DType> DTypeOfCode(std::int32_t code);
/// Name of a TensorProto.DataType code for messages, e.g. "FLOAT16".
std::string DataTypeName(std::int32_t code);

inline constexpr std::int32_t kOnnxFloat = 1;
inline constexpr std::int32_t kOnnxInt64 = 7;
inline constexpr std::int32_t kOnnxString = 8;
inline constexpr std::int32_t kOnnxBool = 9;

/// A constant tensor of the file.
struct TensorLiteral {
  enum class Payload : std::uint8_t {
    kInline,    ///< `bytes` or `strings` hold all elements.
    kSkipped,   ///< Inside the file, but larger than the reader's limit.
    kExternal,  ///< Declared to be in another file, which is never opened.
  };

  std::string name;
  std::int32_t data_type = 0;  ///< TensorProto.DataType code.
  std::vector<std::int64_t> dims;
  Payload payload = Payload::kInline;
  /// Little-endian elements in row-major order, as raw_data would hold them
  /// (4-bit types stay packed two to a byte, 2-bit four to a byte).
  std::string bytes;
  std::vector<std::string> strings;  ///< Elements of a STRING tensor.

  /// Product of dims; the reader has checked that it fits in int64.
  std::int64_t NumElements() const;
};

/// A dimension: known, named or unknown.
struct Dim {
  std::optional<std::int64_t> value;
  std::string symbol;  ///< dim_param; empty when absent.
};

/// Type of an input or output of a graph.
struct TypeInfo {
  enum class Kind : std::uint8_t {
    kUnknown,
    kTensor,
    kSparseTensor,
    kSequence,
    kOptional,
    kMap,
  };
  Kind kind = Kind::kUnknown;
  std::int32_t elem_type = 0;  ///< Element type of kTensor and kSparseTensor.
  /// Shape of kTensor; empty optional when the rank is unknown.
  std::optional<std::vector<Dim>> shape;
  /// Element of kSequence and kOptional.
  std::shared_ptr<const TypeInfo> element;
};

struct ValueInfo {
  std::string name;
  TypeInfo type;
};

struct Graph;

struct Attribute {
  enum class Kind : std::uint8_t {
    kUndefined,
    kInt,
    kFloat,
    kString,
    kTensor,
    kGraph,
    kSparseTensor,
    kType,
    kInts,
    kFloats,
    kStrings,
    kTensors,
    kGraphs,
    kSparseTensors,
    kTypes,
  };
  std::string name;
  Kind kind = Kind::kUndefined;
  /// Inside a function body: name of the function's attribute that gives the
  /// value; empty otherwise.
  std::string ref_attr_name;
  std::int64_t i = 0;
  float f = 0;
  std::string s;
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;
  std::vector<TensorLiteral> tensors;                ///< One for kTensor.
  std::vector<std::shared_ptr<const Graph>> graphs;  ///< One for kGraph.
  std::optional<TypeInfo> type;                      ///< Value of kType.
};

struct Node {
  std::string name;  ///< May be empty.
  std::string op_type;
  std::string domain;  ///< "" for ai.onnx ("ai.onnx" is normalised to "").
  std::string overload;
  std::vector<std::string> inputs;  ///< "" marks an absent optional input.
  std::vector<std::string> outputs;
  std::vector<Attribute> attributes;
  /// Nodes of the file that a fused node replaces, for messages: "MatMul 'fc' +
  /// Add 'bias'". Empty for a node of the file.
  std::string origin;

  const Attribute* FindAttribute(std::string_view attribute_name) const;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<TensorLiteral> initializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
};

/// A model-local function.
struct Function {
  std::string name;
  std::string domain;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes;      ///< Required ones.
  std::vector<Attribute> attribute_protos;  ///< Those with defaults.
  std::vector<Node> nodes;
  std::map<std::string, std::int64_t> opset_imports;
};

struct Model {
  std::string path;  ///< For messages.
  std::int64_t ir_version = 0;
  std::string producer_name;
  std::string producer_version;
  /// Domain ("" for ai.onnx) → version.
  std::map<std::string, std::int64_t> opset_imports;
  Graph graph;
  std::vector<Function> functions;

  /// Elements of all floating-point initializers of the main graph, payload
  /// read or not, except constants (ConstantInitializers).
  std::int64_t FloatInitializerElements() const;
  /// Elements of these initializers by type, and of those of 8-bit integers
  /// and less with two or more dimensions, which are quantised weights; those
  /// that share a byte count as one.
  std::map<DType, std::int64_t> WeightElements() const;
};

struct ReadOptions {
  /// Payloads of at most this many bytes are read, larger ones are skipped.
  std::int64_t max_payload_bytes = 4096;
  /// The same for attention masks, whose content determines the kind of
  /// attention. Exporters fold masks of up to 1024 * 1024 elements in their
  /// present and earlier releases (onnxscript, _constant_folding.py).
  std::int64_t max_mask_bytes = std::int64_t{4} << 20;
};

/// Reads the structure of an ONNX file: weights above the limits are skipped on
/// the wire, external data files are never opened. Cost does not depend on the
/// bytes of weights; files above 2 GiB work.
///
/// Throws Error kNotFound / kIo (no such file, a directory), kCorrupt (not a
/// well-formed message, or a node uses a value that nothing defines, or a
/// cycle), kUnsupported (unknown IR version, excessive nesting); the message
/// starts with the path.
Model ReadModel(RegularFile file, const ReadOptions& options = {});
/// As above for the file at `path`; also throws what OpenRegularFile does.
inline Model ReadModel(const std::string& path,
                       const ReadOptions& options = {}) {
  return ReadModel(OpenRegularFile(path, kAnySize), options);
}

/// As above from memory; messages show `origin` instead of a path.
Model ReadModelFromBytes(std::string_view bytes, const std::string& origin,
                         const ReadOptions& options = {});

}  // namespace foretell::onnx
