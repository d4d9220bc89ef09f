#include "frontends/onnx/reader/convert.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "frontends/onnx/reader/attribute_kind.h"
#include "frontends/onnx/reader/scope.h"
#include "frontends/onnx/reader/tensor.h"
#include "frontends/onnx/reader/text.h"
#include "frontends/onnx/reader/type_info.h"
#include "src/core/failure.h"

namespace foretell::onnx {
namespace {

constexpr std::int64_t kOldestIrVersion = 3;
constexpr std::int64_t kNewestIrVersion = 14;
// Sparse tensors become dense literals until these take this much together,
// whatever the caller's limit: their dimensions cost the file nothing.
constexpr std::int64_t kMaxDenseBytes = 16 << 20;

using StringField = ::google::protobuf::RepeatedPtrField<std::string>;

std::vector<std::string> TakeStrings(StringField* field) {
  return {std::make_move_iterator(field->begin()),
          std::make_move_iterator(field->end())};
}

std::string TakeDomain(std::string* domain) {
  return *domain == "ai.onnx" ? std::string() : std::move(*domain);
}

const std::string& NameOf(const std::string& name) { return name; }
template <typename Named>
const std::string& NameOf(const Named& named) {
  return named.name;
}

// The names of `items` must exist and differ.
template <typename Items>
void RequireDistinctNames(const Items& items, const std::string& what) {
  std::unordered_set<std::string_view> seen;
  seen.reserve(items.size());
  for (const auto& item : items) {
    const std::string& name = NameOf(item);
    if (name.empty()) throw Corrupt("{} without a name", what);
    if (!seen.insert(name).second) {
      throw Corrupt("{} {} is defined twice", what, Quoted(name));
    }
  }
}

template <typename OpsetField>
std::map<std::string, std::int64_t> ConvertOpsets(OpsetField* field) {
  std::map<std::string, std::int64_t> imports;
  for (::onnx::OperatorSetIdProto& proto : *field) {
    std::int64_t& version = imports[TakeDomain(proto.mutable_domain())];
    version = std::max(version, proto.version());
  }
  return imports;
}

class Converter {
 public:
  Converter(const std::vector<SkippedPayload>& skipped,
            const ReadOptions& options)
      : skipped_(skipped), max_payload_bytes_(options.max_payload_bytes) {}

  /// `free` receives what the graph uses from outside of itself.
  Graph ConvertGraph(::onnx::GraphProto& proto, std::vector<NameUse>& free);
  Function ConvertFunction(::onnx::FunctionProto& proto);

 private:
  using Captured = std::vector<NameUse>;

  template <typename NodeField>
  std::vector<Node> ConvertNodes(NodeField* field, Scope& scope);
  Node ConvertNode(::onnx::NodeProto& proto, Captured& captured);
  std::vector<Attribute> ConvertAttributes(
      ::google::protobuf::RepeatedPtrField<::onnx::AttributeProto>* field,
      Captured& captured);
  Attribute ConvertAttribute(::onnx::AttributeProto& proto, Captured& captured);
  void ConvertTensors(::onnx::AttributeProto& proto, Attribute& attribute);
  void ConvertGraphs(::onnx::AttributeProto& proto, Attribute& attribute,
                     Captured& captured);
  void ConvertInitializers(::onnx::GraphProto& proto, Graph& graph);
  TensorLiteral Dense(::onnx::SparseTensorProto& proto);

