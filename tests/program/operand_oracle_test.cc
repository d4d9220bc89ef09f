// LibTorch's kernels for the CPU as an oracle of what a trace has to refuse.
//
// data/right_calls.txt holds calls that LibTorch takes, one a line: those that
// its own tests make of each operator with a row in src/program/checks, and
// those of the modules of torch.nn. None may be refused. Then one tensor of a
// call at a time gets another shape or element type, and both devices have to
// agree, save where CUDA differs from the CPU.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/error.h"
#include "foretell/program.h"
#include "foretell/trace.h"
#include "src/program/recorder.h"

namespace foretell {
namespace {

using c10::IValue;
using c10::TypeKind;
using Words = std::vector<std::string>;

Words Split(std::string_view text, char separator) {
  Words words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool IsTensor(std::string_view word) { return word.ends_with(']'); }

/// "f32[2,3]", of halves or zeros.
at::Tensor TensorOf(const std::string& word, at::Device device) {
  const std::size_t bracket = word.find('[');
  const at::ScalarType type =
      ToScalarType(*ParseDType(word.substr(0, bracket)));
  std::vector<std::int64_t> sizes;
  for (const std::string& size :
       Split(word.substr(bracket + 1, word.size() - bracket - 2), ',')) {
    sizes.push_back(std::stoll(size));
  }
  const double value = at::isIntegralType(type, true) ? 0 : 0.5;
  return at::full(sizes, value, at::TensorOptions().dtype(type).device(device));
}

IValue ValueOf(const std::string& word, const c10::Type& type,
               at::Device device);

template <typename T, typename Convert>
c10::List<T> ListOf(const Words& words, const Convert& convert) {
  c10::List<T> list;
  for (const std::string& word : words) list.push_back(convert(word));
  return list;
}

/// "(1;2)": by the type of its elements.
IValue ListValueOf(const std::string& word, const c10::Type& element,
                   at::Device device) {
  const Words words = Split(word.substr(1, word.size() - 2), ';');
  switch (element.kind()) {
    case TypeKind::TensorType:
      return ListOf<at::Tensor>(
          words, [&](const auto& each) { return TensorOf(each, device); });
    case TypeKind::OptionalType:
      return ListOf<std::optional<at::Tensor>>(
          words, [&](const auto& each) -> std::optional<at::Tensor> {
            if (!IsTensor(each)) return std::nullopt;
            return TensorOf(each, device);
          });
    case TypeKind::FloatType:
      return ListOf<double>(words,
                            [](const auto& each) { return std::stod(each); });
    default:
      return ListOf<std::int64_t>(
          words, [](const auto& each) { return std::stoll(each); });
  }
}

IValue ValueOf(const std::string& word, const c10::Type& type,
               at::Device device) {
  const bool is_optional = type.kind() == TypeKind::OptionalType;
  const c10::Type& held = is_optional ? *type.containedType(0) : type;
  if (word == "none") return is_optional ? IValue() : IValue(at::Tensor());
  if (word == "true" || word == "false") return word == "true";
  if (word.front() == '\'') return word.substr(1, word.size() - 2);
  if (word.front() == '(') {
    return ListValueOf(word, *held.containedType(0), device);
  }
  if (IsTensor(word)) return TensorOf(word, device);
  const bool is_integer = word.find_first_not_of("-0123456789") == word.npos &&
                          held.kind() != TypeKind::FloatType;
  if (is_integer) return std::int64_t{std::stoll(word)};
  return std::stod(word);
}

std::string FirstLine(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// What is said against `call`; empty when it is taken.
std::string Refusal(const std::string& call, at::Device device) {
  const Words words = Split(call, ' ');
  const Words name = Split(words.front(), '.');
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(
      ("aten::" + name[0]).c_str(), name.size() > 1 ? name[1].c_str() : "");
  torch::jit::Stack stack;
  const std::vector<c10::Argument>& arguments = op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    stack.push_back(ValueOf(words.at(i + 1), *arguments[i].type(), device));
  }
  try {
    op.callBoxed(&stack);
    return "";
  } catch (const c10::Error& error) {
    return FirstLine(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return FirstLine(error.what());
  }
}

std::string RefusalOnMeta(const std::string& call) {
  const Recorder recorder({}, at::kMeta);
  return Refusal(call, at::kMeta);
}

Words RightCalls() {
  std::ifstream file(FORETELL_SOURCE_DIR "/tests/program/data/right_calls.txt");
  Words calls;
  for (std::string line; std::getline(file, line);) calls.push_back(line);
  return calls;
}

class OperandOracle : public testing::Test {
 protected:
  OperandOracle() { InitializeTracing(); }

 private:
  const at::NoGradGuard no_grad_;
};

TEST_F(OperandOracle, PassesWhatLibTorchsOwnTestsCall) {
  const Words calls = RightCalls();
  ASSERT_GT(calls.size(), 1000u);
  for (const std::string& call : calls) {
    ASSERT_EQ(Refusal(call, at::kCPU), "") << "no right call: " << call;
    EXPECT_EQ(RefusalOnMeta(call), "") << call;
  }
}

/// Other shapes and element types for the tensor `word`.
Words OtherTensors(const std::string& word) {
  const std::size_t bracket = word.find('[');
  const std::string type = word.substr(0, bracket);
  const Words sizes =
      Split(word.substr(bracket + 1, word.size() - bracket - 2), ',');
  Words others;
  for (const std::string_view other : {"f32", "f64", "i64", "bool"}) {
    if (other != type) {
      others.push_back(fmt::format("{}{}", other, word.substr(bracket)));
    }
  }
  const auto add = [&](const Words& shape) {
    others.push_back(fmt::format("{}[{}]", type, fmt::join(shape, ",")));
  };
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    Words shape = sizes;
    shape[axis] = fmt::format("{}", std::stoll(sizes[axis]) + 1);
    add(shape);
  }
  if (!sizes.empty()) add(Words(sizes.begin() + 1, sizes.end()));
  Words shape = sizes;
  shape.insert(shape.begin(), "2");
  add(shape);
  return others;
}

/// `call` with one tensor replaced, in each way.
Words WrongCalls(const std::string& call) {
  constexpr std::string_view kEnds = " ();";
  Words calls;
  for (std::size_t end = call.find(']'); end != call.npos;
       end = call.find(']', end + 1)) {
    const std::size_t begin = call.find_last_of(kEnds, end) + 1;
    const std::string word = call.substr(begin, end + 1 - begin);
    for (const std::string& other : OtherTensors(word)) {
      calls.push_back(call.substr(0, begin) + other + call.substr(end + 1));
    }
  }
  return calls;
}

/// oneDNN's layers read weights of any shape, beyond their end.
bool CrashesTheCpu(std::string_view name) {
  constexpr std::string_view kLayers[] = {"lstm.", "gru.", "rnn_tanh.",
                                          "rnn_relu."};
  return std::ranges::any_of(
      kLayers, [&](std::string_view layer) { return name.starts_with(layer); });
}

/// Where CUDA differs from the CPU, seen on an H200: what is refused there
/// alone for a bias, a state or statistics of another type, and what it takes.
struct Difference {
  std::string_view name;
  std::string_view refusal;  ///< Part of what one device says.
};

constexpr Difference kOnlyOnCuda[] = {
    {"_convolution", "has a bias of type"},
    {"_native_multi_head_attention", "has qkv_bias of type"},
    {"conv", "has a bias of type"},
    {"index_put_", "puts elements of type"},  // The CPU fills by such a mask.
    {"lstm_cell", "has a state of type"},
    {"scaled_dot_product_attention", "keys and"},
};

constexpr Difference kOnlyOnTheCpu[] = {
    {"_batch_norm_with_update", ""},
    {"_native_batch_norm_legit", ""},
    {"batch_norm", ""},
    {"ctc_loss", "Expected tensor to have size"},  // What the lengths hold.
    {"embedding_bag", "per_sample_weights"},
    {"index_put_", "indexing result of shape [0]"},  // What the mask holds.
    {"instance_norm", "expected scalar type"},
    {"max_unpool", "not implemented"},
    {"median", "not implemented"},
    {"nanmedian", "not implemented"},
    {"native_batch_norm", ""},
    {"round.decimals", "not implemented"},
    {"trace", "not implemented"},
};

template <std::size_t kSize>
bool IsKnown(const Difference (&differences)[kSize], std::string_view call,
             std::string_view refusal) {
  return std::ranges::any_of(differences, [&](const Difference& known) {
    return call.starts_with(known.name) &&
           refusal.find(known.refusal) != refusal.npos;
  });
}

/// Without elements, kernels often leave before they look at a type.
bool HasNoElements(std::string_view call) {
  return call.find("[0") != call.npos || call.find(",0,") != call.npos ||
         call.find(",0]") != call.npos;
}

/// Whether meta says of `call` what it should.
void ExpectAgreement(const std::string& call, const std::string& on_meta,
                     const std::string& on_cpu) {
  if (on_meta.empty() == on_cpu.empty()) return;
  const bool is_known = on_meta.empty() ? IsKnown(kOnlyOnTheCpu, call, on_cpu)
                                        : IsKnown(kOnlyOnCuda, call, on_meta);
  EXPECT_TRUE(is_known) << call << "\nCPU: " << on_cpu << "\nmeta: " << on_meta;
}

TEST_F(OperandOracle, RefusesWhatTheCpuRefuses) {
  constexpr int kCallsOfEach = 2;
  std::map<std::string, int> seen;
  int num_refused = 0;
  for (const std::string& right : RightCalls()) {
    const std::string name = right.substr(0, right.find(' '));
    if (HasNoElements(right) || CrashesTheCpu(name)) continue;
    if (++seen[name] > kCallsOfEach) continue;
    for (const std::string& call : WrongCalls(right)) {
      const std::string on_cpu = Refusal(call, at::kCPU);
      ExpectAgreement(call, RefusalOnMeta(call), on_cpu);
      num_refused += on_cpu.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(num_refused, 1000);
}

}  // namespace
}  // namespace foretell
