#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace foretell::fuzz {

std::size_t Below(std::size_t end, std::mt19937& random) {
  return end == 0 ? 0 : random() % end;
}

namespace {

std::string Piece(const std::string& from, std::mt19937& random) {
  constexpr std::size_t kLongest = 32;
  const std::size_t begin = Below(from.size(), random);
  return from.substr(begin, 1 + Below(kLongest, random));
}

bool IsOfWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         c == '.' || c == '-';
}

/// The word of `from` at or after `place`: [begin, end), empty at the end.
std::pair<std::size_t, std::size_t> WordAt(const std::string& from,
                                           std::size_t place) {
  std::size_t begin = place;
  while (begin < from.size() && !IsOfWord(from[begin])) ++begin;
  while (begin > 0 && begin < from.size() && IsOfWord(from[begin - 1])) --begin;
  std::size_t end = begin;
  while (end < from.size() && IsOfWord(from[end])) ++end;
  return {begin, end};
}

/// A word for another, which keeps what text is made of: JSON stays JSON.
void ChangeWord(const std::string& other, std::string& bytes,
                std::mt19937& random) {
  constexpr std::array<std::string_view, 8> kWords = {
      "-1",   "0",     "1",   "9223372036854775807", "18446744073709551615",
      "true", "1e300", "-0.5"};
  const auto [begin, end] = WordAt(bytes, Below(bytes.size(), random));
  const auto [from, to] = WordAt(other, Below(other.size(), random));
  std::string word = other.substr(from, to - from);
  if (random() % 3 == 0) word = kWords[random() % kWords.size()];
  bytes.replace(begin, end - begin, word);
}

void ChangeOnce(const std::vector<std::string>& inputs, std::string& bytes,
                std::mt19937& random) {
  const std::size_t place = Below(bytes.size(), random);
  const std::uint32_t kind = random() % 7;
  const std::string& other = inputs[Below(inputs.size(), random)];
  if (bytes.empty() || kind == 0) {
    bytes.insert(place, Piece(other, random));
  } else if (kind == 1) {
    bytes[place] = static_cast<char>(random());
  } else if (kind == 2) {
    bytes[place] = static_cast<char>(bytes[place] ^ 1 << random() % 8);
  } else if (kind == 3) {
    bytes.insert(place, Piece(bytes, random));
  } else if (kind >= 5) {
    ChangeWord(other, bytes, random);
  } else {
    bytes.erase(place, Piece(bytes, random).size());
  }
}

}  // namespace

std::string Mutated(const std::vector<std::string>& inputs,
                    std::mt19937& random) {
  std::string bytes = inputs[Below(inputs.size(), random)];
  const std::uint32_t changes = 1 + random() % 4;
  for (std::uint32_t i = 0; i < changes; ++i) {
    ChangeOnce(inputs, bytes, random);
  }
  return bytes;
}

}  // namespace foretell::fuzz
