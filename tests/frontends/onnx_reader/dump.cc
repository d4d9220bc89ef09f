#include "tests/frontends/onnx_reader/dump.h"

#include <cstdio>
#include <sstream>

namespace foretell::onnx {
namespace {

std::string Hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(c));
    text += digits;
  }
  return text;
}

class Dumper {
 public:
  explicit Dumper(bool with_payloads) : with_payloads_(with_payloads) {}

  std::string Take() { return out_.str(); }

  template <typename Items>
  void List(const char* what, const Items& items) {
    out_ << what << " [";
    for (const auto& item : items) out_ << item << ",";
    out_ << "] ";
  }

  void Add(const TypeInfo& type) {
    out_ << "type " << static_cast<int>(type.kind) << "/" << type.elem_type;
    if (type.shape) {
      for (const Dim& dim : *type.shape) {
        out_ << " " << (dim.value ? std::to_string(*dim.value) : "?")
             << dim.symbol;
      }
    }
    if (type.element) Add(*type.element);
    out_ << ";";
  }

  void Add(const TensorLiteral& tensor) {
    out_ << "  tensor " << tensor.name << " " << DataTypeName(tensor.data_type);
    List("", tensor.dims);
    if (with_payloads_) {
      out_ << static_cast<int>(tensor.payload) << " " << Hex(tensor.bytes);
      List("", tensor.strings);
    }
    out_ << "\n";
  }

  void Add(const Attribute& attribute) {
    out_ << " attribute " << attribute.name << " "
         << static_cast<int>(attribute.kind) << " " << attribute.ref_attr_name
         << " " << attribute.i << " " << attribute.f << " " << attribute.s;
    List(" ints", attribute.ints);
    List("floats", attribute.floats);
    List("strings", attribute.strings);
    if (attribute.type) Add(*attribute.type);
    out_ << "\n";
    for (const TensorLiteral& tensor : attribute.tensors) Add(tensor);
    for (const auto& graph : attribute.graphs) Add(*graph);
  }

  void Add(const Node& node) {
    out_ << "node " << node.name << " " << node.domain << "." << node.op_type
         << ":" << node.overload << " ";
    List("in", node.inputs);
    List("out", node.outputs);
    out_ << "\n";
    for (const Attribute& attribute : node.attributes) Add(attribute);
  }

  void Add(const ValueInfo& value) {
    out_ << "value " << value.name << " ";
    Add(value.type);
    out_ << "\n";
  }

  void Add(const Graph& graph) {
    out_ << "graph " << graph.name << "\n";
    for (const ValueInfo& input : graph.inputs) Add(input);
    for (const TensorLiteral& tensor : graph.initializers) Add(tensor);
    for (const Node& node : graph.nodes) Add(node);
    for (const ValueInfo& output : graph.outputs) Add(output);
    out_ << "end\n";
  }

  void Add(const std::map<std::string, std::int64_t>& imports) {
    for (const auto& [domain, version] : imports) {
      out_ << "opset '" << domain << "' " << version << "\n";
    }
  }

  void Add(const Function& function) {
    out_ << "function " << function.domain << "." << function.name << ":"
         << function.overload << " ";
    List("in", function.inputs);
    List("out", function.outputs);
    List("attributes", function.attributes);
    out_ << "\n";
    Add(function.opset_imports);
    for (const Attribute& attribute : function.attribute_protos) Add(attribute);
    for (const Node& node : function.nodes) Add(node);
  }

  void Add(const Model& model) {
    out_ << model.path << " ir " << model.ir_version << " by "
         << model.producer_name << " " << model.producer_version << "\n";
    Add(model.opset_imports);
    Add(model.graph);
    for (const Function& function : model.functions) Add(function);
  }

 private:
  bool with_payloads_;
  std::ostringstream out_;
};

}  // namespace

std::string Dump(const Model& model, bool with_payloads) {
  Dumper dumper(with_payloads);
  dumper.Add(model);
  return dumper.Take();
}

}  // namespace foretell::onnx
