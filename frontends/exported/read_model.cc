#include "frontends/exported/read_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "foretell/program.h"
#include "frontends/exported/content_ranges.h"
#include "frontends/exported/document.h"
#include "frontends/exported/guards.h"
#include "frontends/exported/output_names.h"
#include "frontends/exported/read_argument.h"
#include "frontends/exported/read_graph.h"
#include "frontends/exported/sizes.h"
#include "src/core/checked.h"

namespace foretell::exported {
namespace {

constexpr std::string_view kBatch = "batch";
constexpr std::size_t kMostDimensions = 16;
/// Of a weight: the sum over all weights that fit in a file stays in 64 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 43;

class ModelReader {
 public:
  explicit ModelReader(Document& document) : document_(document) {}

  Model Read() {
    ReadVersion();
    const Json& module = document_.Object(document_.root(), "graph_module");
    const Json& graph = document_.Object(module, "graph");
    model_.graph = ReadGraph(document_, graph, slots_);
    tensors_ = &document_.Object(graph, "tensor_values");
    numbers_ = &document_.Object(graph, "sym_int_values");
    const Json& signature = document_.Object(module, "signature");
    for (const Json& spec : document_.List(signature, "input_specs")) {
      model_.inputs.push_back(ReadInput(spec));
      const int number = static_cast<int>(model_.inputs.size()) - 1;
      inputs_.emplace(model_.inputs.back().name, number);
    }
    for (const Json& spec : document_.List(signature, "output_specs")) {
      model_.outputs.push_back(ReadOutput(spec));
    }
    NameOutputs(OutputPaths(document_, module));
    RequireMatch("inputs", model_.inputs.size(), model_.graph.inputs.size());
    RequireMatch("outputs", model_.outputs.size(), model_.graph.outputs.size());
    ReadRanges();
    FindFills(RangesOfNumbers(), model_);
    return std::move(model_);
  }

 private:
  void ReadVersion() {
    const Json& root = document_.root();
    const Json& version = document_.Object(root, "schema_version");
    const std::int64_t major = document_.Int(version, "major");
    model_.minor_version = document_.Int(version, "minor");
    if (const Json* torch = document_.Find(root, "torch_version")) {
      model_.torch_version = document_.ToText(*torch);
    }
    if (major != kSchemaMajor) {
      document_.Refuse(fmt::format(
          "has version {}.{} of torch.export's schema (PyTorch {}), {}.x is "
          "read; export the network again with PyTorch 2.8 or newer",
          major, model_.minor_version, model_.torch_version, kSchemaMajor));
    }
    if (const Json* verifiers = document_.Find(root, "verifiers")) {
      const Json& names = document_.ToList(*verifiers);
      model_.is_decomposed =
          !names.empty() &&
          std::ranges::find(names, Json("TRAINING")) == names.end();
    }
  }

  void RequireMatch(const char* what, std::size_t specs, std::size_t values) {
    if (specs == values) return;
    document_.Fail(fmt::format("the signature has {} {}, the graph {}", specs,
                               what, values));
  }

  ModelInput ReadInput(const Json& spec) {
    const auto [kind, content] = document_.ToUnion(spec);
    document_.SetPlace(fmt::format("signature, {}", kind));
    if (kind == "parameter") {
      return State(InputKind::kParameter, *content, "parameter_name");
    }
    if (kind == "buffer") {
      return State(InputKind::kBuffer, *content, "buffer_name");
    }
    if (kind == "tensor_constant") {
      return State(InputKind::kConstant, *content, "tensor_constant_name");
    }
    if (kind == "user_input") {
      return UserInput(document_.Object(*content, "arg"));
    }
    if (kind == "constant_input") {
      return {.kind = InputKind::kValue,
              .name = document_.Text(*content, "name")};
    }
    document_.Refuse("inputs of this kind are not known");
  }

  ModelInput State(InputKind kind, const Json& spec, const char* key) {
    const std::string name =
        document_.Text(document_.Object(spec, "arg"), "name");
    ModelInput input{.kind = kind,
                     .name = document_.Text(spec, key),
                     .tensor = ReadTensor(name)};
    RequireShape(input);
    return input;
  }

  /// The sums over all weights rely on this check.
  void RequireShape(const ModelInput& weight) const {
    std::vector<std::int64_t> shape;
    for (const Size& size : weight.tensor.sizes) {
      if (!size.IsFixed() || !size.example) {
        document_.Refuse(fmt::format("'{}' has no fixed shape", weight.name));
      }
      shape.push_back(*size.example);
    }
    const std::optional<std::int64_t> elements = CheckedProduct(shape);
    if (elements && *elements <= kMostElements) return;
    document_.Refuse(
        fmt::format("'{}' has a negative size, or more than {} elements",
                    weight.name, kMostElements));
  }

  ModelInput UserInput(const Json& argument) {
    const auto [kind, content] = document_.ToUnion(argument);
    if (kind == "as_tensor") {
      std::string name = document_.Text(*content, "name");
      TensorInfo tensor = ReadTensor(name);
      return {.name = std::move(name), .tensor = std::move(tensor)};
    }
    if (kind == "as_sym_int" && document_.Find(*content, "as_name")) {
      std::string name = document_.Text(*content, "as_name");
      const Size size = ReadSize(document_.Member(*numbers_, name));
      return {
          .kind = InputKind::kUserSize, .name = std::move(name), .size = size};
    }
    return {.kind = InputKind::kValue};
  }

  at::ScalarType ReadElementType(const std::string& name,
                                 const Json& value) const {
    const at::ScalarType type =
        ReadScalarType(document_, document_.Int(value, "dtype"));
    try {
      ToDType(type);
    } catch (const Error& error) {
      document_.Refuse(fmt::format("'{}': {}", name, error.what()));
    }
    return type;
  }

