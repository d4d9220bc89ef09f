#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "frontends/onnx/reader/model.h"
#include "src/core/csv.h"
#include "src/core/csv_rows.h"
#include "src/device/read_device.h"
#include "src/network/safetensors.h"
#include "src/snapshot/recorded_memory.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/promises.h"

namespace foretell::fuzz {
namespace {

constexpr std::string_view kOrigin = "input";

/// Runs `read` and checks the message of the Error that it may throw.
template <typename Read>
void Expecting(std::string_view origin, const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    RequireGoodMessage(error, origin);
  }
}

/// The number of weights of `bytes` when they are a model; -1 when not.
std::int64_t WeightsOf(std::string_view bytes, std::int64_t limit) {
  std::int64_t weights = -1;
  Expecting("input:", [&] {
    weights = onnx::ReadModelFromBytes(bytes, std::string(kOrigin),
                                       {.max_payload_bytes = limit})
                  .FloatInitializerElements();
  });
  return weights;
}

using Cells = std::vector<std::string>;

/// All rows of the table at `path`, its header first.
std::vector<Cells> TableAt(const std::string& path) {
  std::vector<Cells> table;
  ForEachCsvRow(path, [&](const CsvRow& row) {
    if (table.empty()) table.push_back(row.columns());
    Cells& cells = table.emplace_back();
    for (const std::string& column : row.columns()) {
      cells.push_back(row.At(column));
    }
  });
  return table;
}

constexpr Target kParserTargets[] = {
    {"csv", &ReadCsv},
    {"dataset", &ReadDataset},
    {"device_json", &ReadDevices},
    {"graph_text", &ParseGraphText},
    {"memory_snapshot", &ReadMemorySnapshot},
    {"onnx", &ReadOnnx},
    {"safetensors", &ReadSafeTensors},
};

}  // namespace

std::span<const Target> ParserTargets() { return kParserTargets; }

void ReadCsv(std::string_view bytes) {
  static const ScratchFile file("table.csv");
  Expecting(file.path(), [&] {
    file.Write(bytes);
    const std::vector<Cells> once = TableAt(file.path());
    std::string text;
    for (const Cells& cells : once) text += CsvLine(cells);
    file.Write(text);
    // A cell is made printable when it is written, which may change it once.
    const std::vector<Cells> twice = TableAt(file.path());
    std::string again;
    for (const Cells& cells : twice) again += CsvLine(cells);
    Require(text == again, "writing a table is not stable");
  });
}

void ReadDevices(std::string_view bytes) {
  Expecting(kOrigin, [&] { device::ReadDevice(bytes, kOrigin); });
  Expecting(kOrigin, [&] { device::ReadContexts(bytes, kOrigin); });
}

void ParseGraphText(std::string_view text) {
  Expecting("input:", [&] {
    const GraphTextOptions options = {.with_timeline = true};
    const std::string once = PrintGraph(ParseGraph(text, "input"), options);
    std::string twice;
    try {
      twice = PrintGraph(ParseGraph(once, "input"), options);
    } catch (const Error& error) {
      Require(false, "own text refused: " + std::string(error.what()));
    }
    Require(once == twice, "printing is not stable");
  });
}

void ReadMemorySnapshot(std::string_view bytes) {
  Expecting("input:", [&] {
    const snapshot::MemorySnapshot read =
        snapshot::ParseSnapshot(bytes, std::string(kOrigin));
    const snapshot::StackWords words(read);
    const snapshot::RecordedMemory memory = FollowTrace(read, words);
    std::int64_t live = 0;
    for (const snapshot::RecordedBlock& block : memory.live) {
      live += block.bytes;
      words.PlaceOf(block.stack);
    }
    Require(live == memory.peak_allocated, "the peak is not what is alive");
  });
}

void ReadOnnx(std::string_view bytes) {
  const std::int64_t with_payloads = WeightsOf(bytes, 1 << 20);
  const std::int64_t without = WeightsOf(bytes, 0);
  // A payload that is skipped is checked less closely, not differently.
  Require(with_payloads == -1 || with_payloads == without,
          "skipping payloads changes the weights");
}

void ReadSafeTensors(std::string_view bytes) {
  Expecting(kOrigin, [&] {
    const std::string origin(kOrigin);
    const learned::SafeTensors once = learned::ParseSafeTensors(bytes, origin);
    const std::string own = learned::SerializeSafeTensors(once);
    Require(learned::ParseSafeTensors(own, origin) == once,
            "tensors do not come back");
  });
}

}  // namespace foretell::fuzz
