// Exact types from what a file states about its inputs and what the user
// requests.
//
// `--dim` binds named dimensions, formulas of them and places ("ids.1").
// `--input` binds all of an input. What follows from those is computed
// (derive_sizes). `--batch` binds dimensions that are called
// batch; where nothing is, the leading free dimension of every input; and a
// leading dimension that is given (by the file or by `--input`), where it
// equals that of the first input. Without `--batch` a batch that is left open
// becomes 1.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "foretell/program.h"
#include "src/core/failure.h"
#include "src/core/text.h"
#include "src/graph/validate.h"
#include "src/program/derive_sizes.h"
#include "src/program/draft_symbols.h"
#include "src/program/input_draft.h"
#include "src/program/sequence_length.h"

namespace foretell {
namespace {

/// Whether an input without a name must be that of `specs`.
bool HasOneRequired(std::span<const InputSpec> specs) {
  return std::ranges::count(specs, false, &InputSpec::is_optional) == 1;
}

/// The request's entry for `spec`; nullptr without one.
const BoundInput* Requested(const InputSpec& spec,
                            std::span<const InputSpec> specs,
                            const InputRequest& request) {
  for (const BoundInput& input : request.inputs) {
    if (input.name == spec.name) return &input;
    const bool is_it = !spec.is_optional && HasOneRequired(specs);
    if (input.name.empty() && is_it) return &input;
  }
  return nullptr;
}

std::string Names(std::span<const InputSpec> specs) {
  if (specs.empty()) return "none";
  return fmt::format(
      "'{}'", Joined(specs | std::views::transform(&InputSpec::name), "', '"));
}

/// Refuses two types of one input.
void RefuseTwice(const InputRequest& request, const std::string& origin) {
  const std::vector<BoundInput>& inputs = request.inputs;
  for (auto one = inputs.begin(); one != inputs.end(); ++one) {
    const auto other =
        std::ranges::find(one + 1, inputs.end(), one->name, &BoundInput::name);
    if (other == inputs.end()) continue;
    throw InvalidArgument("{}: --input '{}' and '{}' are for the same input",
                          origin, ToString(one->type), ToString(other->type));
  }
}

void RefuseUnknownNames(std::span<const InputSpec> specs,
                        const InputRequest& request,
                        const std::string& origin) {
  for (const BoundInput& input : request.inputs) {
    if (input.name.empty() && HasOneRequired(specs)) continue;
    const bool known = std::any_of(
        specs.begin(), specs.end(),
        [&](const InputSpec& spec) { return spec.name == input.name; });
    if (known) continue;
    if (input.name.empty()) {
      throw InvalidArgument(
          "{}: --input '{}' names none of the model's inputs {}; write {}={}",
          origin, ToString(input.type), Names(specs),
          specs.empty() ? "name" : specs.front().name, ToString(input.type));
    }
    throw InvalidArgument("{}: --input names '{}', the model's inputs are {}",
                          origin, input.name, Names(specs));
  }
}

DraftDim DraftOf(const InputDim& dim) {
  DraftDim draft{dim};
  if (!dim.symbol.empty()) draft.formula = SizeExpression::Parse(dim.symbol);
  return draft;
}

/// Gives the dimensions of `draft` the sizes of `shape`. They keep what the
/// file states about them if it declares as many.
void TakeShape(const std::vector<std::int64_t>& shape, Draft& draft) {
  if (draft.dims.size() != shape.size()) {
    draft.dims.assign(shape.size(), DraftDim());
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    draft.dims[i].value = shape[i];
    draft.dims[i].is_given = true;
  }
  draft.has_rank = true;
}

std::vector<Draft> MakeDrafts(std::span<const InputSpec> specs,
                              const InputRequest& request) {
  std::vector<Draft> drafts;
  for (const InputSpec& spec : specs) {
    const BoundInput* const input = Requested(spec, specs, request);
    if (spec.is_optional && input == nullptr) continue;
    Draft draft{.spec = &spec,
                .dtype = spec.dtype.value_or(DType::kF32),
                .has_rank = spec.dims.has_value()};
    if (spec.dims) {
      std::ranges::transform(*spec.dims, std::back_inserter(draft.dims),
                             &DraftOf);
    }
    if (input != nullptr) {
      TakeShape(input->type.shape, draft);
      if (input->says_dtype || !spec.dtype) draft.dtype = input->type.dtype;
    }
    drafts.push_back(std::move(draft));
  }
  return drafts;
}

/// The content that the request gives `draft`; null without one.
const std::vector<std::int64_t>* ContentOf(const Draft& draft,
                                           std::size_t num_inputs,
                                           const InputRequest& request) {
  auto found = request.values.find(draft.spec->name);
  if (found == request.values.end() && num_inputs == 1) {
    found = request.values.find("");
  }
  return found == request.values.end() ? nullptr : &found->second;
}

/// A list of values gives the length of a vector.
void TakeLengths(std::vector<Draft>& drafts, const InputRequest& request) {
  for (Draft& draft : drafts) {
    const auto* content = ContentOf(draft, drafts.size(), request);
    if (content == nullptr) continue;
    if (!draft.spec->dtype && !draft.has_rank) draft.dtype = DType::kI64;
    if (content->size() < 2) continue;
    if (!draft.has_rank) draft.dims.resize(1);
    const bool is_open =
        draft.dims.size() == 1 && !draft.dims.front().is_given &&
        (draft.dims.front().IsSymbolic() || !draft.dims.front().value);
    if (is_open) TakeShape({std::ssize(*content)}, draft);
  }
}

/// Content of `draft`, an element each; empty if not given.
std::vector<std::int64_t> BindContent(const Draft& draft,
                                      const TensorType& type,
                                      const std::vector<std::int64_t>* content,
                                      const std::string& origin) {
  constexpr std::int64_t kMostGiven = 1 << 20;
  if (content == nullptr) {
    if (draft.spec->is_number) return {draft.spec->fill};
    return {};
  }
  const auto refuse = [&](const std::string& why) {
    throw InvalidArgument("{}: --value of '{}': {}", origin, draft.spec->name,
                          why);
  };
  if (IsFloatingPoint(type.dtype) || type.dtype == DType::kC64 ||
      type.dtype == DType::kC128) {
    refuse(fmt::format("its type is {}, expected whole numbers or Booleans",
                       DTypeName(type.dtype)));
  }
  const std::int64_t elements = type.NumElements();
  if (elements > kMostGiven) {
    refuse(fmt::format("it has {} elements, at most {} are given", elements,
                       kMostGiven));
  }
  if (content->size() == 1) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(elements),
                                     content->front());
  }
  if (std::cmp_not_equal(content->size(), elements)) {
    refuse(fmt::format("{} numbers for {}, expected {} or 1", content->size(),
                       ToString(type), elements));
  }
  return *content;
}

