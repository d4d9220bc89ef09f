#pragma once

#include <caffe2/serialize/inline_container.h>
#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "foretell/frontends.h"
#include "foretell/trace.h"
#include "tests/frontends/script_file.h"

/// Files of torch.export that tests write without Python.
namespace foretell::exported {

using Records = std::vector<std::pair<std::string, std::string>>;

/// JSON of a tensor's entry in `tensor_values`.
inline std::string TensorJson(const std::string& sizes, int dtype = 7,
                              bool trains = false) {
  std::string list;
  for (std::size_t begin = 0; begin < sizes.size();) {
    const std::size_t comma = std::min(sizes.find(',', begin), sizes.size());
    list += fmt::format(R"({}{{"as_int": {}}})", list.empty() ? "" : ", ",
                        sizes.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return fmt::format(
      R"({{"dtype": {}, "sizes": [{}], "requires_grad": {}, "layout": 7,
           "strides": [], "storage_offset": {{"as_int": 0}},
           "device": {{"type": "cpu", "index": null}}}})",
      dtype, list, trains);
}

/// A node of one result `name`: `inputs` is JSON, a list of the schema's
/// NamedArgument.
inline std::string NodeJson(const std::string& name, const std::string& target,
                            const std::string& inputs) {
  return fmt::format(
      R"({{"name": "{}", "target": "{}", "inputs": [{}],
           "outputs": [{{"as_tensor": {{"name": "{}"}}}}], "metadata": {{}}}})",
      name, target, inputs, name);
}

/// `"arg": value` under a name of the schema.
inline std::string Named(const std::string& name, const std::string& argument) {
  return fmt::format(R"({{"name": "{}", "arg": {}}})", name, argument);
}
inline std::string TensorArgument(const std::string& value) {
  return fmt::format(R"({{"as_tensor": {{"name": "{}"}}}})", value);
}
inline std::string GraphArgument(const std::string& graph) {
  return fmt::format(R"({{"as_graph": {{"name": "g", "graph": {}}}}})", graph);
}

/// A graph of the named tensors; `values` are their entries.
inline std::string GraphJson(const std::vector<std::string>& inputs,
                             const std::string& nodes,
                             const std::string& output,
                             const std::string& values = "") {
  std::string list;
  for (const std::string& input : inputs) {
    list += (list.empty() ? "" : ", ") + TensorArgument(input);
  }
  return fmt::format(
      R"({{"inputs": [{}], "outputs": [{}], "nodes": [{}],
           "tensor_values": {{{}}}, "sym_int_values": {{}},
           "sym_bool_values": {{}}}})",
      list, output, nodes, values);
}

/// A model that takes a weight "w" f32[4,4] and "x" f32[2,4].
inline std::string ModelJson(const std::string& nodes,
                             const std::string& output, int major = 8,
                             int minor = 20) {
  const std::string graph =
      GraphJson({"w", "x"}, nodes, output,
                fmt::format(R"("w": {}, "x": {})", TensorJson("4,4", 7, true),
                            TensorJson("2,4")));
  return fmt::format(
      R"({{"schema_version": {{"major": {}, "minor": {}}},
           "torch_version": "2.13.0", "verifiers": ["TRAINING"],
           "range_constraints": {{}}, "graph_module": {{"graph": {},
           "signature": {{"input_specs": [
             {{"parameter": {{"arg": {{"name": "w"}}, "parameter_name": "w"}}}},
             {{"user_input": {{"arg": {}}}}}],
           "output_specs": [{{"user_output": {{"arg": {}}}}}]}}}}}})",
      major, minor, graph, TensorArgument("x"), output);
}

/// The archive of `records` in a file.
class SavedProgram {
 public:
  explicit SavedProgram(const Records& records) : file_(FreshName()) {
    caffe2::serialize::PyTorchStreamWriter writer(file_.path());
    for (const auto& [name, text] : records) {
      writer.writeRecord(name, text.data(), text.size());
    }
    writer.writeEndOfFile();
  }
  explicit SavedProgram(const std::string& model)
      : SavedProgram(
            Records{{"archive_format", "pt2"}, {"models/model.json", model}}) {}

  const std::string& path() const { return file_.path(); }
  Program Load() const {
    return LoadModel(file_.path(), {.sandbox = Sandbox::kOff});
  }
  Trace Run(const TraceOptions& options = {}) const {
    const Program program = Load();
    return TraceProgram(
        program, BindInputs(program.inputs(), {}, program.name()), options);
  }

 private:
  /// Several may be open at once.
  static std::string FreshName() {
    static int count = 0;
    return fmt::format("exported{}.pt2", ++count);
  }

  torchscript::TemporaryFile file_;
};

}  // namespace foretell::exported
