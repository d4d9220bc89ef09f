// The instructions of Python's pickle protocol 2 that LibTorch knows
// (torch/csrc/jit/serialization/pickler_helper.h, 2.13), each with what follows
// it. Its reader trusts lengths and memo numbers: it makes a string of the
// length that is stated before it reads, and a table as long as the highest
// number, up to 64 GB for five bytes. What it makes is freed recursively, so a
// pickle's stack is followed as well, values left out.

#include "frontends/torchscript/pickle_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "foretell/error.h"
#include "frontends/torchscript/pickle_nesting.h"
#include "frontends/torchscript/tokens.h"
#include "src/core/numbers.h"

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

/// What an instruction does to the stack.
enum class Effect {
  kNone,
  kEnd,  ///< Nothing is read any more.
  kLeaf,
  kText,
  kName,
  kContainer,
  kMark,
  kWrap,  ///< `count` values.
  kWrapToMark,
  kCall,    ///< As kWrap of two values, a function and its arguments.
  kInside,  ///< `count` values.
  kInsideToMark,
  kReplace,  ///< Replaces the top by a leaf.
  kPop,
  kDuplicate,
  kLoad,
  kStore,
};

struct Instruction {
  unsigned char code;
  Effect effect;
  std::size_t count = 0;
  Operand operand = Operand::kNothing;
  std::uint64_t width = 0;
};

