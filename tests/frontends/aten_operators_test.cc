// Every operator of ATen that a file may name, called alone with arguments that
// no network has: on meta, and on the CPU where shape arithmetic may run it.
//
// A child calls one after the other and notes which; when it dies, that one is
// to blame, and another child goes on behind it. What takes much of the
// processor's time is ended by a signal and forgiven: time is for the sandbox
// to limit.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "frontends/shared/allowed_operators.h"
#include "frontends/torchscript/guarded_operators.h"
#include "src/program/call_checks.h"
#include "src/program/host_operators.h"

namespace foretell::torchscript {
namespace {

using c10::IValue;
using c10::TypeKind;
using Operators = std::vector<std::shared_ptr<torch::jit::Operator>>;

constexpr int kNumVariants = 10;
constexpr int kNumPlainVariants = 5;
/// Sound tensors in forms that do not exist, and in odd ones.
constexpr int kWrongForms = 8;
constexpr int kOddForms = 9;
constexpr std::int64_t kLarge = 1'000'000'007;
constexpr rlim_t kMostMemory = rlim_t{4} << 30;
constexpr int kMilliseconds = 250;

/// A tensor: plain, of indices beyond any end, an image, without elements, of
/// negative numbers.
at::Tensor TensorOf(int variant, at::Device device) {
  const auto options = at::TensorOptions().device(device);
  switch (variant) {
    case 0:
      return at::ones({4, 4}, options);
    case 1:
      return at::full({4}, kLarge, options.dtype(at::kLong));
    case 2:
      return at::ones({2, 2, 4, 4}, options);
    case 3:
      return at::zeros({0}, options);
    default:
      return at::full({4, 4}, -5, options.dtype(at::kInt));
  }
}

IValue ListOf(const c10::Type& element, int variant, at::Device device) {
  using Ints = std::vector<std::int64_t>;
  using Doubles = std::vector<double>;
  static const Ints kInts[] = {
      {2, 2}, {kLarge}, {1, 1}, {}, {-5, std::int64_t{1} << 40}};
  static const Doubles kDoubles[] = {
      {1.0},
      {1e30, 1.0},
      {},
      {0.5},
      {std::numeric_limits<double>::quiet_NaN()}};
  switch (element.kind()) {
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return kInts[variant];
    case TypeKind::FloatType:
      return kDoubles[variant];
    case TypeKind::BoolType:
      return c10::List<bool>({true, false, true});
    case TypeKind::TensorType:
      return std::vector<at::Tensor>(2, TensorOf(variant, device));
    case TypeKind::OptionalType:
      return c10::List<std::optional<at::Tensor>>(
          {TensorOf(variant, device), TensorOf(variant, device)});
    default:
      throw Error(ErrorCode::kUnsupported, element.str());
  }
}

/// A value of `type`; throws for types without tensors and numbers.
IValue ValueOf(const c10::Type& type, int variant, at::Device device) {
  static const double kDoubles[] = {
      1.0, 1e30, std::numeric_limits<double>::quiet_NaN(), 0.0, -1.0};
  static const std::int64_t kInts[] = {2, kLarge, 1, 0, -5};
  static const char* const kTexts[] = {"sum", "none", "mean", "", "linear"};
  switch (type.kind()) {
    case TypeKind::TensorType:
      return TensorOf(variant, device);
    case TypeKind::IntType:
    case TypeKind::SymIntType:
    case TypeKind::NumberType:
      return kInts[variant];
    case TypeKind::FloatType:
      return kDoubles[variant];
    case TypeKind::BoolType:
      return variant % 2 == 0;
    case TypeKind::StringType:
      return kTexts[variant];
    case TypeKind::ListType:
      return ListOf(*type.containedType(0), variant, device);
    case TypeKind::OptionalType:
      if (variant == 3) return {};
      return ValueOf(*type.containedType(0), variant, device);
    case TypeKind::DeviceObjType:
      return device;
    default:
      throw Error(ErrorCode::kUnsupported, type.str());
  }
}

/// The plain variants give all arguments alike; the others a sound first tensor
/// and indices beyond the end, sound tensors and large numbers, an image and
/// indices; the last two are of forms.
int VariantOf(const c10::Type& type, std::size_t position, int variant) {
  if (variant < kNumPlainVariants) return variant;
  if (variant >= kWrongForms) return 0;
  if (variant == 6) return type.kind() == TypeKind::TensorType ? 0 : 1;
  if (position > 0) return 1;
  return variant == 5 ? 0 : 2;
}

/// Whether `argument` is an element type, a layout or a memory format.
bool IsForm(const c10::Argument& argument) {
  const std::string type = argument.real_type()->str();
  return type.starts_with("ScalarType") || type.starts_with("Layout") ||
         type.starts_with("MemoryFormat") || argument.name() == "dtype";
}

/// Forms that exist in all variants but one: most others would not be tried
/// behind the refusal. Odd are quint8, mkldnn and channels last in 3D.
IValue FormOf(const c10::Argument& argument, int variant) {
  static const std::int64_t kForms[kNumVariants] = {2, 0, 1, 0,  3,
                                                    2, 0, 1, -5, 3};
  const bool is_type = argument.name().ends_with("dtype");
  if (variant == kOddForms && is_type) {
    return static_cast<std::int64_t>(at::kQUInt8);
  }
  return kForms[variant];
}

torch::jit::Stack ArgumentsOf(const c10::FunctionSchema& schema, int variant,
                              at::Device device) {
  torch::jit::Stack stack;
  for (const c10::Argument& argument : schema.arguments()) {
    const bool has_default = argument.kwarg_only() && argument.default_value();
    const c10::Type& type = *argument.type();
    if (IsForm(argument) && (!has_default || variant >= kWrongForms)) {
      stack.push_back(FormOf(argument, variant));
    } else if (has_default) {
      stack.push_back(*argument.default_value());
    } else {
      stack.push_back(
          ValueOf(type, VariantOf(type, stack.size(), variant), device));
    }
  }
  return stack;
}

/// Reads the results, as a file's next operator would.
void Use(const torch::jit::Stack& results) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  for (const IValue& value : results) {
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const at::Tensor& tensor = value.toTensor();
    const bool is_plain = tensor.is_cpu() && !tensor.is_quantized() &&
                          tensor.layout() == at::kStrided;
    if (is_plain && tensor.numel() < kMost) tensor.sum();
  }
}

/// Whether the call was not refused.
bool Call(const torch::jit::Operator& op, int variant, at::Device device) {
  try {
    torch::jit::Stack stack = ArgumentsOf(op.schema(), variant, device);
    if (device.is_cpu()) RequireHostOperator(op.schema(), stack);
    // As the recorder does; TorchScript's own operators are guarded.
    if (op.isC10Op()) RequireKnownForms(op.schema(), stack);
    op.getOperation()(stack);
    Use(stack);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// Every overload of every operator of ATen that a file may name.
Operators NamedOperators() {
  Operators operators;
  for (const auto& op : torch::jit::getAllOperators()) {
    const std::string& name = op->schema().name();
    if (name.starts_with("aten::") && !op->schema().is_vararg() &&
        JudgeOperator(name) == OperatorVerdict::kAllowed) {
      operators.push_back(op);
    }
  }
  return operators;
}

/// What a child says, in memory that it shares.
struct Progress {
  std::size_t number = 0;    ///< Operator that is called.
  std::size_t num_done = 0;  ///< Operators that took one of their variants.
};

Progress* SharedProgress() {
  void* const memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) Progress;
}

/// Calls operators from `progress.number` on; for a child.
[[noreturn]] void CallAll(const Operators& operators, at::Device device,
                          Progress& progress) {
  const rlimit memory{kMostMemory, kMostMemory};
  const rlimit none{0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_FSIZE, &none);
  // Warnings written to a file would exceed the limit.
  if (freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
  at::set_num_threads(1);
  for (; progress.number < operators.size(); ++progress.number) {
    const itimerval patience{{}, {0, kMilliseconds * 1000}};
    setitimer(ITIMER_PROF, &patience, nullptr);
    bool is_done = false;
    for (int variant = 0; variant < kNumVariants; ++variant) {
      is_done |= Call(*operators[progress.number], variant, device);
    }
    progress.num_done += is_done ? 1 : 0;
  }
  _exit(0);
}

/// How a child ended, as waitpid says it.
int StatusOfChild(const Operators& operators, at::Device device,
                  Progress& progress) {
  const pid_t child = fork();
  if (child == 0) CallAll(operators, device, progress);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

std::string Reason(int status) {
  return WIFSIGNALED(status)
             ? strsignal(WTERMSIG(status))
             : fmt::format("exit status {}", WEXITSTATUS(status));
}

/// Expects that `least` operators, by far the most of those that may be called,
/// take some of the arguments: a test of refusals alone would show nothing.
void ExpectThatAllSurvive(at::Device device, std::size_t least) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "memory cannot be limited, and LibTorch is not sanitized";
#endif
  GuardOperators();
  const Operators operators = NamedOperators();
  Progress* const progress = SharedProgress();
  ASSERT_NE(progress, nullptr);
  for (; progress->number < operators.size(); ++progress->number) {
    const int status = StatusOfChild(operators, device, *progress);
    if (status == 0) break;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) continue;
    ADD_FAILURE() << "on " << device << ", ended by " << Reason(status) << ": "
                  << operators[progress->number]->schema();
  }
  EXPECT_GE(progress->num_done, least) << "of " << operators.size();
  munmap(progress, sizeof *progress);
}

TEST(AtenOperators, NoneThatMayBeNamedEndsATraceOnMeta) {
  ExpectThatAllSurvive(at::kMeta, 1500);
}

TEST(AtenOperators, NoneThatMayRunOnTheHostEndsTheProcess) {
  ExpectThatAllSurvive(at::kCPU, 900);
}

}  // namespace
}  // namespace foretell::torchscript
