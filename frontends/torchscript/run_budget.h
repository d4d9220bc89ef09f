#pragma once

#include <cstdint>
#include <string>

namespace foretell::torchscript {

/// Largest number of graph nodes that one forward pass may execute.
inline constexpr std::int64_t kMaxSteps = 10'000'000;
/// Largest number of bytes of lists, strings, dictionaries and tuples that one
/// forward pass may make or read, each time counted anew. An int in a list has
/// 16 bytes; a network of a thousand layers comes to less than a megabyte.
inline constexpr std::int64_t kMaxContainerBytes = std::int64_t{1} << 28;
/// Largest sum of the depths of all that is put into values of type Any or into
/// objects: such values can be made to nest without end, and what frees them
/// recurses.
inline constexpr int kMaxNesting = 2'000;

/// While it lives, code on this thread that counts (limits.h, sizes.h) may use
/// up to the limits above; beyond one its interpreter throws, and `refusal`
/// tells why, since the interpreter replaces exceptions.
class RunBudget {
 public:
  RunBudget();
  ~RunBudget();
  RunBudget(const RunBudget&) = delete;
  RunBudget& operator=(const RunBudget&) = delete;

  /// What the run did too much of, as a sentence about `forward`; empty while
  /// the budget lasts.
  const std::string& refusal() const;

  /// True while one lives on this thread.
  static bool IsActive();
};

/// Subtract from this thread's budget; throw Error(kUnsupported) once it is
/// spent. They do nothing outside of every RunBudget.
void ChargeSteps(std::int64_t steps);
void ChargeBytes(std::int64_t bytes);
void ChargeNesting(int levels);

}  // namespace foretell::torchscript
