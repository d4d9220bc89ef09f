// Types of inputs as users write them: "x=f32[8,3,224,224]", "8,3,224,224",
// "ids=torch.int64[8, 128]".
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/program.h"
#include "src/core/failure.h"
#include "src/core/ignoring_case.h"
#include "src/core/parse_number.h"

namespace foretell {
namespace {

constexpr std::int64_t kMaxDim = std::int64_t{1} << 40;
constexpr std::size_t kMaxRank = 16;
constexpr std::string_view kTorch = "torch.";

struct TypeRow {
  std::string_view name;
  DType dtype;
};

/// PyTorch's and NumPy's names for what DTypeName abbreviates.
constexpr TypeRow kLongNames[] = {
    {"bfloat16", DType::kBF16},    {"byte", DType::kU8},
    {"complex128", DType::kC128},  {"complex64", DType::kC64},
    {"double", DType::kF64},       {"float", DType::kF32},
    {"float16", DType::kF16},      {"float32", DType::kF32},
    {"float64", DType::kF64},      {"float8", DType::kF8},
    {"float8_e4m3fn", DType::kF8}, {"float8_e5m2", DType::kF8},
    {"fp16", DType::kF16},         {"fp32", DType::kF32},
    {"half", DType::kF16},         {"int", DType::kI32},
    {"int16", DType::kI16},        {"int32", DType::kI32},
    {"int64", DType::kI64},        {"int8", DType::kI8},
    {"long", DType::kI64},         {"short", DType::kI16},
    {"uint16", DType::kU16},       {"uint32", DType::kU32},
    {"uint64", DType::kU64},       {"uint8", DType::kU8},
};

[[noreturn]] void RefuseInput(std::string_view text, const std::string& why) {
  throw InvalidArgument("--input '{}': {}, expected e.g. name=f32[8,3,224,224]",
                        text, why);
}

std::optional<DType> TypeNamed(std::string_view name) {
  std::string small = LowerCase(name);
  if (small.starts_with(kTorch)) small.erase(0, kTorch.size());
  const auto* row = std::ranges::find(kLongNames, small, &TypeRow::name);
  return row == std::end(kLongNames) ? ParseDType(small) : row->dtype;
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
    if (text.front() == ' ') text.remove_prefix(1);
  }
  if (shape.size() > kMaxRank) RefuseInput(whole, "more than 16 dimensions");
  return shape;
}

/// A type in two parts: "f32" and "8,3".
struct WrittenType {
  std::string_view dtype;  ///< Empty where only a shape is given.
  std::string_view shape;
};

/// "f32[8,3]", "[8,3]", "(8,3)" and "8,3".
WrittenType Divide(std::string_view text, std::string_view whole) {
  const bool is_bare = !text.empty() && text.front() >= '0' &&
                       text.front() <= '9' &&
                       text.find('[') == std::string_view::npos;
  if (is_bare) return {.dtype = {}, .shape = text};
  if (text.starts_with('(') && text.ends_with(')')) {
    return {.dtype = {}, .shape = text.substr(1, text.size() - 2)};
  }
  const std::size_t bracket = text.find('[');
  if (bracket == std::string_view::npos || text.back() != ']') {
    RefuseInput(whole, "no shape in brackets");
  }
  return {.dtype = text.substr(0, bracket),
          .shape = text.substr(bracket + 1, text.size() - bracket - 2)};
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
  const WrittenType type = Divide(rest, text);
  input.says_dtype = !type.dtype.empty();
  if (input.says_dtype) {
    const std::optional<DType> dtype = TypeNamed(type.dtype);
    if (!dtype) {
      RefuseInput(text, fmt::format("unknown type '{}'", type.dtype));
    }
    input.type.dtype = *dtype;
  }
  input.type.shape = ParseShape(type.shape, text);
  return input;
}

}  // namespace foretell