  TensorInfo ReadTensor(const std::string& name) const {
    const Json& value = document_.Object(*tensors_, name);
    TensorInfo info{.type = ReadElementType(name, value),
                    .requires_grad = document_.Bool(value, "requires_grad")};
    for (const Json& size : document_.List(value, "sizes")) {
      info.sizes.push_back(ReadSize(size));
      const std::int64_t example = info.sizes.back().example.value_or(0);
      if (example < 0) document_.Fail(fmt::format("a size is {}", example));
    }
    if (info.sizes.size() > kMostDimensions) {
      document_.Refuse(
          fmt::format("'{}' has {} dimensions, at most {} are read", name,
                      info.sizes.size(), kMostDimensions));
    }
    return info;
  }

  Size ReadSize(const Json& value) const {
    const auto [kind, content] = document_.ToUnion(value);
    if (kind == "as_int") {
      return FixedSize(document_.ToInt(*content));
    }
    Size size = ParseSize(document_.Text(*content, "expr_str"));
    const Json* hint = document_.Find(*content, "hint");
    if (hint != nullptr && !size.IsFixed()) {
      const auto [type, number] = document_.ToUnion(*hint);
      if (type != "as_int") {
        document_.Fail(fmt::format(
            "the example of a size is of kind '{}', expected as_int", type));
      }
      size.example = document_.ToInt(*number);
    }
    return size;
  }

  ModelOutput ReadOutput(const Json& spec) {
    const auto [kind, content] = document_.ToUnion(spec);
    document_.SetPlace(fmt::format("signature, {}", kind));
    if (kind == "buffer_mutation") {
      return WrittenTo(document_.Text(*content, "buffer_name"));
    }
    if (kind == "parameter_mutation") {
      return WrittenTo(document_.Text(*content, "parameter_name"));
    }
    if (kind == "user_input_mutation") {
      return WrittenTo(document_.Text(*content, "user_input_name"));
    }
    if (kind == "user_output" || kind == "loss_output") {
      return {.name = GraphName(document_.Object(*content, "arg"))};
    }
    document_.Refuse("outputs of this kind are not known");
  }

  /// "" for a constant.
  std::string GraphName(const Json& argument) const {
    const auto [kind, content] = document_.ToUnion(argument);
    if (!content->is_object()) return "";
    for (const char* key : {"name", "as_name"}) {
      if (const Json* name = document_.Find(*content, key)) {
        return document_.ToText(*name);
      }
    }
    return "";
  }

  /// Names results by `paths`, if there are as many of them.
  void NameOutputs(std::vector<std::string> paths) {
    const auto is_result = [](const ModelOutput& output) {
      return output.written_to < 0;
    };
    const auto count = std::ranges::count_if(model_.outputs, is_result);
    if (std::cmp_not_equal(count, paths.size())) return;
    auto path = paths.begin();
    for (ModelOutput& output : model_.outputs | std::views::filter(is_result)) {
      if (!path->empty()) output.name = std::move(*path);
      ++path;
    }
  }

  ModelOutput WrittenTo(const std::string& name) const {
    const auto input = inputs_.find(name);
    if (input != inputs_.end()) return {.written_to = input->second};
    document_.Fail(fmt::format("'{}' is no input", name));
  }

  void ReadRanges() {
    const Json* ranges = document_.Find(document_.root(), "range_constraints");
    if (ranges == nullptr) return;
    document_.SetPlace("range_constraints");
    for (const auto& [symbol, range] : ranges->items()) {
      SizeRange entry;
      if (const Json* least = document_.Find(range, "min_val")) {
        entry.at_least = document_.ToInt(*least);
      }
      if (const Json* most = document_.Find(range, "max_val")) {
        entry.at_most = document_.ToInt(*most);
      }
      model_.ranges.emplace(symbol, entry);
    }
  }

  /// Ranges of the numbers that the graph computes, by slot.
  std::map<int, SizeRange> RangesOfNumbers() const {
    std::map<int, SizeRange> ranges;
    for (const auto& [name, value] : numbers_->items()) {
      const auto slot = slots_.find(name);
      if (slot == slots_.end()) continue;
      const auto range = model_.ranges.find(SymbolOf(ReadSize(value)));
      if (range == model_.ranges.end()) continue;
      ranges.emplace(slot->second, range->second);
    }
    return ranges;
  }

  Document& document_;
  Model model_;
  std::map<std::string, int> slots_;
  std::map<std::string, int> inputs_;  ///< The first one of each name.
  const Json* tensors_ = nullptr;
  const Json* numbers_ = nullptr;
};

/// Symbol of the leading dimension of the first tensor that the user gives.
std::string LeadingSymbol(const Model& model) {
  for (const ModelInput& input : model.inputs) {
    if (input.kind != InputKind::kUser || input.tensor.sizes.empty()) continue;
    const Size& size = input.tensor.sizes.front();
    const std::set<std::string> symbols =
        size.formula ? size.formula->Symbols() : std::set<std::string>();
    return symbols.size() == 1 ? *symbols.begin() : "";
  }
  return "";
}

void Rename(Model& model, const std::string& from, std::string_view to) {
  Substitute(model, from, SizeExpression(std::string(to)));
  auto range = model.ranges.extract(from);
  if (range.empty()) return;
  range.key() = to;
  model.ranges.insert(std::move(range));
}

}  // namespace

Model ReadModel(std::string_view text, const std::string& origin) {
  Document document(text, origin);
  Model model = ModelReader(document).Read();
  ApplyGuards(document, model);
  const std::string leading = LeadingSymbol(model);
  if (!leading.empty()) Rename(model, leading, kBatch);
  return model;
}

}  // namespace foretell::exported