void RefuseUnknownContent(std::span<const InputSpec> specs,
                          const InputRequest& request,
                          const std::string& origin) {
  for (const auto& [name, content] : request.values) {
    const bool is_known =
        (name.empty() && specs.size() == 1) ||
        std::ranges::count(specs, name, &InputSpec::name) != 0;
    if (is_known) continue;
    throw InvalidArgument("{}: --value names '{}', the model's inputs are {}",
                          origin, name, Names(specs));
  }
}

/// Replaces every dimension of which `matches(dim, is_leading)` is true.
template <typename Matches>
bool Bind(std::vector<Draft>& drafts, std::int64_t size,
          const Matches& matches) {
  bool any = false;
  for (Draft& draft : drafts) {
    for (std::size_t i = 0; i < draft.dims.size(); ++i) {
      if (!matches(draft.dims[i], i == 0)) continue;
      draft.dims[i].value = size;
      draft.dims[i].is_given = true;
      any = true;
    }
  }
  return any;
}

[[noreturn]] void RefuseDim(const std::string& name,
                            const DraftSymbols& symbols,
                            const std::string& origin) {
  throw InvalidArgument(
      "{}: --dim names '{}', the model's named dimensions are {}; --batch and "
      "{} set those without a name",
      origin, name, ListOf(symbols), kSequenceLength);
}

