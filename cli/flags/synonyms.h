#pragma once

#include <CLI/CLI.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Words that users of other tools type: `--batch-size`, `--gpu`, `--amp`,
/// `bfloat16`. One table for flags and one for values; a word that a command
/// defines itself always has that command's meaning.
namespace foretell::cli {

/// The innermost command of `app` that `words` name.
const CLI::App& CalledIn(const CLI::App& app,
                         std::span<const std::string> words);

/// Translates `words` (the command line without the program's name) to those of
/// the command of `app` that they call: `--dtype BFloat16` becomes `--precision
/// bf16`, `--train` becomes `--mode training`. Flags without a synonym stay for
/// the parser to refuse; what follows "--" is left alone.
std::vector<std::string> InOwnWords(const CLI::App& app,
                                    std::vector<std::string> words);

/// A hint for a flag that other tools have and that one flag of ours does not
/// replace: "lengths are dimensions: --dim NAME=SIZE". Empty for others.
std::string_view HintFor(std::string_view flag);

}  // namespace foretell::cli
