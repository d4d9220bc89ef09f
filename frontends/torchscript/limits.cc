// Bounds on what a stranger's TorchScript may make LibTorch do.
//
// The interpreter cannot be interrupted, and whether a program ends cannot be
// read off its code. So the code is made to count: every function and every
// loop body gets one node of ours that subtracts the body's number of nodes
// from a budget and throws when it is spent. Nothing else can run for long:
// TorchScript has no other loops, and recursion passes through functions. A
// limit on time instead would make the answer depend on how busy the machine
// is. Operators on tensors cost more than a node; Recorder bounds their number.
//
// Two things happen before anything runs: LibTorch's parser recurses once per
// nesting level, and its executor inlines all calls, which lets n functions
// that call one another twice grow to 2^n nodes. Both are measured first.

#include "frontends/torchscript/limits.h"

#include <fmt/core.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <unordered_map>

#include "foretell/error.h"
#include "frontends/torchscript/run_budget.h"

namespace foretell::torchscript {
namespace {

constexpr char kStep[] = "foretell::count_steps";
constexpr int kMaxBrackets = 100;
constexpr int kMaxIndentation = 200;
/// Characters between two commas, brackets or line ends. A chain of operators
/// nests as deep as it is long.
constexpr int kMaxStretch = 1024;
/// LibTorch writes none; each nests one level deeper than its line shows.
constexpr int kMaxElifs = 100;
/// Nodes of a block between two counters. LibTorch puts a node whose result is
/// used once inside the next, recursively; a counter between them ends that.
constexpr std::int64_t kNodesPerCounter = 256;

void RegisterStepOperator() {
  static const torch::jit::RegisterOperators registered({torch::jit::Operator(
      std::string(kStep) + "(int steps) -> ()",
      [](torch::jit::Stack& stack) {
        ChargeSteps(torch::jit::pop(stack).toInt());
      },
      // Keeps dead code elimination away.
      c10::AliasAnalysisKind::CONSERVATIVE)});
}

/// Measures one text as it is fed character by character.
class Nesting {
 public:
  void Feed(char c) {
    if (quote_ != 0) return FeedString(c);
    if (c == '\n') {
      at_line_start_ = true;
      indentation_ = 0;
      if (brackets_ <= 0) stretch_ = 0;
      word_.clear();
      return;
    }
    if (at_line_start_ && c == ' ') {
      ++indentation_;
      return;
    }
    at_line_start_ = false;
    Count(c);
  }

  bool too_deep() const {
    return brackets_ > kMaxBrackets || indentation_ > kMaxIndentation ||
           stretch_ > kMaxStretch || elifs_ > kMaxElifs;
  }

 private:
  void FeedString(char c) {
    if (!escaped_ && c == quote_) quote_ = 0;
    escaped_ = !escaped_ && c == '\\';
  }

  void Count(char c) {
    ++stretch_;
    if (word_.size() < 5) word_ += c;
    if (word_ == "elif" && stretch_ == 4) ++elifs_;
    if (c == '"' || c == '\'') quote_ = c;
    if (c == '(' || c == '[' || c == '{') ++brackets_;
    if (c == ')' || c == ']' || c == '}') --brackets_;
    if (c == ',') stretch_ = 0;
  }

  int brackets_ = 0;
  int indentation_ = 0;
  int stretch_ = 0;
  int elifs_ = 0;
  std::string word_;  ///< Begin of the line.
  bool at_line_start_ = true;
  char quote_ = 0;
  bool escaped_ = false;
};

/// Sizes of functions with all their calls inlined.
class InlinedSizes {
 public:
  explicit InlinedSizes(const std::string& path) : path_(path) {}

  std::int64_t Of(torch::jit::GraphFunction& function) {
    const auto [entry, is_new] = sizes_.emplace(&function, kBeingMeasured);
    if (!is_new) {
      if (entry->second == kBeingMeasured) Refuse(function, "calls itself");
      return entry->second;
    }
    const std::int64_t size = OfBlock(*function.graph()->block());
    if (size > kMaxInlinedNodes) {
      Refuse(function,
             fmt::format("has more than {} nodes when its calls are inlined",
                         kMaxInlinedNodes));
    }
    sizes_[&function] = size;
    return size;
  }

 private:
  static constexpr std::int64_t kBeingMeasured = -1;

  std::int64_t OfBlock(torch::jit::Block& block) {
    std::int64_t size = 0;
    for (torch::jit::Node* node : block.nodes()) {
      ++size;
      torch::jit::GraphFunction* callee = torch::jit::tryToGraphFunction(node);
      if (callee != nullptr) size += Of(*callee);
      for (torch::jit::Block* inner : node->blocks()) size += OfBlock(*inner);
    }
    return size;
  }

  [[noreturn]] void Refuse(const torch::jit::GraphFunction& function,
                           const std::string& why) const {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{}: function '{}' {}", path_,
                            function.qualname().qualifiedName(), why));
  }

  const std::string& path_;
  std::unordered_map<const torch::jit::Function*, std::int64_t> sizes_;
};

/// Puts a counter of `steps` before `node`.
void InsertCounter(torch::jit::Graph& graph, torch::jit::Node* node,
                   std::int64_t steps) {
  const torch::jit::WithInsertPoint before(node);
  graph.insertNode(graph.create(c10::Symbol::fromQualString(kStep),
                                {graph.insertConstant(steps)}, 0));
}

void CountStepsOf(torch::jit::Graph& graph, torch::jit::Block& block) {
  std::int64_t steps = 1;
  torch::jit::Node* first = *block.nodes().begin();
  for (torch::jit::Node* node = first; node != block.return_node();
       node = node->next()) {
    for (torch::jit::Block* inner : node->blocks()) {
      CountStepsOf(graph, *inner);
    }
    if (++steps <= kNodesPerCounter) continue;
    InsertCounter(graph, first, steps);
    first = node->next();
    steps = 0;
  }
  InsertCounter(graph, first, steps);
}

}  // namespace

void RefuseDeepCode(
    const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& code) {
  for (const auto& [record, text] : code) {
    Nesting nesting;
    for (const char c : text) {
      nesting.Feed(c);
      if (!nesting.too_deep()) continue;
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("{}: {}: an expression or block is nested too "
                              "deep or is too long",
                              path, record));
    }
  }
}

void RefuseHugeForward(const std::string& path,
                       const torch::jit::Module& module) {
  InlinedSizes sizes(path);
  sizes.Of(
      torch::jit::toGraphFunction(module.get_method("forward").function()));
}

void CountSteps(torch::jit::Module& module) {
  RegisterStepOperator();
  for (torch::jit::Function* function :
       module._ivalue()->compilation_unit()->get_functions()) {
    torch::jit::Graph& graph = *torch::jit::toGraphFunction(*function).graph();
    CountStepsOf(graph, *graph.block());
  }
}

}  // namespace foretell::torchscript
