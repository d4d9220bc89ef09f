#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace foretell::torchscript {

/// Kinds of values without inner values.
enum class PickleLeaf : std::uint8_t {
  kPlain,       ///< A number, a name, a short text.
  kHardText,    ///< A text that LibTorch's parser of types could not survive.
  kTypeParser,  ///< The function that passes such a text to that parser.
};

/// Follows a pickle's stack without its values: only which container holds
/// which. Every function returns false, and changes nothing that matters, when
/// the stack has too few values.
class PickleNesting {
 public:
  PickleNesting();

  bool PushLeaf(PickleLeaf leaf = PickleLeaf::kPlain);
  /// An empty list or dictionary.
  bool PushContainer();
  bool PushMark();
  /// A new container of the top `count` values, or of those above the mark.
  bool Wrap(std::size_t count);
  bool WrapToMark();
  /// Puts the top `count` values, or those above the mark, into the one below.
  bool PutInside(std::size_t count);
  bool PutInsideToMark();
  bool Pop();
  bool Duplicate();
  bool Store(std::uint64_t memo_number);
  bool Load(std::uint64_t memo_number);

  /// True when the two values on top are kTypeParser and its arguments, a
  /// kHardText among them.
  bool ParsesHardText() const;

  /// Levels of containers; -1 if one contains itself.
  int Depth() const;

 private:
  using Id = std::uint32_t;

  Id NewContainer();
  /// Values above the last mark, which is removed; -1 without a mark.
  std::ptrdiff_t TakeMark();

  std::vector<std::vector<Id>> children_;  ///< By container, after the leaves.
  std::vector<Id> stack_;
  std::vector<std::size_t> marks_;  ///< Heights of the stack.
  std::vector<Id> memo_;
};

}  // namespace foretell::torchscript
