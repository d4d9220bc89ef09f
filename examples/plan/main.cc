// Cuts a volume for workers of 2 GiB: chunks that are multiples of the
// storage's own, by a footprint that the library carries.

#include <foretell/error.h>
#include <foretell/plan.h>

#include <iostream>

int main() {
  try {
    const foretell::Footprint footprint =
        foretell::BuiltInFootprint("convolution3d", "f64");
    const foretell::ChunkPlan plan =
        foretell::PlanChunk(footprint, {.shape = {1024, 1024, 2048},
                                        .memory_bytes = std::int64_t{2} << 30,
                                        .margin = 0.2,
                                        .align = {64, 64, 64}});
    std::cout << plan.chunks << " chunks, chunks="
              << foretell::DaskChunks(footprint, plan).front() << "\n";
  } catch (const foretell::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
