#include "tests/conformance/run_case.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "foretell/trace.h"
#include "frontends/onnx/evaluator.h"
#include "frontends/onnx/fusion/fuse.h"
#include "frontends/onnx/literals.h"
#include "frontends/onnx/reader/model.h"
#include "frontends/onnx/unsupported.h"
#include "src/program/recorder.h"
#include "tests/conformance/case_value.h"
#include "tests/conformance/comparison.h"

namespace foretell::conformance {
namespace {

using onnx::Attribute;
using onnx::Evaluator;
using onnx::Graph;
using onnx::Model;
using onnx::Node;
using onnx::TypeInfo;
using onnx::Value;
using onnx::ValueInfo;

// ---- Cases that draw random numbers ----------------------------------------

struct RandomCase {
  std::string_view name;
  std::string_view reason;
};

constexpr std::string_view kDrawsBernoulli =
    "draws from a Bernoulli distribution";
constexpr std::string_view kDropsAtRandom = "drops elements at random";

constexpr RandomCase kRandomCases[] = {
    {"test_bernoulli", kDrawsBernoulli},
    {"test_bernoulli_double", kDrawsBernoulli},
    {"test_bernoulli_double_expanded", kDrawsBernoulli},
    {"test_bernoulli_expanded", kDrawsBernoulli},
    {"test_bernoulli_seed", kDrawsBernoulli},
    {"test_bernoulli_seed_expanded", kDrawsBernoulli},
    {"test_training_dropout", kDropsAtRandom},
    {"test_training_dropout_default", kDropsAtRandom},
    {"test_training_dropout_default_mask", kDropsAtRandom},
    {"test_training_dropout_mask", kDropsAtRandom},
};

Strictness StrictnessOf(const Case& target) {
  return ReasonForRandomness(target.name) ? Strictness::kTypesAndShape
                                          : Strictness::kValues;
}

// ---- Cases that need a wider tolerance -------------------------------------

struct WideCase {
  std::string_view name;
  Tolerance tolerance;
  std::string_view reason;
};

constexpr std::string_view kNoiseAtZero =
    "an exact zero is expected as the rounding noise of NumPy's FFT, 2e-7";
constexpr std::string_view kHalfPrecision =
    "the exact value lies between both, which are two units in the last place "
    "of fp16 apart";

constexpr WideCase kWideCases[] = {
    {"test_attention_4d_causal_fp16_expanded",
     {.rtol = 1.0 / 512},
     kHalfPrecision},
    {"test_dft_inverse", {.atol = 5e-7}, kNoiseAtZero},
    {"test_dft_inverse_opset19", {.atol = 5e-7}, kNoiseAtZero},
};

/// The tolerance that the case's files or the table above give.
Tolerance ToleranceOf(const Case& target) {
  for (const WideCase& row : kWideCases) {
    if (row.name == target.name) return row.tolerance;
  }
  return target.ReadTolerance();
}

// ---- What a model holds ----------------------------------------------------

void CollectOperators(const std::vector<Node>& nodes,
                      std::set<std::string>& names) {
  for (const Node& node : nodes) {
    names.insert(node.domain.empty() ? node.op_type
                                     : node.domain + "::" + node.op_type);
    for (const Attribute& attribute : node.attributes) {
      for (const std::shared_ptr<const Graph>& body : attribute.graphs) {
        CollectOperators(body->nodes, names);
      }
    }
  }
}

std::vector<std::string> OperatorsOf(const Model& model) {
  std::set<std::string> names;
  CollectOperators(model.graph.nodes, names);
  for (const onnx::Function& function : model.functions) {
    CollectOperators(function.nodes, names);
  }
  return {names.begin(), names.end()};
}

std::string ElementTypeName(const TypeInfo& type) {
  return type.element ? ElementTypeName(*type.element)
                      : onnx::DataTypeName(type.elem_type);
}

bool NamesWhatIsLacking(const std::string& message, const Model& model) {
  for (const std::string& qualified : OperatorsOf(model)) {
    const size_t colons = qualified.rfind("::");
    const std::string name =
        colons == std::string::npos ? qualified : qualified.substr(colons + 2);
    if (message.find(name) != std::string::npos) return true;
  }
  for (const auto* infos : {&model.graph.inputs, &model.graph.outputs}) {
    for (const ValueInfo& info : *infos) {
      const std::string type = ElementTypeName(info.type);
      if (message.find(type) != std::string::npos) return true;
    }
  }
  return false;
}

// ---- Inputs and outputs ----------------------------------------------------

Value ToValue(const CaseValue& read) {
  std::vector<at::Tensor> tensors;
  for (const onnx::TensorLiteral& literal : read.tensors) {
    tensors.push_back(onnx::HostTensor(literal, Precision::kFp32));
  }
  switch (read.kind) {
    case CaseValue::Kind::kTensor:
      return tensors.front();
    case CaseValue::Kind::kSequence:
      return tensors;
    case CaseValue::Kind::kAbsent:
      break;
  }
  return std::monostate();
}

/// Types of the inputs that the caller gives: those without an initializer.
std::vector<ValueInfo> FreeInputs(const Graph& graph) {
  std::set<std::string> given;
  for (const onnx::TensorLiteral& literal : graph.initializers) {
    given.insert(literal.name);
  }
  std::vector<ValueInfo> inputs = graph.inputs;
  std::erase_if(inputs, [&](const ValueInfo& input) {
    return given.contains(input.name);
  });
  return inputs;
}

std::vector<Value> ReadValues(const std::filesystem::path& data_set,
                              const std::string& prefix,
                              const std::vector<ValueInfo>& infos) {
  const std::vector<std::filesystem::path> files =
      NumberedFiles(data_set, prefix);
  if (files.size() > infos.size()) {
    throw Error(ErrorCode::kCorrupt, data_set.string() + ": " +
                                         std::to_string(files.size()) + " " +
                                         prefix + " files, but the model has " +
                                         std::to_string(infos.size()));
  }
  std::vector<Value> values;
  for (size_t i = 0; i < files.size(); ++i) {
    try {
      values.push_back(ToValue(ReadCaseValue(files[i], infos[i].type)));
    } catch (const Error& error) {
      throw WithContext(prefix + " '" + infos[i].name + "'", error);
    }
  }
  return values;
}

// ---- Products --------------------------------------------------------------

/// Operators of ai.onnx that multiply matrices or convolve. Eager PyTorch
/// spends no multiply-accumulate on any other, however a lowering computes it.
constexpr std::string_view kProducts[] = {"Attention",
                                          "CausalConvWithState",
                                          "Conv",
                                          "ConvInteger",
                                          "ConvTranspose",
                                          "DeformConv",
                                          "Einsum",
                                          "GRU",
                                          "Gemm",
                                          "LSTM",
                                          "LinearAttention",
                                          "MatMul",
                                          "MatMulInteger",
                                          "QLinearConv",
                                          "QLinearMatMul",
                                          "RNN",
                                          "ai.onnx.preview::FlexAttention"};

bool HasProduct(const std::vector<std::string>& operators) {
  return std::ranges::any_of(kProducts, [&](std::string_view product) {
    return std::ranges::find(operators, product) != operators.end();
  });
}

/// Multiply-accumulates of a run on `inputs`; 0 where no graph can hold it.
std::int64_t MacsOfRun(const Model& model, const std::vector<Value>& inputs) {
  InitializeTracing();
  try {
    Recorder recorder({}, at::kCPU);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto* tensor = std::get_if<at::Tensor>(&inputs[i]);
      if (tensor == nullptr) continue;
      recorder.AddSource("input" + std::to_string(i), *tensor);
      recorder.MarkInput(*tensor);
    }
    Evaluator evaluator(model, {.device = at::Device(at::kCPU)});
    evaluator.Run(inputs);
    return recorder.Finish().ForwardMacs();
  } catch (const Error&) {
    return 0;
  }
}

/// What is wrong with the outputs of one data set; empty when nothing is.
/// `operators` are the file's, before any of them were fused.
std::string RunDataSet(const Case& target, const Model& model,
                       const std::vector<std::string>& operators,
                       const std::filesystem::path& data_set) {
  std::vector<Value> inputs =
      ReadValues(data_set, "input", FreeInputs(model.graph));
  if (!HasProduct(operators)) {
    const std::int64_t macs = MacsOfRun(model, inputs);
    if (macs > 0) {
      return "counts " + std::to_string(macs) +
             " multiply-accumulates, and no operator is a product";
    }
  }
  Evaluator evaluator(model, {.device = at::Device(at::kCPU)});
  const std::vector<Value> actual = evaluator.Run(std::move(inputs));
  const std::vector<Value> expected =
      ReadValues(data_set, "output", model.graph.outputs);
  if (actual.size() < expected.size()) {
    return std::to_string(actual.size()) + " outputs, expected " +
           std::to_string(expected.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::optional<std::string> difference = Difference(
        expected[i], actual[i], ToleranceOf(target), StrictnessOf(target));
    if (difference) return "output " + std::to_string(i) + ": " + *difference;
  }
  return "";
}

void RunModel(const Case& target, const Model& model, CaseResult& result) {
  const std::vector<std::string> unsupported =
      onnx::UnsupportedOperators(model);
  if (!unsupported.empty()) {
    throw Error(ErrorCode::kUnsupported, unsupported.front());
  }
  const std::vector<std::filesystem::path> data_sets = target.DataSets();
  if (data_sets.empty()) {
    throw Error(ErrorCode::kCorrupt, "the case has no data set");
  }
  for (const std::filesystem::path& data_set : data_sets) {
    result.message = RunDataSet(target, model, result.operators, data_set);
    if (!result.message.empty()) {
      result.outcome = Outcome::kWrong;
      return;
    }
  }
  result.outcome = Outcome::kPass;
}

/// `text` without the folder of the case, which differs from run to run, and on
/// one line.
std::string Tidy(std::string text, const Case& target) {
  const std::string prefix = target.folder.string() + "/";
  for (size_t at; (at = text.find(prefix)) != std::string::npos;) {
    text.erase(at, prefix.size());
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::optional<std::string_view> ReasonForRandomness(std::string_view name) {
  for (const RandomCase& row : kRandomCases) {
    if (row.name == name) return row.reason;
  }
  return std::nullopt;
}

CaseResult RunCase(const Case& target, Fusion fusion) {
  CaseResult result{.group = target.group, .name = target.name};
  const at::NoGradGuard no_grad;
  Model model;
  try {
    model = onnx::ReadModel(
        target.ModelPath().string(),
        {.max_payload_bytes = std::numeric_limits<std::int64_t>::max()});
    result.operators = OperatorsOf(model);
    if (fusion != Fusion::kOff) {
      model = onnx::RecogniseFusedPatterns(std::move(model), fusion);
    }
    RunModel(target, model, result);
  } catch (const Error& error) {
    result.message = Tidy(error.what(), target);
    const bool refused = error.code() == ErrorCode::kUnsupported &&
                         NamesWhatIsLacking(result.message, model);
    result.outcome = refused ? Outcome::kRefused : Outcome::kError;
  } catch (const std::exception& error) {
    result.message = Tidy(error.what(), target);
    result.outcome = Outcome::kError;
  }
  return result;
}

}  // namespace foretell::conformance
