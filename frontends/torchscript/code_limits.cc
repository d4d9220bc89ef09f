// Bounds on code, because LibTorch recurses where it reads and compiles it: its
// parser once per level of nesting, its interpreter's compiler once per node of
// a chain. What code does when it runs is not handled here: time and memory are
// limits of the process (docs/security.md).

#include "frontends/torchscript/code_limits.h"

#include <fmt/core.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <algorithm>

#include "foretell/error.h"

namespace foretell::torchscript {
namespace {

constexpr char kPause[] = "foretell::pause";
constexpr int kMaxBrackets = 100;
constexpr int kMaxIndentation = 200;
/// Characters between two commas, brackets or line ends. A chain of operators
/// nests as deep as it is long.
constexpr int kMaxStretch = 1024;
/// LibTorch never writes elif; each nests one level deeper than its line shows.
constexpr int kMaxElifs = 100;
constexpr int kNodesPerChain = 256;

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
  std::string word_;  ///< Beginning of the line.
  bool at_line_start_ = true;
  char quote_ = 0;
  bool escaped_ = false;
};

void RegisterPause() {
  static const torch::jit::RegisterOperators registered({torch::jit::Operator(
      std::string(kPause) + "() -> ()", [](torch::jit::Stack&) {},
      // Prevents dead code elimination.
      c10::AliasAnalysisKind::CONSERVATIVE)});
}

void BreakChainsOf(torch::jit::Graph& graph, torch::jit::Block& block) {
  int nodes = 0;
  for (torch::jit::Node* node : block.nodes()) {
    for (torch::jit::Block* inner : node->blocks()) {
      BreakChainsOf(graph, *inner);
    }
    if (++nodes % kNodesPerChain != 0) continue;
    graph.create(c10::Symbol::fromQualString(kPause), {}, 0)
        ->insertBefore(node);
  }
}

}  // namespace

void RefuseDeepCode(
    const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& code) {
  std::int64_t lines = 0;
  for (const auto& [record, text] : code) {
    lines += std::ranges::count(text, '\n');
    if (lines > kMaxLines) {
      throw Error(
          ErrorCode::kUnsupported,
          fmt::format("{}: {}: line {} of all code, at most {} are read", path,
                      record, lines, kMaxLines));
    }
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

void BreakChains(torch::jit::Module& module) {
  RegisterPause();
  for (torch::jit::Function* function :
       module._ivalue()->compilation_unit()->get_functions()) {
    torch::jit::Graph& graph = *torch::jit::toGraphFunction(*function).graph();
    BreakChainsOf(graph, *graph.block());
  }
}

}  // namespace foretell::torchscript
