// How long the networks take to train and to answer.
//
//     network_benchmark CLOCK train FOLDER KIND HIDDEN BATCH THREADS EPOCHS
//     DEVICE network_benchmark CLOCK infer FOLDER KIND HIDDEN RUNS
//
// `train` prints the seconds of every training step (forward, Huber loss,
// backward, Adam; over batches that were prepared before, the first epoch left
// out) on "cpu" or "cuda"; `infer` those of the first graph alone on one
// thread. Both as one JSON list. scripts/bench/bench_training.py writes the
// folder, runs PyTorch Geometric on the same graphs and prints one table. CLOCK
// is "wall", or "processor" for the time of this process alone, all threads.

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "benchmarks/graph_files.h"
#include "src/network/keep_memory.h"
#include "src/network/network.h"

namespace foretell::benchmarks {
namespace {

// Seconds since some fixed moment, on one of the two clocks.
using Clock = double (*)();

double WallSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

struct LabelledBatch {
  learned::GraphBatch graphs;
  at::Tensor targets;
};

std::vector<LabelledBatch> PrepareBatches(const GraphSet& set,
                                          std::size_t batch_size,
                                          const at::Device& device) {
  std::vector<LabelledBatch> batches;
  for (std::size_t first = 0; first < set.graphs.size(); first += batch_size) {
    const std::size_t last = std::min(first + batch_size, set.graphs.size());
    batches.push_back({set.Batch(first, last).To(device),
                       set.targets
                           .slice(0, static_cast<std::int64_t>(first),
                                  static_cast<std::int64_t>(last))
                           .to(device)});
  }
  return batches;
}

std::vector<double> Train(Clock clock, learned::Network& network,
                          const std::vector<LabelledBatch>& batches,
                          int epochs) {
  torch::optim::Adam optimizer(network.parameters(), 2.754e-5);
  network.train();
  std::vector<double> seconds;
  for (int epoch = 0; epoch <= epochs; ++epoch) {
    for (const LabelledBatch& batch : batches) {
      const double start = clock();
      optimizer.zero_grad();
      torch::huber_loss(network.forward(batch.graphs), batch.targets)
          .backward();
      optimizer.step();
      if (batch.targets.is_cuda()) torch::cuda::synchronize();
      if (epoch > 0) seconds.push_back(clock() - start);
    }
  }
  return seconds;
}

std::vector<double> Infer(Clock clock, learned::Network& network,
                          const learned::GraphBatch& graph, int runs) {
  constexpr int kWarmUps = 20;
  const torch::NoGradGuard no_gradient;
  network.eval();
  std::vector<double> seconds;
  for (int run = 0; run < runs + kWarmUps; ++run) {
    const double start = clock();
    network.forward(graph);
    if (run >= kWarmUps) seconds.push_back(clock() - start);
  }
  return seconds;
}

void Print(const std::vector<double>& seconds) {
  const char* separator = "[";
  for (const double value : seconds) {
    std::cout << separator << value;
    separator = ", ";
  }
  std::cout << "]\n";
}

void Run(const std::vector<std::string>& arguments) {
  learned::KeepFreedMemory();  // As a program that trains does.
  const auto number = [&](std::size_t i) { return std::stoi(arguments.at(i)); };
  const Clock clock =
      arguments.at(0) == "processor" ? &ProcessorSeconds : &WallSeconds;
  const GraphSet set = ReadGraphSet(arguments.at(2));
  const auto network = learned::MakeNetwork(
      {.kind = learned::ParseNetworkKind(arguments.at(3)).value(),
       .hidden = number(4)});
  if (arguments.at(1) == "train") {
    at::set_num_threads(number(6));
    const at::Device device(arguments.at(8));
    network->to(device);
    const auto batches =
        PrepareBatches(set, static_cast<std::size_t>(number(5)), device);
    Print(Train(clock, *network, batches, number(7)));
  } else {
    at::set_num_threads(1);
    Print(Infer(clock, *network, set.Batch(0, 1), number(5)));
  }
}

}  // namespace
}  // namespace foretell::benchmarks

int main(int argc, char** argv) {
  try {
    foretell::benchmarks::Run({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "network_benchmark: " << error.what() << '\n';
    return 1;
  }
}
