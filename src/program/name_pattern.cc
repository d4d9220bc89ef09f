#include "src/program/name_pattern.h"

#include <re2/re2.h>

#include "src/core/failure.h"

namespace foretell {
namespace {

/// Bytes of a pattern that a message shows.
constexpr std::size_t kMostPatternShown = 200;

re2::RE2::Options QuietOptions() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  return options;
}

}  // namespace

NamePattern::NamePattern(const std::string& pattern)
    : expression_(std::make_unique<re2::RE2>(pattern, QuietOptions())) {
  if (expression_->ok()) return;
  throw InvalidArgument("'{}' is no regular expression: {}",
                        pattern.substr(0, kMostPatternShown),
                        expression_->error().substr(0, kMostPatternShown));
}

NamePattern::~NamePattern() = default;

bool NamePattern::IsFoundIn(const std::string& name) const {
  return re2::RE2::PartialMatch(name, *expression_);
}

}  // namespace foretell
