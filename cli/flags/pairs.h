#pragma once

#include <string>
#include <utility>

namespace foretell::cli {

/// "a=b" as {a, b}, divided at the first sign; `flag` begins the message.
/// Throws Error(kInvalidArgument) without a name before the sign.
std::pair<std::string, std::string> ParsePair(const std::string& flag,
                                              const std::string& text);

/// What a field's word means: "precision:amp (fp16)=fp16" as {{"precision",
/// "amp (fp16)"}, "fp16"}, divided at the first colon and the last sign.
/// Throws Error(kInvalidArgument) where there is no such division.
std::pair<std::pair<std::string, std::string>, std::string> ParseWord(
    const std::string& text);

}  // namespace foretell::cli
