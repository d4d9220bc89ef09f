#include "frontends/exported/number_operators.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "foretell/error.h"

namespace foretell::exported {
namespace {

using Values = std::vector<c10::IValue>;

[[noreturn]] void FailOn(const char* what) {
  throw Error(ErrorCode::kInvalidArgument, what);
}

bool IsWhole(const c10::IValue& value) {
  return value.isInt() || value.isBool();
}

std::int64_t Whole(const c10::IValue& value) {
  if (value.isInt()) return value.toInt();
  if (value.isBool()) return value.toBool() ? 1 : 0;
  FailOn("an operand is not an integer");
}

double Real(const c10::IValue& value) {
  if (value.isDouble()) return value.toDouble();
  return static_cast<double>(Whole(value));
}

bool Truth(const c10::IValue& value) { return Real(value) != 0; }

const c10::IValue& Operand(const Values& values, std::size_t index) {
  if (index >= values.size()) FailOn("an operand is missing");
  return values[index];
}

/// By reference: `result` is set by the argument before it in the call.
std::int64_t Checked(bool overflows, const std::int64_t& result) {
  if (overflows) FailOn("a size exceeds 64 bits");
  return result;
}

std::int64_t FloorDivide(std::int64_t a, std::int64_t b) {
  if (b == 0) FailOn("a size is divided by zero");
  if (b == -1) {
    std::int64_t result = 0;
    return Checked(__builtin_sub_overflow(std::int64_t{0}, a, &result), result);
  }
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t PowerOf(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  // Beyond 64 steps every base except -1, 0 and 1 has overflowed.
  const bool keeps_its_size = base >= -1 && base <= 1;
  if (keeps_its_size && exponent > 2) exponent = 2 + exponent % 2;
  for (std::int64_t i = 0; i < exponent; ++i) {
    Checked(__builtin_mul_overflow(result, base, &result), result);
  }
  return result;
}

/// Calls the function for whole numbers if all operands are, else the other.
template <typename OnWhole, typename OnReal>
c10::IValue Binary(const Values& values, OnWhole whole, OnReal real) {
  const c10::IValue& a = Operand(values, 0);
  const c10::IValue& b = Operand(values, 1);
  if (IsWhole(a) && IsWhole(b)) return whole(Whole(a), Whole(b));
  return real(Real(a), Real(b));
}

c10::IValue Add(const Values& values) {
  return Binary(
      values,
      [](std::int64_t a, std::int64_t b) {
        std::int64_t sum = 0;
        return Checked(__builtin_add_overflow(a, b, &sum), sum);
      },
      [](double a, double b) { return a + b; });
}

c10::IValue Subtract(const Values& values) {
  return Binary(
      values,
      [](std::int64_t a, std::int64_t b) {
        std::int64_t difference = 0;
        return Checked(__builtin_sub_overflow(a, b, &difference), difference);
      },
      [](double a, double b) { return a - b; });
}

c10::IValue Multiply(const Values& values) {
  return Binary(
      values,
      [](std::int64_t a, std::int64_t b) {
        std::int64_t product = 0;
        return Checked(__builtin_mul_overflow(a, b, &product), product);
      },
      [](double a, double b) { return a * b; });
}

c10::IValue FloorDivision(const Values& values) {
  return Binary(values, &FloorDivide,
                [](double a, double b) { return std::floor(a / b); });
}

c10::IValue Modulo(const Values& values) {
  return Binary(
      values,
      [](std::int64_t a, std::int64_t b) {
        const std::int64_t quotient = FloorDivide(a, b);
        // Wraps around where the product does, and back.
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) -
                                         static_cast<std::uint64_t>(quotient) *
                                             static_cast<std::uint64_t>(b));
      },
      [](double a, double b) { return a - std::floor(a / b) * b; });
}

c10::IValue TrueDivision(const Values& values) {
  const double divisor = Real(Operand(values, 1));
  if (divisor == 0) FailOn("a size is divided by zero");
  return Real(Operand(values, 0)) / divisor;
}

c10::IValue Power(const Values& values) {
  const c10::IValue& base = Operand(values, 0);
  const c10::IValue& exponent = Operand(values, 1);
  if (IsWhole(base) && IsWhole(exponent) && Whole(exponent) >= 0) {
    return PowerOf(Whole(base), Whole(exponent));
  }
  return std::pow(Real(base), Real(exponent));
}

c10::IValue Negate(const Values& values) {
  return Subtract({std::int64_t{0}, Operand(values, 0)});
}

template <typename Compare>
c10::IValue Compared(const Values& values, Compare compare) {
  return Binary(values, compare, compare);
}

c10::IValue Equal(const Values& values) {
  return Compared(values, [](auto a, auto b) { return a == b; });
}
c10::IValue NotEqual(const Values& values) {
  return Compared(values, [](auto a, auto b) { return a != b; });
}
c10::IValue Less(const Values& values) {
  return Compared(values, [](auto a, auto b) { return a < b; });
}
c10::IValue LessOrEqual(const Values& values) {
  return Compared(values, [](auto a, auto b) { return a <= b; });
}
c10::IValue Greater(const Values& values) {
  return Compared(values, [](auto a, auto b) { return a > b; });
}
c10::IValue GreaterOrEqual(const Values& values) {
  return Compared(values, [](auto a, auto b) { return a >= b; });
}

/// Whole numbers as bits, flags as flags.
template <typename Combine>
c10::IValue Bitwise(const Values& values, Combine combine) {
  const c10::IValue& a = Operand(values, 0);
  const c10::IValue& b = Operand(values, 1);
  if (a.isBool() && b.isBool()) return combine(Whole(a), Whole(b)) != 0;
  return combine(Whole(a), Whole(b));
}

c10::IValue And(const Values& values) {
  return Bitwise(values, [](std::int64_t a, std::int64_t b) { return a & b; });
}
c10::IValue Or(const Values& values) {
  return Bitwise(values, [](std::int64_t a, std::int64_t b) { return a | b; });
}

c10::IValue ShiftLeft(const Values& values) {
  return Multiply(
      {Whole(Operand(values, 0)),
       PowerOf(2, std::max<std::int64_t>(Whole(Operand(values, 1)), 0))});
}

c10::IValue ShiftRight(const Values& values) {
  const std::int64_t bits = Whole(Operand(values, 1));
  if (bits < 0) FailOn("a size is shifted by a negative number");
  return Whole(Operand(values, 0)) >> std::min<std::int64_t>(bits, 63);
}

c10::IValue Not(const Values& values) { return !Truth(Operand(values, 0)); }

c10::IValue Maximum(const Values& values) {
  return Binary(
      values, [](std::int64_t a, std::int64_t b) { return std::max(a, b); },
      [](double a, double b) { return std::max(a, b); });
}

c10::IValue Minimum(const Values& values) {
  return Binary(
      values, [](std::int64_t a, std::int64_t b) { return std::min(a, b); },
      [](double a, double b) { return std::min(a, b); });
}

/// Sum of a list, or of all operands.
c10::IValue Sum(const Values& values) {
  c10::IValue sum = std::int64_t{0};
  for (const c10::IValue& value : values) {
    if (value.isList()) {
      for (const c10::IValue& element : value.toListRef()) {
        sum = Add({sum, element});
      }
    } else {
      sum = Add({sum, value});
    }
  }
  return sum;
}

c10::IValue ToFloat(const Values& values) { return Real(Operand(values, 0)); }

/// Towards zero, as Python's int and math.trunc.
c10::IValue ToInt(const Values& values) {
  const c10::IValue& value = Operand(values, 0);
  if (IsWhole(value)) return Whole(value);
  const double number = Real(value);
  if (!(std::abs(number) < 0x1p63)) FailOn("a size exceeds 64 bits");
  return static_cast<std::int64_t>(number);
}

c10::IValue Floor(const Values& values) {
  const c10::IValue& value = Operand(values, 0);
  if (IsWhole(value)) return Whole(value);
  return ToInt({std::floor(Real(value))});
}

c10::IValue Ceil(const Values& values) {
  const c10::IValue& value = Operand(values, 0);
  if (IsWhole(value)) return Whole(value);
  return ToInt({std::ceil(Real(value))});
}

/// To the nearest even number.
c10::IValue Round(const Values& values) {
  const c10::IValue& value = Operand(values, 0);
  if (IsWhole(value)) return Whole(value);
  return ToInt({std::nearbyint(Real(value))});
}

c10::IValue SquareRoot(const Values& values) {
  return std::sqrt(Real(Operand(values, 0)));
}

c10::IValue Choose(const Values& values) {
  return Truth(Operand(values, 0)) ? Operand(values, 1) : Operand(values, 2);
}

c10::IValue Itself(const Values& values) { return Operand(values, 0); }

constexpr std::pair<std::string_view, NumberOperator> kNumberOperators[] = {
    {"_operator.add", &Add},
    {"_operator.and_", &And},
    {"_operator.eq", &Equal},
    {"_operator.floordiv", &FloorDivision},
    {"_operator.ge", &GreaterOrEqual},
    {"_operator.gt", &Greater},
    {"_operator.le", &LessOrEqual},
    {"_operator.lshift", &ShiftLeft},
    {"_operator.lt", &Less},
    {"_operator.mod", &Modulo},
    {"_operator.mul", &Multiply},
    {"_operator.ne", &NotEqual},
    {"_operator.neg", &Negate},
    {"_operator.or_", &Or},
    {"_operator.pos", &Itself},
    {"_operator.pow", &Power},
    {"_operator.rshift", &ShiftRight},
    {"_operator.sub", &Subtract},
    {"_operator.truediv", &TrueDivision},
    {"builtins.round", &Round},
    {"math.ceil", &Ceil},
    {"math.floor", &Floor},
    {"math.trunc", &ToInt},
    {"torch._sym_sqrt", &SquareRoot},
    {"torch.sym_float", &ToFloat},
    {"torch.sym_int", &ToInt},
    {"torch.sym_ite", &Choose},
    {"torch.sym_max", &Maximum},
    {"torch.sym_min", &Minimum},
    {"torch.sym_not", &Not},
    {"torch.sym_sqrt", &SquareRoot},
    {"torch.sym_sum", &Sum},
};

}  // namespace

NumberOperator FindNumberOperator(std::string_view target) {
  for (const auto& [name, function] : kNumberOperators) {
    if (name == target) return function;
  }
  return nullptr;
}

}  // namespace foretell::exported
