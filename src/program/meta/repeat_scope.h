#pragma once

#include <cstdint>

namespace foretell {

/// How many calls one that this thread makes stands for. RepeatScope sets it.
inline thread_local std::int64_t call_times = 1;

/// While it lives, a call inside of an operator stands for `times` (at least 1)
/// calls alike: of a loop whose steps differ in nothing that a graph records, a
/// meta kernel makes one. Scopes in scopes multiply.
class RepeatScope {
 public:
  explicit RepeatScope(std::int64_t times) : outer_(call_times) {
    call_times *= times;
  }
  ~RepeatScope() { call_times = outer_; }
  RepeatScope(const RepeatScope&) = delete;
  RepeatScope& operator=(const RepeatScope&) = delete;

 private:
  std::int64_t outer_;
};

}  // namespace foretell
