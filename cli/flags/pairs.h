#pragma once

#include <string>
#include <utility>

namespace foretell::cli {

/// "a=b" as {a, b}, divided at the first "="; `flag` begins the message.
/// Throws Error(kInvalidArgument) without a name before the "=".
std::pair<std::string, std::string> ParsePair(const std::string& flag,
                                              const std::string& text);

/// Meaning of a field's word: "precision:amp (fp16)=fp16" as {{"precision",
/// "amp (fp16)"}, "fp16"}, divided at the first colon and the last "=". Throws
/// Error(kInvalidArgument) if there is no such division.
std::pair<std::pair<std::string, std::string>, std::string> ParseWord(
    const std::string& text);

}  // namespace foretell::cli
