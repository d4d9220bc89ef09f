// From what a file says of its inputs and what the user asks for to exact
// types.
//
// `--dim` binds named dimensions. `--batch` binds dimensions that are called
// batch; where nothing is, the leading free dimension of every input; and a
// leading dimension that is given (by the file or by `--input`), where it
// equals that of the first input. Without `--batch` a batch that is left open
// becomes 1.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/program.h"
#include "src/core/parse_number.h"
#include "src/core/text.h"
#include "src/graph/validate.h"

namespace foretell {
namespace {

constexpr std::array<std::string_view, 8> kBatchNames = {
    "b", "batch", "batch_dim", "batch_size", "batchsize", "bs", "n", "nbatch"};
constexpr std::int64_t kMaxDim = std::int64_t{1} << 40;
constexpr std::size_t kMaxRank = 16;

bool NamesBatch(const std::string& symbol) {
  std::string lower;
  for (const char c : symbol) {
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return std::find(kBatchNames.begin(), kBatchNames.end(), lower) !=
         kBatchNames.end();
}

[[noreturn]] void RefuseInput(std::string_view text, const std::string& why) {
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("--input '{}': {}, expected e.g. name=f32[8,3,224,224]", text,
                  why));
}

std::vector<std::int64_t> ParseShape(std::string_view text,
                                     std::string_view whole) {
  std::vector<std::int64_t> shape;
  while (!text.empty()) {
    const auto dim = TakeNumber<std::int64_t>(text);
    if (!dim || *dim < 0 || *dim > kMaxDim) {
      RefuseInput(whole, fmt::format("bad dimension at '{}'", text));
    }
    shape.push_back(*dim);
    if (text.empty()) break;
    if (text.front() != ',' || text.size() == 1) {
      RefuseInput(whole, fmt::format("bad dimension at '{}'", text));
    }
    text.remove_prefix(1);
  }
  if (shape.size() > kMaxRank) RefuseInput(whole, "more than 16 dimensions");
  return shape;
}

/// The request's entry for `spec`; nullptr when it has none.
const BoundInput* Requested(const InputSpec& spec,
                            std::span<const InputSpec> specs,
                            const InputRequest& request) {
  for (const BoundInput& input : request.inputs) {
    if (input.name == spec.name) return &input;
    if (input.name.empty() && specs.size() == 1) return &input;
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
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: --input '{}' and '{}' are for the same input", origin,
                    ToString(one->type), ToString(other->type)));
  }
}

void RefuseUnknownNames(std::span<const InputSpec> specs,
                        const InputRequest& request,
                        const std::string& origin) {
  for (const BoundInput& input : request.inputs) {
    if (input.name.empty() && specs.size() == 1) continue;
    const bool known = std::any_of(
        specs.begin(), specs.end(),
        [&](const InputSpec& spec) { return spec.name == input.name; });
    if (known) continue;
    if (input.name.empty()) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: --input '{}' names none of the model's "
                              "inputs {}; write {}={}",
                              origin, ToString(input.type), Names(specs),
                              specs.empty() ? "name" : specs.front().name,
                              ToString(input.type)));
    }
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: --input names '{}', the model's inputs are {}",
                            origin, input.name, Names(specs)));
  }
  std::set<std::string> symbols;
  for (const InputSpec& spec : specs) {
    if (!spec.dims) continue;
    for (const InputDim& dim : *spec.dims) symbols.insert(dim.symbol);
  }
  symbols.erase("");
  for (const auto& [symbol, size] : request.dims) {
    if (symbols.contains(symbol)) continue;
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: --dim names '{}', the model's named dimensions are {}",
                    origin, symbol,
                    symbols.empty() ? "none" : Joined(symbols)));
  }
}

/// An input whose dimensions are being filled in.
struct Draft {
  const InputSpec* spec;
  DType dtype;
  std::vector<InputDim> dims;
  bool has_rank;
};

std::vector<Draft> MakeDrafts(std::span<const InputSpec> specs,
                              const InputRequest& request) {
  std::vector<Draft> drafts;
  for (const InputSpec& spec : specs) {
    Draft draft{&spec, spec.dtype.value_or(DType::kF32),
                spec.dims.value_or(std::vector<InputDim>()),
                spec.dims.has_value()};
    if (const BoundInput* input = Requested(spec, specs, request)) {
      draft.dims.clear();
      for (const std::int64_t size : input->type.shape) {
        draft.dims.push_back({.value = size, .symbol = {}});
      }
      draft.dtype = input->type.dtype;
      draft.has_rank = true;
    }
    drafts.push_back(std::move(draft));
  }
  return drafts;
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
      any = true;
    }
  }
  return any;
}

