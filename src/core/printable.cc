#include "src/core/printable.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace foretell {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array<Range, 7> kUnprintable = {{{0x0000, 0x001f},
                                                {0x007f, 0x009f},
                                                {0x061c, 0x061c},
                                                {0x200e, 0x200f},
                                                {0x2028, 0x202e},
                                                {0x2066, 0x2069},
                                                {0xfeff, 0xfeff}}};

bool IsPrintable(char32_t code) {
  return std::ranges::none_of(kUnprintable, [code](const Range& range) {
    return range.first <= code && code <= range.last;
  });
}

/// The lead bytes of one length of sequence and the codes that need it.
struct Form {
  unsigned char mask;
  unsigned char lead;
  Range codes;
};

constexpr std::array<Form, 4> kForms = {{{0x80, 0x00, {0, 0x7f}},
                                         {0xe0, 0xc0, {0x80, 0x7ff}},
                                         {0xf0, 0xe0, {0x800, 0xffff}},
                                         {0xf8, 0xf0, {0x10000, 0x10ffff}}}};

struct Character {
  char32_t code;
  std::size_t bytes;
};

/// The character at the beginning of `text`; empty where that is no UTF-8.
std::optional<Character> Decode(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  for (std::size_t i = 0; i < kForms.size(); ++i) {
    const Form& form = kForms[i];
    if ((byte(0) & form.mask) != form.lead) continue;
    if (text.size() <= i) return std::nullopt;
    char32_t code = byte(0) & static_cast<unsigned char>(~form.mask);
    for (std::size_t k = 1; k <= i; ++k) {
      if ((byte(k) & 0xc0) != 0x80) return std::nullopt;
      code = code << 6 | (byte(k) & 0x3f);
    }
    const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
    const bool is_shortest =
        code >= form.codes.first && code <= form.codes.last;
    if (is_surrogate || !is_shortest) return std::nullopt;
    return Character{code, i + 1};
  }
  return std::nullopt;
}

std::string Escaped(std::string_view text, bool keep_line_feeds) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const std::optional<Character> next = Decode(text);
    const std::string_view bytes = text.substr(0, next ? next->bytes : 1);
    const bool stays = next && (IsPrintable(next->code) ||
                                (keep_line_feeds && next->code == '\n'));
    if (stays) {
      escaped += bytes;
    } else {
      for (const char byte : bytes) escaped += EscapedByte(byte);
    }
    text.remove_prefix(bytes.size());
  }
  return escaped;
}

}  // namespace

std::string Printable(std::string_view text) { return Escaped(text, false); }

std::string PrintableLines(std::string_view text) {
  return Escaped(text, true);
}

std::string EscapedByte(char byte) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto number = static_cast<unsigned char>(byte);
  return {'\\', 'x', kHex[number >> 4], kHex[number & 15]};
}

}  // namespace foretell
