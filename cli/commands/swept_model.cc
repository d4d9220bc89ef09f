#include "cli/commands/swept_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "cli/flags/open_model.h"
#include "foretell/error.h"
#include "foretell/zoo.h"
#include "src/core/failure.h"
#include "src/core/text.h"
#include "src/correct/model_field.h"
#include "src/program/size_expression.h"

namespace foretell::cli {
namespace {

/// Samples and channels come before the lengths of an image or a volume.
constexpr std::size_t kLeadingDims = 2;
constexpr std::size_t kFewestImageDims = 4;

bool IsZoo(const std::string& model) { return zoo::IsNetwork(model); }

/// Rank of an input, as --input or else the file gives it; 0: neither does.
std::size_t RankOf(const InputSpec& input, const InputRequest& request) {
  for (const BoundInput& said : request.inputs) {
    const bool is_it = said.name.empty() || said.name == input.name;
    if (is_it) return said.type.shape.size();
  }
  return input.dims ? input.dims->size() : 0;
}

bool IsImage(const InputSpec& input, const InputRequest& request) {
  return RankOf(input, request) >= kFewestImageDims;
}

/// Throws Error(kInvalidArgument) where an input may be an image and neither
/// --input nor the file gives its rank.
void RequireRanks(const Program& program, const InputRequest& request,
                  const std::string& flag) {
  for (const InputSpec& input : program.inputs()) {
    if (input.dims || input.is_optional) continue;
    if (RankOf(input, request) > 0) continue;
    throw InvalidArgument(
        "{} resolution: {}: input '{}' has no shape; state it with --input, "
        "e.g. {}=f32[1,3,224,224]",
        flag, program.name(), input.name, input.name);
  }
}

/// Names that the file gives to dimensions, in their order, each once.
std::vector<std::string> DimensionNames(const Program& program) {
  std::vector<std::string> names;
  for (const InputSpec& input : program.inputs()) {
    if (!input.dims) continue;
    for (const InputDim& dim : *input.dims) {
      const bool is_new = std::ranges::count(names, dim.symbol) == 0;
      if (is_new && !dim.symbol.empty()) names.push_back(dim.symbol);
    }
  }
  return names;
}

/// Whether the file computes it from others: "h//2".
bool IsDerived(const InputDim& dim) {
  const auto formula = SizeExpression::Parse(dim.symbol);
  return formula && !formula->IsSymbol();
}

/// The lengths of an image; empty if the file does not give its rank.
std::span<const InputDim> Lengths(const InputSpec& input,
                                  const InputRequest& request) {
  if (!input.dims || !IsImage(input, request)) return {};
  return std::span(*input.dims).subspan(kLeadingDims);
}

/// Whether an image has a length that the file does not compute.
bool LeavesLengthsOpen(const Program& program, const InputRequest& request) {
  return std::ranges::any_of(program.inputs(), [&](const InputSpec& input) {
    return std::ranges::any_of(Lengths(input, request),
                               [](const InputDim& dim) {
                                 return !dim.symbol.empty() && !IsDerived(dim);
                               });
  });
}

/// Gives the lengths of images that have names their size; those that follow
/// from others only where all do.
void NameLengths(const Program& program, std::int64_t size,
                 InputRequest& request) {
  const bool skips_derived = LeavesLengthsOpen(program, request);
  for (const InputSpec& input : program.inputs()) {
    for (const InputDim& dim : Lengths(input, request)) {
      if (dim.symbol.empty() || (skips_derived && IsDerived(dim))) continue;
      request.dims[dim.symbol] = size;
    }
  }
}

/// Gives the lengths of images that have no names their size.
void SetLengths(const Program& program, std::int64_t size,
                std::vector<BoundInput>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto& shape = inputs[i].type.shape;
    if (shape.size() < kFewestImageDims) continue;
    const auto& dims = program.inputs()[i].dims;
    for (std::size_t d = kLeadingDims; d < shape.size(); ++d) {
      const bool is_named =
          dims && d < dims->size() && !(*dims)[d].symbol.empty();
      if (!is_named) shape[d] = size;
    }
  }
}

std::int64_t SizeAt(const Eigen::VectorXd& point, std::size_t axis) {
  return static_cast<std::int64_t>(point[static_cast<Eigen::Index>(axis)]);
}

/// Whether fields of the name are factors: "zoo:mlp?widths={width}".
bool HasPlaces(const std::string& model) {
  return model.find('{') != std::string::npos;
}

}  // namespace

SweptModel::SweptModel(const ModelOptions& options,
                       std::vector<surrogate::Axis> axes, std::string flag)
    : options_(options), axes_(std::move(axes)), flag_(std::move(flag)) {
  options_.WarnOfMissingLocks();
  // An unreadable model is reported before the axes are judged.
  if (!HasPlaces(options_.models.front())) Open(options_.models.front());
  for (const surrogate::Axis& axis : axes_) {
    // Unknown fields are reported where the name is parsed.
    kinds_.push_back(axis.name == "batch" ? Kind::kBatch : KindOf(axis.name));
  }
}