  const std::vector<SkippedPayload>& skipped_;
  std::int64_t max_payload_bytes_;
  std::int64_t dense_bytes_left_ = kMaxDenseBytes;
  bool in_function_ = false;
};

Graph Converter::ConvertGraph(::onnx::GraphProto& proto,
                              std::vector<NameUse>& free) {
  Graph graph;
  graph.name = std::move(*proto.mutable_name());
  ConvertInitializers(proto, graph);
  graph.inputs.reserve(static_cast<std::size_t>(proto.input_size()));
  for (::onnx::ValueInfoProto& input : *proto.mutable_input()) {
    graph.inputs.push_back(ConvertValueInfo(input));
  }
  RequireDistinctNames(graph.inputs, "graph input");
  Scope scope;
  graph.nodes = ConvertNodes(proto.mutable_node(), scope);
  for (::onnx::ValueInfoProto& output : *proto.mutable_output()) {
    graph.outputs.push_back(ConvertValueInfo(output));
  }
  for (const ValueInfo& input : graph.inputs) {
    scope.sources.push_back(input.name);
  }
  for (const TensorLiteral& tensor : graph.initializers) {
    scope.sources.push_back(tensor.name);
  }
  for (const ValueInfo& output : graph.outputs) {
    scope.outputs.push_back(output.name);
  }
  Captured uses = ResolveScope(std::move(scope), graph.nodes);
  free.insert(free.end(), std::make_move_iterator(uses.begin()),
              std::make_move_iterator(uses.end()));
  return graph;
}

void Converter::ConvertInitializers(::onnx::GraphProto& proto, Graph& graph) {
  graph.initializers.reserve(static_cast<std::size_t>(
      proto.initializer_size() + proto.sparse_initializer_size()));
  for (::onnx::TensorProto& tensor : *proto.mutable_initializer()) {
    graph.initializers.push_back(ConvertTensor(tensor, skipped_));
  }
  for (::onnx::SparseTensorProto& tensor :
       *proto.mutable_sparse_initializer()) {
    graph.initializers.push_back(Dense(tensor));
  }
  RequireDistinctNames(graph.initializers, "initializer");
}

TensorLiteral Converter::Dense(::onnx::SparseTensorProto& proto) {
  TensorLiteral dense = ConvertSparseTensor(
      proto, skipped_, std::min(max_payload_bytes_, dense_bytes_left_));
  dense_bytes_left_ -= static_cast<std::int64_t>(dense.bytes.size());
  return dense;
}

Function Converter::ConvertFunction(::onnx::FunctionProto& proto) {
  Function function;
  function.name = std::move(*proto.mutable_name());
  function.domain = TakeDomain(proto.mutable_domain());
  function.overload = std::move(*proto.mutable_overload());
  function.opset_imports = ConvertOpsets(proto.mutable_opset_import());
  function.inputs = TakeStrings(proto.mutable_input());
  function.outputs = TakeStrings(proto.mutable_output());
  function.attributes = TakeStrings(proto.mutable_attribute());
  in_function_ = true;
  InContext(
      [&] { return "function " + Quoted(function.name); },
      [&] {
        if (function.name.empty()) throw Corrupt("it has no name");
        Captured free;
        function.attribute_protos =
            ConvertAttributes(proto.mutable_attribute_proto(), free);
        Scope scope;
        function.nodes = ConvertNodes(proto.mutable_node(), scope);
        RequireDistinctNames(function.inputs, "input");
        scope.sources.assign(function.inputs.begin(), function.inputs.end());
        scope.outputs.assign(function.outputs.begin(), function.outputs.end());
        RequireNoUses(free);
        RequireNoUses(ResolveScope(std::move(scope), function.nodes));
      });
  in_function_ = false;
  return function;
}

template <typename NodeField>
std::vector<Node> Converter::ConvertNodes(NodeField* field, Scope& scope) {
  std::vector<Node> nodes;
  nodes.reserve(static_cast<std::size_t>(field->size()));
  scope.captured.resize(static_cast<std::size_t>(field->size()));
  for (::onnx::NodeProto& proto : *field) {
    nodes.push_back(ConvertNode(proto, scope.captured[nodes.size()]));
  }
  return nodes;
}

Node Converter::ConvertNode(::onnx::NodeProto& proto, Captured& captured) {
  Node node;
  node.name = std::move(*proto.mutable_name());
  node.op_type = std::move(*proto.mutable_op_type());
  node.domain = TakeDomain(proto.mutable_domain());
  node.overload = std::move(*proto.mutable_overload());
  node.inputs = TakeStrings(proto.mutable_input());
  node.outputs = TakeStrings(proto.mutable_output());
  InContext([&] { return NodeLabel(node); },
            [&] {
              if (node.op_type.empty()) {
                throw Corrupt("it has no operator type");
              }
              node.attributes =
                  ConvertAttributes(proto.mutable_attribute(), captured);
            });
  return node;
}

std::vector<Attribute> Converter::ConvertAttributes(
    ::google::protobuf::RepeatedPtrField<::onnx::AttributeProto>* field,
    Captured& captured) {
  std::vector<Attribute> attributes;
  attributes.reserve(static_cast<std::size_t>(field->size()));
  for (::onnx::AttributeProto& proto : *field) {
    attributes.push_back(
        InContext([&] { return "attribute " + Quoted(proto.name()); },
                  [&] { return ConvertAttribute(proto, captured); }));
  }
  RequireDistinctNames(attributes, "attribute");
  return attributes;
}

Attribute Converter::ConvertAttribute(::onnx::AttributeProto& proto,
                                      Captured& captured) {
  Attribute attribute;
  attribute.kind = AttributeKindOf(proto);
  attribute.ref_attr_name = std::move(*proto.mutable_ref_attr_name());
  if (attribute.ref_attr_name.empty()) {
    RequireAttributeValue(proto, attribute.kind);
  } else if (!in_function_) {
    throw Corrupt(
        "it refers to {}, an attribute of a function, outside of any function",
        Quoted(attribute.ref_attr_name));
  }
  attribute.i = proto.i();
  attribute.f = proto.f();
  attribute.s = std::move(*proto.mutable_s());
  attribute.ints.assign(proto.ints().begin(), proto.ints().end());
  attribute.floats.assign(proto.floats().begin(), proto.floats().end());
  attribute.strings = TakeStrings(proto.mutable_strings());
  ConvertTensors(proto, attribute);
  ConvertGraphs(proto, attribute, captured);
  if (proto.has_tp()) attribute.type = ConvertType(proto.tp());
  attribute.name = std::move(*proto.mutable_name());
  return attribute;
}

void Converter::ConvertTensors(::onnx::AttributeProto& proto,
                               Attribute& attribute) {
  if (proto.has_t()) {
    attribute.tensors.push_back(ConvertTensor(*proto.mutable_t(), skipped_));
  }
  for (::onnx::TensorProto& tensor : *proto.mutable_tensors()) {
    attribute.tensors.push_back(ConvertTensor(tensor, skipped_));
  }
  if (proto.has_sparse_tensor()) {
    attribute.tensors.push_back(Dense(*proto.mutable_sparse_tensor()));
  }
  for (::onnx::SparseTensorProto& tensor : *proto.mutable_sparse_tensors()) {
    attribute.tensors.push_back(Dense(tensor));
  }
}

void Converter::ConvertGraphs(::onnx::AttributeProto& proto,
                              Attribute& attribute, Captured& captured) {
  const auto convert = [&](::onnx::GraphProto& graph) {
    attribute.graphs.push_back(
        std::make_shared<const Graph>(ConvertGraph(graph, captured)));
  };
  if (proto.has_g()) convert(*proto.mutable_g());
  for (::onnx::GraphProto& graph : *proto.mutable_graphs()) convert(graph);
}

void CheckIrVersion(const ::onnx::ModelProto& proto) {
  if (!proto.has_ir_version()) throw Corrupt("the model has no IR version");
  const std::int64_t version = proto.ir_version();
  if (version >= kOldestIrVersion && version <= kNewestIrVersion) return;
  throw Unsupported("IR version {}, supported are {} to {}", version,
                    kOldestIrVersion, kNewestIrVersion);
}

}  // namespace

Model ConvertModel(::onnx::ModelProto& proto,
                   const std::vector<SkippedPayload>& skipped,
                   const ReadOptions& options) {
  if (!proto.has_graph()) throw Corrupt("the model has no graph");
  CheckIrVersion(proto);
  Model model;
  model.ir_version = proto.ir_version();
  model.producer_name = std::move(*proto.mutable_producer_name());
  model.producer_version = std::move(*proto.mutable_producer_version());
  model.opset_imports = ConvertOpsets(proto.mutable_opset_import());
  if (model.opset_imports.empty()) {
    throw Corrupt("the model imports no operator set");
  }
  Converter converter(skipped, options);
  std::vector<NameUse> free;
  model.graph = converter.ConvertGraph(*proto.mutable_graph(), free);
  RequireNoUses(free);
  model.functions.reserve(static_cast<std::size_t>(proto.functions_size()));
  for (::onnx::FunctionProto& function : *proto.mutable_functions()) {
    model.functions.push_back(converter.ConvertFunction(function));
  }
  return model;
}

}  // namespace foretell::onnx
