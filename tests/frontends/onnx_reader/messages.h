#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "frontends/onnx/reader/model.h"
#include "onnx-ml.pb.h"

namespace foretell::onnx {

using Names = std::vector<std::string>;

/// A model with IR version 8, opset 17 and an empty graph "g".
::onnx::ModelProto EmptyModel();
/// EmptyModel() with `y = Relu(x)` on f32[2], nodes and values complete.
::onnx::ModelProto ReluModel();

::onnx::NodeProto& AddNode(::onnx::GraphProto& graph,
                           const std::string& op_type, const Names& inputs,
                           const Names& outputs);
void AddInput(::onnx::GraphProto& graph, const std::string& name,
              const std::vector<std::int64_t>& dims = {2});
void AddOutput(::onnx::GraphProto& graph, const std::string& name);
/// An initializer without payload.
::onnx::TensorProto& AddInitializer(::onnx::GraphProto& graph,
                                    const std::string& name,
                                    std::int32_t data_type,
                                    const std::vector<std::int64_t>& dims);
/// An attribute that holds an empty graph, as If has.
::onnx::GraphProto& AddBranch(::onnx::NodeProto& node, const std::string& name);

/// Reads `proto` from memory as "m.onnx".
Model Read(const ::onnx::ModelProto& proto, const ReadOptions& options = {});
/// Reads ReluModel() with one initializer more and returns that.
TensorLiteral ReadTensor(const ::onnx::TensorProto& tensor,
                         const ReadOptions& options = {});

/// Runs `body`, expects an Error and returns "code: message".
std::string ErrorOf(const std::function<void()>& body);
std::string ErrorOf(const ::onnx::ModelProto& proto);

/// The file tests/frontends/onnx_reader/data/`name`.
std::string DataPath(const std::string& name);
/// Names of the ten tiny files.
std::vector<std::string> TinyFiles();
std::string FileBytes(const std::string& path);

}  // namespace foretell::onnx
