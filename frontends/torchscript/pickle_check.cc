// The instructions of Python's pickle protocol 2 that LibTorch knows
// (torch/csrc/jit/serialization/pickler_helper.h, 2.13), each with what follows
// it. Its reader trusts lengths and memo numbers: it makes a string of the
// length that is stated before it reads, and a table as long as the highest
// number, up to 64 GB for five bytes. It checks by itself that its stack holds
// what an instruction takes. How deep values nest is not looked at: to free
// them takes the stack of a process that may crash (docs/security.md).

#include "frontends/torchscript/pickle_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "foretell/error.h"
#include "frontends/torchscript/tokens.h"
#include "src/core/pickle_cursor.h"
#include "src/core/shortened.h"

namespace foretell::torchscript {
namespace {

/// What follows an instruction.
enum class Operand {
  kNothing,
  kBytes,  ///< As many as `width`.
  kText,   ///< A length of `width` bytes, then that many bytes.
  kMemo,   ///< A place of `width` bytes in the table of values.
  kName,   ///< Two lines: a module, a name in it.
};

struct Instruction {
  unsigned char code;
  Operand operand = Operand::kNothing;
  std::uint64_t width = 0;
};

constexpr unsigned char kStop = '.';

constexpr Instruction kInstructions[] = {
    {'('},
    {')'},
    {kStop},
    {'0'},
    {'2'},
    {'B', Operand::kText, 4},
    {'C', Operand::kText, 1},
    {'G', Operand::kBytes, 8},
    {'J', Operand::kBytes, 4},
    {'K', Operand::kBytes, 1},
    {'M', Operand::kBytes, 2},
    {'N'},
    {'Q'},
    {'R'},
    {'T', Operand::kText, 4},
    {'U', Operand::kText, 1},
    {'X', Operand::kText, 4},
    {']'},
    {'a'},
    {'b'},
    {'c', Operand::kName},
    {'e'},
    {'h', Operand::kMemo, 1},
    {'j', Operand::kMemo, 4},
    {'q', Operand::kMemo, 1},
    {'r', Operand::kMemo, 4},
    {'s'},
    {'t'},
    {'u'},
    {'}'},
    {0x80, Operand::kBytes, 1},
    {0x81},
    {0x85},
    {0x86},
    {0x87},
    {0x88},
    {0x89},
    {0x8a, Operand::kText, 1},
};

/// Names that are allowed: all that torch.jit.save writes except quantised and
/// sparse tensors, whose parts are not compared, and classes written in C++.
struct Name {
  std::string_view module;
  std::string_view name;
};

constexpr Name kNames[] = {
    {"torch._utils", "_rebuild_tensor_v2"},
    {"collections", "OrderedDict"},
    {"builtins", "complex"},
    {"torch", "device"},
    {"torch", "BFloat16Storage"},
    {"torch", "BoolStorage"},
    {"torch", "ByteStorage"},
    {"torch", "CharStorage"},
    {"torch", "ComplexDoubleStorage"},
    {"torch", "ComplexFloatStorage"},
    {"torch", "DoubleStorage"},
    {"torch", "FloatStorage"},
    {"torch", "HalfStorage"},
    {"torch", "IntStorage"},
    {"torch", "LongStorage"},
    {"torch", "ShortStorage"},
    {"torch.jit._pickle", "build_boollist"},
    {"torch.jit._pickle", "build_doublelist"},
    {"torch.jit._pickle", "build_intlist"},
    {"torch.jit._pickle", "build_tensorlist"},
    {"torch.jit._pickle", "restore_type_tag"},
};
constexpr std::string_view kOwnCode = "__torch__";
constexpr std::string_view kWrittenInCpp = "__torch__.torch.classes";

/// What else LibTorch writes, by the beginning of "module.name".
struct KnownRow {
  std::string_view begin;
  std::string_view why;
};

constexpr KnownRow kKnown[] = {
    {"__torch__.torch.classes.",
     "an object of a class that is written in C++, as torch.ao's packed weights "
     "are, which PyTorch multiplies on CPUs alone: save the network before it "
     "is quantised (--quantize int8 predicts it with weights of 8 bits)"},
    {"torch._utils._rebuild_qtensor",
     "a quantised tensor: save the network before it is quantised"},
    {"torch._utils._rebuild_sparse", "a sparse tensor, which is not read"},
    {"torch.Q", "a quantised tensor: save the network before it is quantised"}};

bool MayBeNamed(std::string_view module, std::string_view name) {
  if (module == kOwnCode || module.starts_with("__torch__.")) {
    return !module.starts_with(kWrittenInCpp);
  }
  return std::ranges::any_of(kNames, [&](const Name& each) {
    return each.module == module && each.name == name;
  });
}

/// Whether `name` is words separated by single dots, as Python names are.
bool IsWellFormed(std::string_view name) {
  char previous = '.';
  for (const char c : name) {
    if (!IsWordCharacter(c) || (c == '.' && previous == '.')) return false;
    previous = c;
  }
  return previous != '.';
}

std::string_view WhyNotRead(std::string_view name) {
  for (const KnownRow& row : kKnown) {
    if (name.starts_with(row.begin)) return row.why;
  }
  return "which is not read";
}

class PickleWalk {
 public:
  PickleWalk(const std::string& path, const std::string& record,
             std::string_view pickle)
      : cursor_(fmt::format("{}: {}", path, record), pickle) {}

  void Check() {
    while (true) {
      const Instruction& instruction = Next();
      if (instruction.code == kStop) break;
      Skip(instruction);
    }
  }

 private:
  const Instruction& Next() {
    const auto code = static_cast<unsigned char>(cursor_.Number(1));
    const Instruction* const found = std::find_if(
        std::begin(kInstructions), std::end(kInstructions),
        [&](const Instruction& each) { return each.code == code; });
    if (found == std::end(kInstructions)) {
      cursor_.Refuse(
          fmt::format("instruction {} is not one that LibTorch writes", code));
    }
    return *found;
  }

  void Skip(const Instruction& instruction) {
    switch (instruction.operand) {
      case Operand::kNothing:
        break;
      case Operand::kBytes:
        cursor_.Take(instruction.width);
        break;
      case Operand::kText:
        cursor_.Take(cursor_.Number(instruction.width));
        break;
      case Operand::kMemo:
        SkipMemoNumber(instruction.width);
        break;
      case Operand::kName:
        SkipName();
        break;
    }
  }

  void SkipMemoNumber(std::uint64_t width) {
    const std::uint64_t number = cursor_.Number(width);
    if (number < cursor_.size()) return;
    cursor_.Refuse(fmt::format("memo number {}, expected less than {}", number,
                               cursor_.size()));
  }

  void SkipName() {
    const std::string_view module = cursor_.TakeLine();
    const std::string_view name = cursor_.TakeLine();
    if (!MayBeNamed(module, name)) RefuseName(module, name);
  }

  [[noreturn]] void RefuseName(std::string_view module,
                               std::string_view name) const {
    constexpr std::size_t kMostShown = 200;
    const std::string full = fmt::format("{}.{}", module, name);
    cursor_.Refuse(
        fmt::format("names '{}', {}", Shortened(full, kMostShown),
                    WhyNotRead(full)),
        IsWellFormed(full) ? ErrorCode::kUnsupported : ErrorCode::kCorrupt);
  }

  PickleCursor cursor_;
};

}  // namespace

void RefuseBadPickle(const std::string& path, const std::string& record,
                     std::string_view pickle) {
  PickleWalk(path, record, pickle).Check();
}

}  // namespace foretell::torchscript
