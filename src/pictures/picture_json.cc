#include "src/pictures/picture_json.h"

#include "src/core/printable.h"
#include "src/judge/report_json.h"

namespace foretell::pictures {
namespace {

constexpr int kBriefDigits = 4;

/// Whether a character of UTF-8 begins at a byte.
bool BeginsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

}  // namespace

double Brief(double value) { return RoundedForJson(value, kBriefDigits); }

std::string Clipped(std::string_view name) {
  const std::string text = Printable(name);
  if (text.size() <= kMaxNameBytes) return text;
  std::size_t head = kMaxNameBytes / 2;
  while (!BeginsCharacter(text[head])) --head;
  std::size_t tail = text.size() - kMaxNameBytes / 2;
  while (tail < text.size() && !BeginsCharacter(text[tail])) ++tail;
  return text.substr(0, head) + "…" + text.substr(tail);
}

}  // namespace foretell::pictures