/// The drafts with the sizes of `--dim`.
std::vector<Draft> DraftsWithDims(std::span<const InputSpec> specs,
                                  const InputRequest& request) {
  std::vector<Draft> drafts = MakeDrafts(specs, request);
  for (const auto& [symbol, size] : request.dims) {
    Bind(drafts, size, [&symbol = symbol](const InputDim& dim, bool) {
      return dim.symbol == symbol;
    });
  }
  return drafts;
}

/// Refuses a batch where `--dim` has given that dimension another size.
void RefuseOtherBatch(const InputDim& dim, const InputRequest& request,
                      const std::string& origin) {
  const auto said = request.dims.find(dim.symbol);
  if (said == request.dims.end() || said->second == *request.batch) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}: --batch {} and --dim {}={} contradict", origin,
                          *request.batch, said->first, said->second));
}

void BindBatch(std::vector<Draft>& drafts, const InputRequest& request,
               const std::string& origin) {
  const std::int64_t batch = *request.batch;
  const bool named = Bind(drafts, batch, [](const InputDim& dim, bool) {
    return !dim.value && NamesBatch(dim.symbol);
  });
  const bool leading =
      Bind(drafts, batch, [&](const InputDim& dim, bool first) {
        return first && !dim.value && (!named || dim.symbol.empty());
      });
  if (named || leading) return;
  std::optional<std::int64_t> given;
  for (const Draft& draft : drafts) {
    if (draft.dims.empty()) continue;
    given = draft.dims.front().value;
    RefuseOtherBatch(draft.dims.front(), request, origin);
    break;
  }
  Bind(drafts, batch, [&](const InputDim& dim, bool first) {
    return first && dim.value == given;
  });
}

/// Whether a dimension that `--batch` would bind has no size.
bool LeavesBatchOpen(const std::vector<Draft>& drafts) {
  return std::ranges::any_of(drafts, [](const Draft& draft) {
    if (draft.dims.empty()) return false;
    return !draft.dims.front().value ||
           std::ranges::any_of(draft.dims, [](const InputDim& dim) {
             return !dim.value && NamesBatch(dim.symbol);
           });
  });
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
      open.push_back(fmt::format("'{}' has no shape (use --input {}={}[…])",
                                 draft.spec->name, draft.spec->name,
                                 DTypeName(draft.dtype)));
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
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}: input '{}' is {}: the batch, its leading "
                          "dimension, is 0, expected at least 1",
                          origin, first->name, ToString(first->type)));
}

}  // namespace

BoundInput ParseInput(std::string_view text) {
  std::string_view rest = text;
  BoundInput input;
  const std::size_t equals = rest.rfind('=');
  if (equals != std::string_view::npos) {
    input.name = std::string(rest.substr(0, equals));
    rest.remove_prefix(equals + 1);
  }
  const std::size_t bracket = rest.find('[');
  if (bracket == std::string_view::npos || rest.back() != ']') {
    RefuseInput(text, "no shape in brackets");
  }
  const std::string_view type = rest.substr(0, bracket);
  if (!type.empty()) {
    const std::optional<DType> dtype = ParseDType(type);
    if (!dtype) RefuseInput(text, fmt::format("unknown type '{}'", type));
    input.type.dtype = *dtype;
  }
  rest = rest.substr(bracket + 1, rest.size() - bracket - 2);
  input.type.shape = ParseShape(rest, text);
  return input;
}

std::int64_t LeastBatch(std::span<const InputSpec> specs) {
  for (const InputSpec& spec : specs) {
    if (!spec.dims || spec.dims->empty()) continue;
    return std::max<std::int64_t>(spec.dims->front().at_least.value_or(1), 1);
  }
  return 1;
}

bool TakesBatchOfOne(std::span<const InputSpec> specs,
                     const InputRequest& request) {
  return !request.batch && LeavesBatchOpen(DraftsWithDims(specs, request));
}

std::vector<BoundInput> BindInputs(std::span<const InputSpec> specs,
                                   const InputRequest& request,
                                   const std::string& origin) {
  RefuseUnknownNames(specs, request, origin);
  RefuseTwice(request, origin);
  std::vector<Draft> drafts = DraftsWithDims(specs, request);
  if (request.batch) {
    if (*request.batch < 1) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: --batch is {}, expected at least 1", origin,
                              *request.batch));
    }
    BindBatch(drafts, request, origin);
  } else if (LeavesBatchOpen(drafts)) {
    InputRequest of_one = request;
    of_one.batch = 1;
    BindBatch(drafts, of_one, origin);
  }
  const std::string open = OpenDimensions(drafts);
  if (!open.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                origin + ": dimensions without a size: " + open);
  }
  std::vector<BoundInput> bound;
  for (const Draft& draft : drafts) {
    TensorType type{draft.dtype, {}};
    for (const InputDim& dim : draft.dims) type.shape.push_back(*dim.value);
    CheckType(type, origin + ": input", draft.spec->name);
    bound.push_back({draft.spec->name, std::move(type)});
  }
  RefuseEmptyBatch(bound, origin);
  return bound;
}

}  // namespace foretell
