#pragma once

#include <span>
#include <string_view>

namespace foretell::fuzz {

/// One format that a stranger may hand in. `run` returns normally for success
/// and for an Error that keeps the rules of messages; everything else, a broken
/// promise of a reader included, aborts.
struct Target {
  std::string_view name;  ///< Also of its corpus: corpus/<name>.txt.
  void (*run)(std::string_view bytes);
};

/// Formats that are read without LibTorch: csv, dataset, device_json,
/// graph_text, memory_snapshot, onnx, safetensors.
std::span<const Target> ParserTargets();
/// What is answered about a graph whose text may lie: graph_step.
std::span<const Target> StepTargets();
/// Formats that LibTorch runs: exported_graph, script_code, script_pickle.
std::span<const Target> ScriptTargets();

/// Reads a table and writes it anew: its cells must come back.
void ReadCsv(std::string_view bytes);
/// Opens a small dataset with a few bytes replaced, and reads all that is in
/// it. Every four bytes of `patches` are an offset, least significant byte
/// first, and the new byte there; an offset of 2^23 and more cuts the file.
void ReadDataset(std::string_view patches);
/// Reads `bytes` as a device and as a file of environments.
void ReadDevices(std::string_view bytes);
/// Parses `text` as a graph; what was parsed must print and parse again to the
/// same text.
void ParseGraphText(std::string_view text);
/// Parses `text` as a graph and predicts its step: memory, kernels, time and
/// energy in three kinds of run, what networks see of it, plans for several
/// GPUs, MIG and reports.
void PredictGraphText(std::string_view text);
/// Reads `bytes` as a memory snapshot of PyTorch, and follows its trace: what
/// is alive at the peak must add up to it.
void ReadMemorySnapshot(std::string_view bytes);
/// Reads `bytes` as an ONNX model, with and without payloads.
void ReadOnnx(std::string_view bytes);
/// Reads the bytes of a checkpoint; what was read must be written and read
/// again to the same tensors.
void ReadSafeTensors(std::string_view bytes);

/// Loads an archive of torch.export whose graph is `text` and traces it for
/// inference and training, without a sandbox.
void ReadExportedGraph(std::string_view text);
/// Loads and traces a TorchScript archive whose only code is `text`, without a
/// sandbox.
void ReadScriptCode(std::string_view text);
/// The same for an archive whose data.pkl is `bytes`.
void ReadScriptPickle(std::string_view bytes);

}  // namespace foretell::fuzz
