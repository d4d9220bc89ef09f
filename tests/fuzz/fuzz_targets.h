#pragma once

#include <string_view>

namespace foretell::fuzz {

/// What the fuzzers and the replay of their corpora run. Each returns normally
/// for success and for an Error that keeps the rules of messages; everything
/// else, a broken promise of a parser included, aborts.

/// Reads `bytes` as an ONNX model, with and without payloads.
void ReadOnnx(std::string_view bytes);

/// Parses `text` as a graph; what was parsed must print and parse again to the
/// same text.
void ParseGraphText(std::string_view text);

}  // namespace foretell::fuzz