SweptModel::Kind SweptModel::KindOf(const std::string& name) {
  const std::string& model = options_.models.front();
  if (HasPlaces(model)) {
    const bool named = model.find(FieldPlace(name)) != std::string::npos;
    return named || name != "resolution" ? Kind::kField : Kind::kResolution;
  }
  const Program& program = Open(model);
  const InputRequest request = options_.ToRequest(std::nullopt);
  std::vector<std::string> known = DimensionNames(program);
  if (std::ranges::count(known, name) > 0) return Kind::kDimension;
  const bool has_images = std::ranges::any_of(
      program.inputs(),
      [&](const InputSpec& input) { return IsImage(input, request); });
  if (name == "resolution" && has_images) return Kind::kResolution;
  if (IsZoo(model)) return Kind::kField;
  if (name == "resolution") RequireRanks(program, request, flag_);
  if (has_images) known.insert(known.begin(), "resolution");
  std::erase(known, "batch");
  known.insert(known.begin(), "batch");
  throw InvalidArgument("{} {}: {} has no such dimension; there are: {}", flag_,
                        name, model, Joined(known));
}

std::vector<std::string> SweptModel::Names() const {
  std::vector<std::string> names;
  for (const surrogate::Axis& axis : axes_) names.push_back(axis.name);
  return names;
}

std::vector<ScopeFactor> SweptModel::Factors() const {
  using Place = ScopeFactor::Place;
  std::vector<ScopeFactor> factors;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const std::string& name = axes_[i].name;
    if (kinds_[i] == Kind::kBatch || kinds_[i] == Kind::kField) {
      const bool is_field = kinds_[i] == Kind::kField;
      factors.push_back(
          {.name = name, .place = is_field ? Place::kField : Place::kBatch});
    } else {
      factors.push_back(LengthFactor(kinds_[i], name));
    }
  }
  return factors;
}

/// The first input that has the dimension, or is an image.
ScopeFactor SweptModel::LengthFactor(Kind kind, const std::string& name) const {
  ScopeFactor factor{.name = name, .place = ScopeFactor::Place::kLength};
  const InputRequest request = options_.ToRequest(std::nullopt);
  for (const InputSpec& input : programs_.begin()->second.inputs()) {
    factor.input = input.name;
    if (kind == Kind::kResolution) {
      factor.dim = static_cast<std::int64_t>(RankOf(input, request)) - 1;
      const bool is_derived =
          input.dims && !input.dims->empty() && IsDerived(input.dims->back());
      if (IsImage(input, request) && !is_derived) return factor;
      continue;
    }
    if (!input.dims) continue;
    const auto found = std::ranges::find(*input.dims, name, &InputDim::symbol);
    factor.dim = found - input.dims->begin();
    if (found != input.dims->end()) return factor;
  }
  return factor;
}

const Program& SweptModel::Open(const std::string& model) {
  const auto found = programs_.find(model);
  if (found != programs_.end()) return found->second;
  return programs_.emplace(model, OpenModel(model, options_.ToLoadOptions()))
      .first->second;
}

SweptPoint SweptModel::At(const Eigen::VectorXd& point) {
  SweptPoint swept{options_.models.front(), options_.ToStep(std::nullopt)};
  InputRequest& request = swept.step.inputs;
  std::optional<std::int64_t> resolution;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const std::int64_t size = SizeAt(point, i);
    if (kinds_[i] == Kind::kBatch) request.batch = size;
    if (kinds_[i] == Kind::kResolution) resolution = size;
    if (kinds_[i] == Kind::kDimension) request.dims[axes_[i].name] = size;
    if (kinds_[i] != Kind::kField) continue;
    swept.model = WithField(std::move(swept.model), axes_[i].name,
                            fmt::format("{}", size));
  }
  if (!resolution) return swept;
  const Program& program = Open(swept.model);
  NameLengths(program, *resolution, request);
  request = {.inputs = BindInputs(program.inputs(), request, swept.model),
             .values = std::move(request.values)};
  SetLengths(program, *resolution, request.inputs);
  return swept;
}

std::string SweptModel::Describe(const Eigen::VectorXd& point) const {
  std::string text;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", axes_[i].name,
                        SizeAt(point, i));
  }
  return text;
}

OperatorGraph SweptModel::GraphAt(const Eigen::VectorXd& point) {
  try {
    const SweptPoint swept = At(point);
    return Session(Open(swept.model), swept.step).Graph();
  } catch (const Error& error) {
    throw WithContext(fmt::format("{} {}", flag_, Describe(point)), error);
  }
}

}  // namespace foretell::cli
