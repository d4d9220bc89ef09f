#pragma once

#include <ATen/ATen.h>

#include <exception>
#include <ostream>
#include <vector>

/// Calls with operands that do or do not fit, for the CPU and for meta.
namespace foretell::operand_test {

using Ints = std::vector<std::int64_t>;

/// Makes operands, all of zeros, on the CPU or on meta.
class Operands {
 public:
  explicit Operands(at::DeviceType device) : device_(device) {}

  at::Tensor F(at::IntArrayRef shape) const { return Make(shape, at::kFloat); }
  at::Tensor H(at::IntArrayRef shape) const { return Make(shape, at::kHalf); }
  at::Tensor D(at::IntArrayRef shape) const { return Make(shape, at::kDouble); }
  at::Tensor I(at::IntArrayRef shape) const { return Make(shape, at::kLong); }
  at::Tensor B(at::IntArrayRef shape) const { return Make(shape, at::kBool); }

 private:
  at::Tensor Make(at::IntArrayRef shape, at::ScalarType type) const {
    return at::zeros(shape, at::TensorOptions().dtype(type).device(device_));
  }

  at::DeviceType device_;
};

/// A call by a name for messages.
struct Misfit {
  const char* name;
  void (*call)(const Operands&);
};

inline void PrintTo(const Misfit& misfit, std::ostream* out) {
  *out << misfit.name;
}

inline bool Refuses(const Misfit& misfit, at::DeviceType device) {
  try {
    misfit.call(Operands(device));
    return false;
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace foretell::operand_test
