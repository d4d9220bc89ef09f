#pragma once

#include <string>
#include <string_view>

namespace foretell {

/// `text` for a terminal, a table or a message: the result is valid UTF-8 on
/// one line and cannot control the terminal, whatever a file's names contain.
/// Bytes of the following become `\xNN`, everything else is unchanged:
/// - control characters: U+0000 to U+001F, U+007F to U+009F;
/// - line separators and marks of writing direction (U+061C, U+200E,
///   U+200F, U+2028 to U+202E, U+2066 to U+2069);
/// - the byte order mark (U+FEFF), which is invisible and dropped at the start
/// of a file;
/// - bytes that are not UTF-8.
///
/// Backslashes stay, so that Printable(Printable(x)) == Printable(x): it may be
/// applied several times.
std::string Printable(std::string_view text);

/// The same, but line feeds stay.
std::string PrintableLines(std::string_view text);

/// `byte` as `\xNN`.
std::string EscapedByte(char byte);

}  // namespace foretell