/// Applies `--dim`. Returns its equations for symbols and formulas.
std::vector<SizeEquation> BindDims(std::vector<Draft>& drafts,
                                   const InputRequest& request,
                                   const std::string& origin) {
  const DraftSymbols symbols = SymbolsOf(drafts);
  std::vector<SizeEquation> said;
  for (const auto& [name, size] : SizesByName(drafts, request, origin)) {
    bool is_known = symbols.contains(name);
    Bind(drafts, size, [&name = name](const DraftDim& dim, bool) {
      return dim.symbol == name && !dim.is_given;
    });
    for (Draft& draft : drafts) {
      for (std::size_t i = 0; i < draft.dims.size(); ++i) {
        if (PlaceOf(draft, i) != name) continue;
        draft.dims[i].value = size;
        draft.dims[i].is_given = true;
        is_known = true;
      }
    }
    if (auto formula = SizeExpression::Parse(name)) {
      const std::set<std::string> used = formula->Symbols();
      const bool has_all =
          !used.empty() && std::ranges::all_of(used, [&](const auto& one) {
            return symbols.contains(one);
          });
      if (has_all) said.push_back({*std::move(formula), size});
      is_known = is_known || has_all;
    }
    if (!is_known) RefuseDim(name, symbols, origin);
  }
  return said;
}

/// Refuses a batch where `--dim` has given the leading dimension of `draft`
/// another size.
void RefuseOtherBatch(const Draft& draft, const InputRequest& request,
                      const std::string& origin) {
  for (const std::string& name :
       {draft.dims.front().symbol, PlaceOf(draft, 0)}) {
    const auto said = request.dims.find(name);
    if (said == request.dims.end() || said->second == *request.batch) continue;
    throw InvalidArgument("{}: --batch {} and --dim {}={} contradict", origin,
                          *request.batch, said->first, said->second);
  }
}

void BindBatch(std::vector<Draft>& drafts, const InputRequest& request,
               const std::string& origin) {
  const std::int64_t batch = *request.batch;
  const bool named = Bind(drafts, batch, [&](const InputDim& dim, bool) {
    return !dim.value && IsBatch(drafts, dim.symbol);
  });
  const bool leading =
      Bind(drafts, batch, [&](const InputDim& dim, bool first) {
        return first && !dim.value && (!named || dim.symbol.empty());
      });
  if (named || leading) return;
  const auto first = std::ranges::find_if(
      drafts, [](const Draft& draft) { return !draft.dims.empty(); });
  if (first == drafts.end()) return;
  RefuseOtherBatch(*first, request, origin);
  // Where the file leaves the first one open, it fixes others on purpose, and
  // those that follow from others are computed.
  const DraftDim* const leading_dim = &first->dims.front();
  const std::optional<std::int64_t> given = leading_dim->value;
  const bool is_open = leading_dim->IsSymbolic() && !leading_dim->is_given;
  Bind(drafts, batch, [&](const DraftDim& dim, bool is_leading) {
    if (!is_leading || dim.value != given) return false;
    return &dim == leading_dim || !is_open ||
           (dim.formula && dim.formula->IsSymbol());
  });
}

/// Whether a dimension that `--batch` would bind has no size.
bool LeavesBatchOpen(const std::vector<Draft>& drafts) {
  return std::ranges::any_of(drafts, [&](const Draft& draft) {
    if (draft.dims.empty()) return false;
    return !draft.dims.front().value ||
           std::ranges::any_of(draft.dims, [&](const InputDim& dim) {
             return !dim.value && IsBatch(drafts, dim.symbol);
           });
  });
}

/// The inputs with the sizes that flags give. The flags' equations for symbols
/// and formulas are added to `said`.
std::vector<Draft> GivenDrafts(std::span<const InputSpec> specs,
                               const InputRequest& request,
                               const std::string& origin,
                               std::vector<SizeEquation>& said) {
  std::vector<Draft> drafts = MakeDrafts(specs, request);
  TakeLengths(drafts, request);
  said = BindDims(drafts, request, origin);
  return drafts;
}

std::string Describe(const Draft& draft) {
  std::string text =
      fmt::format("{}={}[", draft.spec->name, DTypeName(draft.dtype));
  for (std::size_t i = 0; i < draft.dims.size(); ++i) {
    const InputDim& dim = draft.dims[i];
    if (i != 0) text += ",";
    text += dim.value ? fmt::format("{}", *dim.value)
                      : (dim.symbol.empty() ? "?" : dim.symbol);
  }
  return text + "]";
}

