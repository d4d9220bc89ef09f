// The instructions of Python's pickle protocol 2 that LibTorch knows
// (torch/csrc/jit/serialization/pickler_helper.h, 2.13), each with what follows
// it. Its reader trusts lengths and memo numbers: it makes a string of the
// length that is stated before it reads, and a table as long as the highest
// number, up to 64 GB for five bytes.

#include "frontends/torchscript/pickle_check.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "foretell/error.h"

namespace foretell::torchscript {
namespace {

/// What follows an instruction.
enum class Operand {
  kNothing,
  kBytes,       ///< As many as `width`.
  kText,        ///< A length of `width` bytes, then so many bytes.
  kMemoNumber,  ///< Of `width` bytes: a place in the table of values.
  kTwoLines,
  kEnd,  ///< Nothing is read any more.
};

struct Instruction {
  unsigned char code;
  Operand operand;
  int width;
};

constexpr std::array<Instruction, 40> kInstructions = {{
    {'(', Operand::kNothing, 0},    {')', Operand::kNothing, 0},
    {'.', Operand::kEnd, 0},        {'0', Operand::kNothing, 0},
    {'2', Operand::kNothing, 0},    {'B', Operand::kText, 4},
    {'C', Operand::kText, 1},       {'G', Operand::kBytes, 8},
    {'J', Operand::kBytes, 4},      {'K', Operand::kBytes, 1},
    {'M', Operand::kBytes, 2},      {'N', Operand::kNothing, 0},
    {'Q', Operand::kNothing, 0},    {'R', Operand::kNothing, 0},
    {'T', Operand::kText, 4},       {'U', Operand::kText, 1},
    {'X', Operand::kText, 4},       {']', Operand::kNothing, 0},
    {'a', Operand::kNothing, 0},    {'b', Operand::kNothing, 0},
    {'c', Operand::kTwoLines, 0},   {'e', Operand::kNothing, 0},
    {'h', Operand::kMemoNumber, 1}, {'j', Operand::kMemoNumber, 4},
    {'q', Operand::kMemoNumber, 1}, {'r', Operand::kMemoNumber, 4},
    {'s', Operand::kNothing, 0},    {'t', Operand::kNothing, 0},
    {'u', Operand::kNothing, 0},    {'}', Operand::kNothing, 0},
    {0x80, Operand::kBytes, 1},     {0x81, Operand::kNothing, 0},
    {0x85, Operand::kNothing, 0},   {0x86, Operand::kNothing, 0},
    {0x87, Operand::kNothing, 0},   {0x88, Operand::kNothing, 0},
    {0x89, Operand::kNothing, 0},   {0x8a, Operand::kText, 1},
    {0x8b, Operand::kText, 4},      {0x8c, Operand::kText, 1},
}};

class PickleWalk {
 public:
  PickleWalk(const std::string& path, const std::string& record,
             std::string_view pickle)
      : path_(path), record_(record), pickle_(pickle) {}

  void Check() {
    while (true) {
      const auto code = static_cast<unsigned char>(Take(1)[0]);
      const auto* const found = std::find_if(
          kInstructions.begin(), kInstructions.end(),
          [&](const Instruction& each) { return each.code == code; });
      if (found == kInstructions.end()) {
        Refuse("instruction " + std::to_string(code) +
               " is none that LibTorch writes");
      }
      if (found->operand == Operand::kEnd) return;
      Skip(*found);
    }
  }

 private:
  void Skip(const Instruction& instruction) {
    switch (instruction.operand) {
      case Operand::kBytes:
        Take(static_cast<std::uint64_t>(instruction.width));
        return;
      case Operand::kText:
        Take(Number(instruction.width));
        return;
      case Operand::kMemoNumber:
        return CheckMemo(Number(instruction.width));
      case Operand::kTwoLines:
        SkipLine();
        SkipLine();
        return;
      case Operand::kNothing:
      case Operand::kEnd:
        return;
    }
  }

  void CheckMemo(std::uint64_t number) const {
    if (number < pickle_.size()) return;
    Refuse("memo number " + std::to_string(number) + ", expected less than " +
           std::to_string(pickle_.size()));
  }

  void SkipLine() {
    const std::size_t end = pickle_.find('\n', position_);
    if (end == std::string_view::npos) Refuse("a line without an end");
    position_ = end + 1;
  }

  std::uint64_t Number(int width) {
    std::uint64_t number = 0;
    const std::string_view bytes = Take(static_cast<std::uint64_t>(width));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      number |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i]))
                << (8 * i);
    }
    return number;
  }

  std::string_view Take(std::uint64_t count) {
    const std::size_t left = pickle_.size() - position_;
    if (count > left) {
      Refuse("needs " + std::to_string(count) + " bytes, " +
             std::to_string(left) + " are left");
    }
    const std::string_view bytes =
        pickle_.substr(position_, static_cast<std::size_t>(count));
    position_ += bytes.size();
    return bytes;
  }

  [[noreturn]] void Refuse(const std::string& why) const {
    throw Error(ErrorCode::kCorrupt, path_ + ": " + record_ + ": byte " +
                                         std::to_string(position_) + ": " +
                                         why);
  }

  const std::string& path_;
  const std::string& record_;
  std::string_view pickle_;
  std::size_t position_ = 0;
};

}  // namespace

void RefuseBadPickle(const std::string& path, const std::string& record,
                     std::string_view pickle) {
  PickleWalk(path, record, pickle).Check();
}

}  // namespace foretell::torchscript
