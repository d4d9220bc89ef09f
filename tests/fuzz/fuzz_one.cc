// The entry points of libFuzzer for the target that the build names.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/mutate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  foretell::fuzz::FORETELL_FUZZ_TARGET(
      {reinterpret_cast<const char*>(data), size});
  return 0;
}

#ifdef FORETELL_FUZZ_GRAPHS
// Three quarters of the inputs change as graphs do, the others byte by byte.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                        std::size_t max_size);

namespace {

std::size_t Store(const std::string& text, std::uint8_t* data,
                  std::size_t max_size) {
  const std::size_t size = std::min(text.size(), max_size);
  std::copy_n(text.begin(), size, data);
  return size;
}

std::string TextOf(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                               std::size_t size,
                                               std::size_t max_size,
                                               unsigned int seed) {
  std::mt19937 random(seed);
  if (random() % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string text = TextOf(data, size);
  return Store(foretell::fuzz::MutatedGraph(text, text, random), data,
               max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(
    const std::uint8_t* first, std::size_t first_size,
    const std::uint8_t* second, std::size_t second_size, std::uint8_t* out,
    std::size_t max_size, unsigned int seed) {
  std::mt19937 random(seed);
  return Store(
      foretell::fuzz::MutatedGraph(TextOf(first, first_size),
                                   TextOf(second, second_size), random),
      out, max_size);
}
#endif
