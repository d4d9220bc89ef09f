// How long the structure of an ONNX file takes to read, beside Protobuf alone.
//
//     onnx_reader_benchmark [--benchmark_filter=…]
//
// The files (100 MB and 1.6 GB) are written to $FORETELL_BENCHMARK_FOLDER and
// kept, or to a temporary folder and removed. Run
// scripts/bench/bench_onnx_reader.py for a table that has Python's onnx.load
// beside them.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "benchmarks/onnx_reader_files.h"
#include "frontends/onnx/reader/model.h"
#include "onnx-ml.pb.h"

namespace foretell::benchmarks {
namespace {

// The peak of the resident memory in MiB since the last ResetPeak().
double PeakMib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib / 1024;
  }
  return 0;
}
void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

void ReadModelBenchmark(benchmark::State& state, const std::string& path) {
  ResetPeak();
  const double before = PeakMib();
  for (auto _ : state) {
    benchmark::DoNotOptimize(onnx::ReadModel(path));
  }
  state.counters["growth_mib"] = PeakMib() - before;
}

// The file as a memory map, so that only Protobuf's own copies count.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path)
      : size_(std::filesystem::file_size(path)) {
    const int file = open(path.c_str(), O_RDONLY);
    data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
  }
  ~MappedFile() { munmap(data_, size_); }
  const void* data() const { return data_; }
  int size() const { return static_cast<int>(size_); }

 private:
  std::size_t size_;
  void* data_;
};

void ProtobufBenchmark(benchmark::State& state, const std::string& path) {
  ResetPeak();
  const double before = PeakMib();
  for (auto _ : state) {
    const MappedFile file(path);
    ::onnx::ModelProto model;
    if (!model.ParseFromArray(file.data(), file.size())) {
      state.SkipWithError("Protobuf cannot parse the file");
      return;
    }
  }
  state.counters["growth_mib"] = PeakMib() - before;
}

void Register(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem().string();
  benchmark::RegisterBenchmark(("ReadModel/" + name).c_str(),
                               ReadModelBenchmark, path)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark(("ParseFromArray/" + name).c_str(),
                               ProtobufBenchmark, path)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace foretell::benchmarks

int main(int argc, char** argv) {
  using namespace foretell::benchmarks;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  const char* kept = std::getenv("FORETELL_BENCHMARK_FOLDER");
  const std::filesystem::path folder =
      kept ? std::filesystem::path(kept)
           : std::filesystem::temp_directory_path() /
                 ("foretell_benchmark_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  for (const OnnxFileSpec& spec : {SmallOnnxFile(), LargeOnnxFile()}) {
    Register(WriteOnnxFile(spec, folder.string()));
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  if (!kept) std::filesystem::remove_all(folder);
  return 0;
}