constexpr Instruction kInstructions[] = {
    {'(', Effect::kMark},
    {')', Effect::kContainer},
    {'.', Effect::kEnd},
    {'0', Effect::kPop},
    {'2', Effect::kDuplicate},
    {'B', Effect::kLeaf, 0, Operand::kText, 4},
    {'C', Effect::kLeaf, 0, Operand::kText, 1},
    {'G', Effect::kLeaf, 0, Operand::kBytes, 8},
    {'J', Effect::kLeaf, 0, Operand::kBytes, 4},
    {'K', Effect::kLeaf, 0, Operand::kBytes, 1},
    {'M', Effect::kLeaf, 0, Operand::kBytes, 2},
    {'N', Effect::kLeaf},
    {'Q', Effect::kReplace},
    {'R', Effect::kCall, 2},
    {'T', Effect::kText, 0, Operand::kText, 4},
    {'U', Effect::kText, 0, Operand::kText, 1},
    {'X', Effect::kText, 0, Operand::kText, 4},
    {']', Effect::kContainer},
    {'a', Effect::kInside, 1},
    {'b', Effect::kInside, 1},
    {'c', Effect::kName, 0, Operand::kName},
    {'e', Effect::kInsideToMark},
    {'h', Effect::kLoad, 0, Operand::kMemo, 1},
    {'j', Effect::kLoad, 0, Operand::kMemo, 4},
    {'q', Effect::kStore, 0, Operand::kMemo, 1},
    {'r', Effect::kStore, 0, Operand::kMemo, 4},
    {'s', Effect::kInside, 2},
    {'t', Effect::kWrapToMark},
    {'u', Effect::kInsideToMark},
    {'}', Effect::kContainer},
    {0x80, Effect::kNone, 0, Operand::kBytes, 1},
    {0x81, Effect::kWrap, 2},
    {0x85, Effect::kWrap, 1},
    {0x86, Effect::kWrap, 2},
    {0x87, Effect::kWrap, 3},
    {0x88, Effect::kLeaf},
    {0x89, Effect::kLeaf},
    {0x8a, Effect::kLeaf, 0, Operand::kText, 1},
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
constexpr std::string_view kTypeParser = "restore_type_tag";
constexpr std::string_view kOwnCode = "__torch__";
constexpr std::string_view kWrittenInCpp = "__torch__.torch.classes";

/// What else LibTorch writes, by the beginning of "module.name".
struct KnownRow {
  std::string_view begin;
  std::string_view why;
};

constexpr KnownRow kKnown[] = {
    {"__torch__.torch.classes.",
     "an object of a class that is written in C++, as quantised and packed "
     "weights are: save the network before it is quantised"},
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

/// True when the parser of types might not survive `text`: it recurses.
bool IsHardToParse(std::string_view text) {
  constexpr std::ptrdiff_t kMaxTypeBrackets = 100;
  return text.size() > kMaxNameLength ||
         std::ranges::count(text, '[') + std::ranges::count(text, '(') >
             kMaxTypeBrackets;
}

class PickleWalk {
 public:
  PickleWalk(const std::string& path, const std::string& record,
             std::string_view pickle)
      : path_(path), record_(record), pickle_(pickle) {}

  void Check() {
    while (true) {
      const Instruction& instruction = Next();
      if (instruction.effect == Effect::kEnd) break;
      const std::uint64_t number = Skip(instruction);
      if (instruction.effect == Effect::kCall && nesting_.ParsesHardText()) {
        Refuse("the name of a type is too long or nested too deep");
      }
      if (!Apply(instruction, number)) {
        Refuse("takes more values than there are");
      }
    }
    const int depth = nesting_.Depth();
    if (depth < 0) Refuse("a value holds itself");
    if (depth > kMaxPickleDepth) {
      Refuse(fmt::format("{} values are nested, expected at most {}", depth,
                         kMaxPickleDepth));
    }
  }

 private:
  const Instruction& Next() {
    const auto code = static_cast<unsigned char>(Take(1)[0]);
    const Instruction* const found = std::find_if(
        std::begin(kInstructions), std::end(kInstructions),
        [&](const Instruction& each) { return each.code == code; });
    if (found == std::end(kInstructions)) {
      Refuse(
          fmt::format("instruction {} is not one that LibTorch writes", code));
    }
    return *found;
  }

  /// Skips the operand; returns a memo number.
  std::uint64_t Skip(const Instruction& instruction) {
    switch (instruction.operand) {
      case Operand::kNothing:
        break;
      case Operand::kBytes:
        Take(instruction.width);
        break;
      case Operand::kText:
        leaf_ = IsHardToParse(Take(Number(instruction.width)))
                    ? PickleLeaf::kHardText
                    : PickleLeaf::kPlain;
        break;
      case Operand::kMemo:
        return MemoNumber(instruction.width);
      case Operand::kName:
        leaf_ = TakeName();
        break;
    }
    return 0;
  }

  bool Apply(const Instruction& instruction, std::uint64_t memo_number) {
    switch (instruction.effect) {
      case Effect::kNone:
      case Effect::kEnd:
        return true;
      case Effect::kLeaf:
        return nesting_.PushLeaf();
      case Effect::kText:
      case Effect::kName:
        return nesting_.PushLeaf(leaf_);
      case Effect::kContainer:
        return nesting_.PushContainer();
      case Effect::kMark:
        return nesting_.PushMark();
      case Effect::kWrap:
      case Effect::kCall:
        return nesting_.Wrap(instruction.count);
      case Effect::kWrapToMark:
        return nesting_.WrapToMark();
      case Effect::kInside:
        return nesting_.PutInside(instruction.count);
      case Effect::kInsideToMark:
        return nesting_.PutInsideToMark();
      case Effect::kReplace:
        return nesting_.Pop() && nesting_.PushLeaf();
      case Effect::kPop:
        return nesting_.Pop();
      case Effect::kDuplicate:
        return nesting_.Duplicate();
      case Effect::kLoad:
        return nesting_.Load(memo_number);
      case Effect::kStore:
        return nesting_.Store(memo_number);
    }
    return false;
  }

  std::uint64_t MemoNumber(std::uint64_t width) {
    const std::uint64_t number = Number(width);
    if (number < pickle_.size()) return number;
    Refuse(fmt::format("memo number {}, expected less than {}", number,
                       pickle_.size()));
  }

  PickleLeaf TakeName() {
    const std::string_view module = TakeLine();
    const std::string_view name = TakeLine();
    if (module.size() + name.size() > kMaxNameLength) {
      Refuse(fmt::format("a name of {} letters, expected at most {}",
                         module.size() + name.size(), kMaxNameLength));
    }
    if (!MayBeNamed(module, name)) RefuseName(module, name);
    return name == kTypeParser ? PickleLeaf::kTypeParser : PickleLeaf::kPlain;
  }

  [[noreturn]] void RefuseName(std::string_view module,
                               std::string_view name) const {
    const std::string full = fmt::format("{}.{}", module, name);
    Refuse(fmt::format("names '{}', {}", full, WhyNotRead(full)),
           IsWellFormed(full) ? ErrorCode::kUnsupported : ErrorCode::kCorrupt);
  }

  std::string_view TakeLine() {
    const std::size_t end = pickle_.find('\n', position_);
    if (end == std::string_view::npos) Refuse("a line without an end");
    const std::string_view line = pickle_.substr(position_, end - position_);
    position_ = end + 1;
    return line;
  }

  std::uint64_t Number(std::uint64_t width) {
    std::uint64_t number = 0;
    const std::string_view bytes = Take(width);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      number |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i]))
                << (8 * i);
    }
    return number;
  }

  std::string_view Take(std::uint64_t count) {
    const std::size_t left = pickle_.size() - position_;
    if (count > left) {
      Refuse(fmt::format("needs {}, {} left", Counted(count, "byte"), left));
    }
    const std::string_view bytes =
        pickle_.substr(position_, static_cast<std::size_t>(count));
    position_ += bytes.size();
    return bytes;
  }

  [[noreturn]] void Refuse(const std::string& why,
                           ErrorCode code = ErrorCode::kCorrupt) const {
    throw Error(code, fmt::format("{}: {}: byte {}: {}", path_, record_,
                                  position_, why));
  }

  const std::string& path_;
  const std::string& record_;
  std::string_view pickle_;
  std::size_t position_ = 0;
  PickleLeaf leaf_ = PickleLeaf::kPlain;  ///< What Skip has read.
  PickleNesting nesting_;
};

}  // namespace

void RefuseBadPickle(const std::string& path, const std::string& record,
                     std::string_view pickle) {
  PickleWalk(path, record, pickle).Check();
}

}  // namespace foretell::torchscript
