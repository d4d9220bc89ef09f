#pragma once

#include <string>

namespace foretell {

/// Whether exporters call the batch so: "batch", "N".
bool NamesBatch(const std::string& symbol);
/// Whether exporters call the length of a sequence so: "seq_len". False for
/// that of a cache, "past_sequence_length".
bool NamesLength(const std::string& symbol);

}  // namespace foretell
