#include "tests/conformance/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>
#include <vector>

#include "frontends/onnx/ops/type_support.h"

namespace foretell::conformance {
namespace {

using onnx::Sequence;
using onnx::Value;

constexpr double kBFloat16Rtol = 1.0 / 64;

std::string ValueKindName(const Value& value) {
  if (std::holds_alternative<at::Tensor>(value)) return "tensor";
  if (std::holds_alternative<Sequence>(value)) return "sequence";
  return "empty optional";
}

template <typename T>
std::string Mismatch(const std::string& what, const T& actual,
                     const T& expected) {
  std::ostringstream text;
  text << what << " " << actual << ", expected " << expected;
  return text.str();
}

at::Tensor Doubles(const at::Tensor& tensor) {
  return onnx::CastTo(tensor, at::kDouble).contiguous();
}

bool IsClose(double actual, double expected, const Tolerance& tolerance) {
  if (std::isnan(expected) || std::isnan(actual)) {
    return std::isnan(expected) && std::isnan(actual);
  }
  if (std::isinf(expected) || std::isinf(actual)) return actual == expected;
  return std::abs(actual - expected) <=
         tolerance.atol + tolerance.rtol * std::abs(expected);
}

std::optional<std::string> FloatDifference(const at::Tensor& expected,
                                           const at::Tensor& actual,
                                           Tolerance tolerance) {
  if (expected.scalar_type() == at::kBFloat16) {
    tolerance.rtol = std::max(tolerance.rtol, kBFloat16Rtol);
  }
  const at::Tensor expected_doubles = Doubles(expected);
  const at::Tensor actual_doubles = Doubles(actual);
  const double* expected_data = expected_doubles.const_data_ptr<double>();
  const double* actual_data = actual_doubles.const_data_ptr<double>();
  for (std::int64_t i = 0; i < expected_doubles.numel(); ++i) {
    if (!IsClose(actual_data[i], expected_data[i], tolerance)) {
      return Mismatch("element " + std::to_string(i) + " is", actual_data[i],
                      expected_data[i]);
    }
  }
  return std::nullopt;
}

std::string ElementText(const at::Tensor& flat, std::int64_t index) {
  std::ostringstream text;
  if (flat.scalar_type() == at::kUInt64) {
    text << flat.const_data_ptr<std::uint64_t>()[index];
  } else {
    text << onnx::CastTo(flat, at::kLong)[index].item<std::int64_t>();
  }
  return text.str();
}

std::optional<std::string> ExactDifference(const at::Tensor& expected,
                                           const at::Tensor& actual) {
  const at::Tensor expected_flat = expected.contiguous().view(-1);
  const at::Tensor actual_flat = actual.contiguous().view(-1);
  const auto* expected_data =
      static_cast<const char*>(expected_flat.const_data_ptr());
  const auto* actual_data =
      static_cast<const char*>(actual_flat.const_data_ptr());
  const size_t size = expected.element_size();
  for (std::int64_t i = 0; i < expected.numel(); ++i) {
    if (std::memcmp(expected_data + i * size, actual_data + i * size, size)) {
      return Mismatch("element " + std::to_string(i) + " is",
                      ElementText(actual_flat, i),
                      ElementText(expected_flat, i));
    }
  }
  return std::nullopt;
}

std::optional<std::string> TensorDifference(const at::Tensor& expected,
                                            const at::Tensor& actual,
                                            const Tolerance& tolerance,
                                            Strictness strictness) {
  if (!actual.defined()) return "an undefined tensor, expected a defined one";
  if (actual.scalar_type() != expected.scalar_type()) {
    return Mismatch("type", actual.scalar_type(), expected.scalar_type());
  }
  if (actual.sizes() != expected.sizes()) {
    return Mismatch("shape", actual.sizes(), expected.sizes());
  }
  if (strictness == Strictness::kTypesAndShape) return std::nullopt;
  return expected.is_floating_point()
             ? FloatDifference(expected, actual, tolerance)
             : ExactDifference(expected, actual);
}

std::optional<std::string> SequenceDifference(const Sequence& expected,
                                              const Sequence& actual,
                                              const Tolerance& tolerance,
                                              Strictness strictness) {
  if (actual.size() != expected.size()) {
    return Mismatch("sequence length", actual.size(), expected.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::optional<std::string> difference =
        TensorDifference(expected[i], actual[i], tolerance, strictness);
    if (difference) return "item " + std::to_string(i) + ": " + *difference;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Difference(const Value& expected,
                                      const Value& actual,
                                      const Tolerance& tolerance,
                                      Strictness strictness) {
  if (expected.index() != actual.index()) {
    return Mismatch("a", ValueKindName(actual), ValueKindName(expected));
  }
  if (const auto* tensor = std::get_if<at::Tensor>(&expected)) {
    return TensorDifference(*tensor, std::get<at::Tensor>(actual), tolerance,
                            strictness);
  }
  if (const auto* sequence = std::get_if<Sequence>(&expected)) {
    return SequenceDifference(*sequence, std::get<Sequence>(actual), tolerance,
                              strictness);
  }
  return std::nullopt;
}

}  // namespace foretell::conformance
