#pragma once

#include <memory>
#include <string>

namespace re2 {
class RE2;
}

namespace foretell {

/// A regular expression that is searched for in names; it may be untrusted: the
/// time of a search is in proportion to the name, the stack that it uses is
/// fixed. The syntax is RE2's (github.com/google/re2/wiki/Syntax): that of
/// Python without look-around and references to groups.
class NamePattern {
 public:
  /// Throws Error(kInvalidArgument) if `pattern` is not such an expression, or
  /// needs more than RE2's 8 MiB.
  explicit NamePattern(const std::string& pattern);
  ~NamePattern();
  NamePattern(const NamePattern&) = delete;
  NamePattern& operator=(const NamePattern&) = delete;

  /// Whether any part of `name` matches.
  bool IsFoundIn(const std::string& name) const;

 private:
  std::unique_ptr<const re2::RE2> expression_;
};

}  // namespace foretell
