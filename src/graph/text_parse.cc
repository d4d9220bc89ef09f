// Reads the text form of a graph, one line per statement.
//
// Recursive descent over TextCursor; the deepest nesting is an attribute's list
// inside a node's attributes, so that hostile text cannot exhaust the stack.
// Work and memory are linear in the length of the text. Everything about the
// graph itself is checked by GraphBuilder, whose errors get the place in the
// text here.

#include <fmt/core.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "src/graph/parse_watched.h"
#include "src/graph/strides.h"
#include "src/graph/text_cursor.h"
#include "src/graph/text_elements.h"
#include "src/graph/validate.h"

namespace foretell {
namespace {

/// True for "on", the only value of a key that is left out otherwise.
std::optional<bool> ParseOn(std::string_view value) {
  return value == "on" ? std::optional(true) : std::nullopt;
}

/// Lets names be looked up that are parts of the text.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view origin,
         const std::function<void()>& watch)
      : cursor_(text, origin, watch) {}

  OperatorGraph Parse() {
    try {
      if (cursor_.NextLine()) ParseHeader();
      while (cursor_.NextLine()) {
        ParseStatement();
        cursor_.EndLine();
      }
      MarkInputs();
      if (!in_timeline_) builder_.DeriveLifetimes();
      return builder_.Build();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCorrupt) throw;
      cursor_.Fail(error.what());
    }
  }

 private:
  void ParseHeader() {
    if (cursor_.WordIsFollowedBy('(') || !cursor_.AcceptWord("graph")) return;
    GraphInfo info;
    if (cursor_.Peek() == '"') info.name = cursor_.String();
    std::optional<std::int64_t> parameters;
    while (!cursor_.AtLineEnd()) {
      const std::string key = cursor_.Word("a key such as batch");
      cursor_.Expect("=");
      if (key == "batch") {
        info.batch = cursor_.Int("the batch size");
      } else if (key == "parameters") {
        parameters = cursor_.Int("the number of parameter elements");
      } else {
        SetInfo(info, key, WordOrString(cursor_, "a value"));
      }
    }
    builder_ = GraphBuilder(std::move(info));
    if (parameters) builder_.SetParameterElements(*parameters);
    cursor_.EndLine();
  }

  void SetInfo(GraphInfo& info, const std::string& key, std::string value) {
    if (key == "mode") {
      info.mode = Known(cursor_, ParseMode(value), "mode", value);
    } else if (key == "precision") {
      info.precision =
          Known(cursor_, ParsePrecision(value), "precision", value);
    } else if (key == "autocast") {
      info.autocast = Known(cursor_, ParseDType(value), "type", value);
    } else if (key == "grad") {
      info.grad_mode = Known(cursor_, ParseOn(value), "grad mode", value);
    } else if (key == "channels_last") {
      info.channels_last = Known(cursor_, ParseOn(value), "format", value);
    } else if (key == "runtime") {
      info.runtime = Known(cursor_, FindRuntime(value), "runtime", value);
    } else if (key == "optimizer") {
      info.optimizer = std::move(value);
    } else {
      cursor_.Fail("unknown key '" + key +
                   "', expected mode, precision, autocast, grad, "
                   "channels_last, runtime, batch, optimizer or parameters");
    }
  }

  void ParseStatement() {
    if (in_timeline_) return ParseTimelineLine();
    if (cursor_.Peek() == '%') return ParseDefinition();
    if (cursor_.Accept("|")) return ParseInside();
    if (cursor_.Peek() == '"' || cursor_.WordIsFollowedBy('(')) {
      return ParseNode({});
    }
    if (cursor_.AcceptWord("inputs")) return ParseInputs();
    if (cursor_.AcceptWord("output")) {
      for (const ValueId id : ParseReferences()) builder_.MarkOutput(id);
    } else if (cursor_.AcceptWord("phase")) {
      const std::string word = cursor_.Word("a phase");
      phase_ = Known(cursor_, ParsePhase(word), "phase", word);
    } else if (cursor_.AcceptWord("timeline")) {
      in_timeline_ = true;
    } else {
      cursor_.Expected("a statement");
    }
  }

  void ParseDefinition() {
    std::vector<std::string> names = ParseNames();
    const bool call = cursor_.Peek() == '"' || cursor_.WordIsFollowedBy('(');
    if (call) return ParseNode(std::move(names));
    if (names.size() != 1) {
      cursor_.Fail(fmt::format("a source defines one tensor, found {} names",
                               names.size()));
    }
    ParseSource(std::move(names.front()));
  }

  ValueId ParseSource(std::string name) {
    const std::string word = cursor_.Word("an operator or a role");
    const TensorRole role = Known(cursor_, ParseRoleWord(word), "role", word);
    TensorType type = ParseType(cursor_);
    Strides strides = ParseStrides(cursor_);
    const StorageId storage = ParseStorage(type, role);
    const TensorRole stored = builder_.storage(storage).role;
    if (stored != role) {
      cursor_.Fail(fmt::format("'{}' is {}, but its storage belongs to {}",
                               name, word, TensorRoleName(stored)));
    }
    const ValueId id =
        builder_.AddSource(name, std::move(type), storage, std::move(strides));
    if (role == TensorRole::kInput) sources_of_role_input_.push_back(id);
    values_.emplace(std::move(name), id);
    return id;
  }

  /// `[alias %x] [bytes=N] [label="…"]`
  StorageId ParseStorage(const TensorType& type, TensorRole role) {
    if (cursor_.AcceptWord("alias")) {
      return builder_.value(ParseReference()).storage;
    }
    CheckType(type, "tensor");
    std::int64_t bytes = type.Bytes();
    std::string label;
    if (cursor_.AcceptWord("bytes")) {
      cursor_.Expect("=");
      bytes = cursor_.Int("a number of bytes");
    }
    if (cursor_.AcceptWord("label")) {
      cursor_.Expect("=");
      label = cursor_.String();
    }
    return builder_.AddStorage(bytes, role, std::move(label));
  }

  ValueId ParseReference() {
    const std::string_view name = cursor_.Name();
    const auto found = values_.find(name);
    if (found != values_.end()) return found->second;
    cursor_.Fail(
        fmt::format("tensor '{}' is not defined before this use", name));
  }

  std::vector<ValueId> ParseReferences() {
    std::vector<ValueId> ids;
    if (cursor_.AtLineEnd()) return ids;
    do {
      ids.push_back(ParseReference());
    } while (cursor_.Accept(","));
    return ids;
  }

  void ParseInputs() {
    for (const ValueId id : ParseReferences()) builder_.MarkInput(id);
    inputs_are_marked_ = true;
  }

  void MarkInputs() {
    if (inputs_are_marked_) return;
    for (const ValueId id : sources_of_role_input_) builder_.MarkInput(id);
  }

  void ParseNode(std::vector<std::string> results) {
    NodeSpec spec{.target = WordOrString(cursor_, "an operator"),
                  .inputs = {},
                  .phase = phase_};
    const std::string owner = results.empty() ? spec.target : results.front();
    cursor_.Open('(');
    while (cursor_.Peek() != ')') {
      if (!spec.inputs.empty()) cursor_.Expect(",");
      spec.inputs.push_back(ParseOperand(owner, spec.inputs.size()));
    }
    cursor_.Close(')');
    if (cursor_.Peek() == '{') spec.attributes = ParseAttributes();
    const NodeId node = builder_.AddNode(std::move(spec));
    if (!results.empty()) ParseResults(node, std::move(results));
    if (cursor_.Accept("@")) builder_.SetScope(node, cursor_.String());
  }

  /// A call that the last node makes inside, or a tensor that its calls use.
  void ParseInside() {
    if (builder_.num_nodes() == 0) {
      cursor_.Fail("a call without a node above it");
    }
    const NodeId node = builder_.num_nodes() - 1;
    std::vector<std::string> names = ParseNames();
    const bool is_call = cursor_.Peek() == '"' || cursor_.WordIsFollowedBy('(');
    if (names.size() == 1 && !is_call && cursor_.AcceptWord("inner")) {
      AddInner(node, std::move(names.front()));
      return;
    }
    NodeSpec spec{.target = WordOrString(cursor_, "an operator"), .inputs = {}};
    cursor_.Open('(');
    while (cursor_.Peek() != ')') {
      if (!spec.inputs.empty()) cursor_.Expect(",");
      spec.inputs.push_back(ParseReference());
    }
    cursor_.Close(')');
    if (cursor_.Peek() == '{') spec.attributes = ParseAttributes();
    std::vector<ValueId> results;
    std::string_view before = ":";
    for (std::string& name : names) {
      const auto known = values_.find(name);
      if (known == values_.end()) {
        cursor_.Expect(before);
        before = ",";
      }
      results.push_back(known != values_.end()
                            ? known->second
                            : AddInner(node, std::move(name)));
    }
    builder_.AddCall(node, std::move(spec), std::move(results));
  }

  /// `%a, %b =`, or nothing.
  std::vector<std::string> ParseNames() {
    std::vector<std::string> names;
    if (cursor_.Peek() != '%') return names;
    do {
      names.emplace_back(cursor_.Name());
    } while (cursor_.Accept(","));
    cursor_.Expect("=");
    return names;
  }

  ValueId AddInner(NodeId node, std::string name) {
    auto [type, storage, strides] = ParseResult();
    const ValueId id = builder_.AddInner(node, name, std::move(type), storage,
                                         std::move(strides));
    values_.emplace(std::move(name), id);
    return id;
  }

  /// `%x`, or a source on the spot such as `weight f32[64,64,3,3]`, which is
  /// called after its owner and its place: "conv1.weight1".
  ValueId ParseOperand(const std::string& owner, std::size_t place) {
    if (cursor_.Peek() == '%') return ParseReference();
    return ParseSource(
        fmt::format("{}.{}{}", owner, cursor_.PeekWord(), place));
  }

  Attributes ParseAttributes() {
    Attributes attributes;
    cursor_.Open('{');
    while (cursor_.Peek() != '}') {
      if (!attributes.empty()) cursor_.Expect(",");
      std::string name = WordOrString(cursor_, "an attribute's name");
      cursor_.Expect("=");
      attributes.emplace_back(std::move(name), ParseAttribute(cursor_));
    }
    cursor_.Close('}');
    return attributes;
  }

  void ParseResults(NodeId node, std::vector<std::string> names) {
    cursor_.Expect(":");
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i > 0) cursor_.Expect(",");
      auto [type, storage, strides] = ParseResult();
      const ValueId id = builder_.AddResult(node, names[i], std::move(type),
                                            storage, std::move(strides));
      values_.emplace(std::move(names[i]), id);
    }
  }

  struct Result {
    TensorType type;
    StorageId storage = kNone;
    Strides strides;
  };

  /// `f32[8] strides=[2] saved bytes=64`
  Result ParseResult() {
    TensorType type = ParseType(cursor_);
    Strides strides = ParseStrides(cursor_);
    TensorRole role = TensorRole::kActivation;
    if (const auto parsed = ParseRoleWord(cursor_.PeekWord())) {
      cursor_.Word("a role");
      role = *parsed;
    }
    const StorageId storage = ParseStorage(type, role);
    return {std::move(type), storage, std::move(strides)};
  }

  void ParseTimelineLine() {
    if (cursor_.AcceptWord("scratch")) return ParseScratch();
    NodeId node = kNone;
    if (!cursor_.Accept("start")) {
      const std::int64_t number = cursor_.Int("'start', 'scratch' or a node");
      if (number < 0 || number >= builder_.num_nodes()) {
        cursor_.Fail(fmt::format("node {} does not exist, the graph has {}",
                                 number, builder_.num_nodes()));
      }
      node = static_cast<NodeId>(number);
    }
    cursor_.Expect(":");
    while (!cursor_.AtLineEnd()) {
      const bool allocates = cursor_.Accept("+");
      if (!allocates) cursor_.Expect("-");
      const StorageId storage = ParseStorageReference();
      if (allocates) {
        builder_.Allocate(storage, node);
      } else {
        builder_.Free(storage, node);
      }
    }
  }

  void ParseScratch() {
    const std::string name = cursor_.Word("the name of a storage");
    const std::string word = cursor_.Word("a role");
    const TensorRole role = Known(cursor_, ParseRoleWord(word), "role", word);
    const StorageId storage = ParseStorage({DType::kU8, {0}}, role);
    if (!scratch_.emplace(name, storage).second) {
      cursor_.Fail("two storages are called '" + name + "'");
    }
  }

  StorageId ParseStorageReference() {
    if (cursor_.Peek() == '%') return builder_.value(ParseReference()).storage;
    const std::string name = cursor_.Word("a tensor or a scratch storage");
    const auto found = scratch_.find(name);
    if (found != scratch_.end()) return found->second;
    cursor_.Fail("scratch storage '" + name + "' is not defined");
  }

  TextCursor cursor_;
  GraphBuilder builder_{GraphInfo{}};
  std::unordered_map<std::string, ValueId, TextHash, std::equal_to<>> values_;
  std::map<std::string, StorageId> scratch_;
  std::vector<ValueId> sources_of_role_input_;
  Phase phase_ = Phase::kForward;
  bool inputs_are_marked_ = false;
  bool in_timeline_ = false;
};

}  // namespace

OperatorGraph ParseGraph(std::string_view text, std::string_view origin) {
  return Parser(text, origin, {}).Parse();
}

OperatorGraph ParseGraphWatched(std::string_view text, std::string_view origin,
                                const std::function<void()>& watch) {
  return Parser(text, origin, watch).Parse();
}

}  // namespace foretell
