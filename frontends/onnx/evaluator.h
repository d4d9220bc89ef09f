#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "foretell/error.h"
#include "foretell/program.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/reader/functions.h"
#include "frontends/onnx/reader/model.h"
#include "frontends/onnx/value.h"

namespace foretell::onnx {

class Liveness;

/// Values by name while a graph or function body runs; names of enclosing
/// graphs stay visible, names of the caller of a function do not.
class Frame {
 public:
  Frame(const Frame* outer, const std::map<std::string, std::int64_t>& opsets)
      : outer_(outer), opsets_(opsets) {}

  /// The value, searched outwards; nullptr when nothing defines it.
  const Value* Find(const std::string& name) const;
  void Define(const std::string& name, Value value);
  void Erase(const std::string& name) { values_.erase(name); }

  const std::map<std::string, std::int64_t>& opsets() const { return opsets_; }
  /// Binds an attribute of a function call, or its default.
  void BindAttribute(std::string name, const Attribute* attribute);
  const Attribute* FindBoundAttribute(const std::string& name) const;

 private:
  const Frame* outer_;
  const std::map<std::string, std::int64_t>& opsets_;
  std::unordered_map<std::string, Value> values_;
  std::map<std::string, const Attribute*> attributes_;
};

/// Executes the graph of a Model on one device. Initializers become parameters
/// when it is made; everything else dies after its last use.
class Evaluator {
 public:
  /// `model` must outlive the evaluator.
  Evaluator(const Model& model, const InstanceOptions& options);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;
  ~Evaluator();

  /// Runs the main graph on `inputs`, one for each graph input that is not an
  /// initializer, in order; returns the graph's outputs.
  std::vector<Value> Run(std::vector<Value> inputs);

  /// Runs `body`, its inputs bound in order to `inputs`, inside `outer`.
  std::vector<Value> RunGraph(const Graph& body, const Frame* outer,
                              const std::map<std::string, std::int64_t>& opsets,
                              std::vector<Value> inputs);

  const Model& model() const { return model_; }
  const InstanceOptions& options() const { return options_; }
  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  const std::vector<NamedTensor>& buffers() const { return buffers_; }
  const std::string& current_scope() const { return scope_; }

  /// `host` on the device; constants of the file are moved once and kept.
  at::Tensor OnDevice(const at::Tensor& host);
  /// The literal on the host where its payload was read, else on the device
  /// with random content.
  at::Tensor Literal(const TensorLiteral& literal);

  /// The file's literal of a device tensor whose payload was read; nullptr for
  /// any other tensor.
  const TensorLiteral* LiteralOf(const at::Tensor& tensor) const;
  /// Counts the copying of `num_elements` elements of a sequence as work;
  /// throws Error(kUnsupported) if a run does more work than any network needs.
  void CountCopies(std::size_t num_elements);
  /// "file: node 'name' (Operator): ", the beginning of every message.
  std::string Place(const Node& node) const;

 private:
  /// A constant of the file on its way to the device.
  struct ConstantInfo {
    std::string name;
    bool trainable = false;
    const TensorLiteral* literal = nullptr;

    TensorRole role() const {
      return trainable ? TensorRole::kParameter : TensorRole::kBuffer;
    }
  };

  void AddInitializer(const TensorLiteral& literal, bool trainable);
  at::Tensor Constant(const TensorLiteral& literal, const std::string& name,
                      bool trainable);
  at::Tensor NewOnDevice(const ConstantInfo& info) const;
  void Register(at::Tensor& tensor, const ConstantInfo& info);
  std::vector<Value> RunBody(const std::vector<Node>& nodes,
                             const std::vector<std::string>& outputs,
                             Frame& frame);
  void Execute(const Node& node, Frame& frame);
  [[noreturn]] void Rethrow(const Node& node, ErrorCode code,
                            const std::string& message) const;
  void CallFunction(const Function& function, const Node& node, Frame& frame);
  const Liveness& LivenessOf(const std::vector<Node>& nodes,
                             const std::vector<std::string>& outputs);

  const Model& model_;
  InstanceOptions options_;
  FunctionIndex functions_;
  Frame root_;
  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> buffers_;
  /// Host constants of the file, and their copies on the device.
  std::unordered_map<const at::TensorImpl*, ConstantInfo> constants_;
  std::unordered_map<const at::TensorImpl*, at::Tensor> device_copies_;
  std::unordered_map<const at::TensorImpl*, const TensorLiteral*> literals_;
  std::unordered_map<const TensorLiteral*, at::Tensor> attribute_literals_;
  std::unordered_map<const void*, std::unique_ptr<Liveness>> liveness_;
  std::string scope_;
  int depth_ = 0;
  std::int64_t work_ = 0;  ///< Work of this run, in elements copied.
};

}  // namespace foretell::onnx
