#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "src/core/plain_data.h"

namespace foretell {

/// Most values of a pickle that are kept, at about 60 bytes each.
inline constexpr std::size_t kMaxPickleValues = std::size_t{1} << 24;

/// True for the first bytes of a pickle of protocol 2 to 5.
bool BeginsLikePickle(std::string_view bytes);

/// Reads a pickle of protocol 2 to 5 that holds data alone; runs no code and
/// does not recurse. Texts of the result are part of `bytes`.
///
/// Throws Error that names `origin` and the byte: kUnsupported for an
/// instruction that names or calls code, such as GLOBAL and REDUCE, for another
/// protocol and for more than kMaxPickleValues; kCorrupt for one that ends
/// early or takes what is not there.
PlainData ReadPickle(std::string_view bytes, const std::string& origin);

}  // namespace foretell