/// "'x' dimension 0 'batch' (--batch or --dim batch=…)" for each open one.
std::string OpenDimensions(const std::vector<Draft>& drafts) {
  std::vector<std::string> open;
  for (const Draft& draft : drafts) {
    if (!draft.has_rank) {
      const bool is_open = !draft.spec->dtype && draft.dtype == DType::kF32;
      open.push_back(fmt::format(
          "'{}' has no shape (use --input {}={}[…]{})", draft.spec->name,
          draft.spec->name, DTypeName(draft.dtype),
          is_open ? ", or i64[…] for whole numbers" : ""));
    }
    for (std::size_t i = 0; i < draft.dims.size(); ++i) {
      const InputDim& dim = draft.dims[i];
      if (dim.value) continue;
      std::string flags = i == 0 ? "--batch N or " : "";
      flags += dim.symbol.empty() ? "--input " + Describe(draft)
                                  : "--dim " + dim.symbol + "=N";
      open.push_back(fmt::format(
          "'{}' dimension {}{} (use {})", draft.spec->name, i,
          dim.symbol.empty() ? "" : " '" + dim.symbol + "'", flags));
    }
  }
  return Joined(open, "; ");
}

/// A step of no samples: PyTorch runs some networks on it and refuses others.
/// Other dimensions may be 0, as those of a cache that is still empty.
void RefuseEmptyBatch(const std::vector<BoundInput>& inputs,
                      const std::string& origin) {
  const auto first = std::ranges::find_if(
      inputs, [](const BoundInput& one) { return !one.type.shape.empty(); });
  if (first == inputs.end() || first->type.shape.front() != 0) return;
  throw InvalidArgument(
      "{}: input '{}' is {}: the batch, its leading dimension, is 0, expected "
      "at least 1",
      origin, first->name, ToString(first->type));
}

}  // namespace

std::vector<std::string> NamesOf(std::span<const BoundInput> inputs) {
  std::vector<std::string> names;
  std::ranges::transform(inputs, std::back_inserter(names), &BoundInput::name);
  return names;
}

std::int64_t LeastBatch(std::span<const InputSpec> specs) {
  for (const InputSpec& spec : specs) {
    if (!spec.dims || spec.dims->empty()) continue;
    return std::max<std::int64_t>(spec.dims->front().at_least.value_or(1), 1);
  }
  return 1;
}

bool FixesSizes(std::span<const InputSpec> specs) {
  return std::ranges::all_of(specs, [](const InputSpec& spec) {
    return spec.dims && std::ranges::all_of(*spec.dims, [](const auto& dim) {
             return dim.value.has_value();
           });
  });
}

bool TakesBatchOfOne(std::span<const InputSpec> specs,
                     const InputRequest& request) {
  if (request.batch) return false;
  const std::string origin = "inputs";
  std::vector<SizeEquation> said;
  std::vector<Draft> drafts = GivenDrafts(specs, request, origin, said);
  DeriveSizes(drafts, said, origin);
  return LeavesBatchOpen(drafts);
}

std::vector<BoundInput> BindInputs(std::span<const InputSpec> specs,
                                   const InputRequest& request,
                                   const std::string& origin) {
  RefuseUnknownNames(specs, request, origin);
  RefuseTwice(request, origin);
  RefuseUnknownContent(specs, request, origin);
  std::vector<SizeEquation> said;
  std::vector<Draft> drafts = GivenDrafts(specs, request, origin, said);
  if (request.batch && *request.batch < 1) {
    throw InvalidArgument("{}: --batch is {}, expected at least 1", origin,
                          *request.batch);
  }
  if (request.batch) BindBatch(drafts, request, origin);
  DeriveSizes(drafts, said, origin);
  if (!request.batch && LeavesBatchOpen(drafts)) {
    InputRequest of_one = request;
    of_one.batch = 1;
    BindBatch(drafts, of_one, origin);
    DeriveSizes(drafts, said, origin);
  }
  const std::string open = OpenDimensions(drafts);
  if (!open.empty()) {
    throw InvalidArgument("{}: dimensions without a size: {}", origin, open);
  }
  std::vector<BoundInput> bound;
  for (Draft& draft : drafts) {
    TensorType type{draft.dtype, {}};
    for (const InputDim& dim : draft.dims) type.shape.push_back(*dim.value);
    CheckType(type, origin + ": input", draft.spec->name);
    std::vector<std::int64_t> content = BindContent(
        draft, type, ContentOf(draft, drafts.size(), request), origin);
    bound.push_back({.name = draft.spec->name,
                     .type = std::move(type),
                     .values = std::move(content),
                     .fill = draft.spec->fill,
                     .from_example = std::move(draft.from_example)});
  }
  RefuseEmptyBatch(bound, origin);
  return bound;
}

}  // namespace foretell
