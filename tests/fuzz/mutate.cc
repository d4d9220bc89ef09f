#include "tests/fuzz/mutate.h"

#include <algorithm>

namespace foretell::fuzz {
namespace {

/// A number below `end`, 0 where there is none.
std::size_t Below(std::size_t end, std::mt19937& random) {
  return end == 0 ? 0 : random() % end;
}

std::string Piece(const std::string& from, std::mt19937& random) {
  constexpr std::size_t kLongest = 32;
  const std::size_t begin = Below(from.size(), random);
  return from.substr(begin, 1 + Below(kLongest, random));
}

void ChangeOnce(const std::vector<std::string>& inputs, std::string& bytes,
                std::mt19937& random) {
  const std::size_t place = Below(bytes.size(), random);
  const std::uint32_t kind = random() % 5;
  if (bytes.empty() || kind == 0) {
    bytes.insert(place, Piece(inputs[Below(inputs.size(), random)], random));
  } else if (kind == 1) {
    bytes[place] = static_cast<char>(random());
  } else if (kind == 2) {
    bytes[place] = static_cast<char>(bytes[place] ^ 1 << random() % 8);
  } else if (kind == 3) {
    bytes.insert(place, Piece(bytes, random));
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
