#pragma once

#include <cstdint>
#include <string>

namespace foretell::benchmarks {

/// A convolutional network with all of its weights in the file.
struct OnnxFileSpec {
  std::string name;
  int layers = 0;    ///< Each Conv, Relu, Add; each one weight and one bias.
  int channels = 0;  ///< Weights are f32[channels, channels, 3, 3].
};

/// 100 MB: 100 layers of 170 channels, 300 nodes.
OnnxFileSpec SmallOnnxFile();
/// 1.6 GB: 150 layers of 544 channels, 450 nodes.
OnnxFileSpec LargeOnnxFile();

/// Writes the network into `folder` unless it is there; returns its path.
/// Aborts the benchmark by std::runtime_error when the disk is full.
std::string WriteOnnxFile(const OnnxFileSpec& spec, const std::string& folder);

}  // namespace foretell::benchmarks
