#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/program.h"

/// Stock networks and families of networks, built from their configuration.
namespace foretell::zoo {

/// Prefix that distinguishes a zoo network's name from a file's path:
/// `zoo:resnet50?image_size=160`.
inline constexpr std::string_view kPrefix = "zoo:";

/// Configuration of one network in canonical form: every field of its family,
/// including defaults.
struct Description {
  std::string family;  ///< "resnet".
  std::string json;    ///< One object, fields in their declared order.
};

/// Whether `name` (with changes, as for Load) is a network for Load and not a
/// model file: it begins with kPrefix; or it is the path of a config.json of
/// Hugging Face's transformers, of its folder or of weights next to it, that a
/// family expresses; or no file has this path, and it is one of HubNames or has
/// the same last part as one, as copies of gated or quantized models do.
bool IsNetwork(std::string_view name);

/// Why the config.json that `name` leads to is not a network for Load: its
/// model_type, or a value; empty if it leads to none or is one.
std::string WhyNoNetwork(std::string_view name);

/// Names on the Hugging Face Hub ("org/name") whose configurations the library
/// has: Load accepts them and copies of them, and never asks the network.
std::vector<std::string> HubNames();

/// Names of the stock networks, ordered by family, then as their papers list
/// them.
std::vector<std::string> Names();

/// A program of format "zoo" for `name`: a stock name, a family or one of
/// HubNames, with or without kPrefix, or without it the path of a config.json
/// (see IsNetwork); then changes to its configuration (`?field=value&…`).
///
/// Nothing is allocated until the program is instantiated. Throws
/// Error(kNotFound) for an unknown name, with the nearest ones,
/// Error(kInvalidArgument) for an unknown field or an impossible configuration
/// (a kernel larger than its image), and for a config.json Error(kUnsupported)
/// if no family expresses it and Error(kCorrupt) for an invalid one.
Program Load(std::string_view name);

/// Description of the network that Load would build. Same errors.
Description Describe(std::string_view name);

/// The config.json, as text, of a decoder by any name of Load: the network's
/// fields under transformers' keys, or, for a file that no family expresses,
/// the file. Throws what Load throws, and Error(kUnsupported) for a network
/// that is not a decoder.
std::string DecoderConfig(std::string_view name);

/// One network of a sweep at one batch.
struct SweepPoint {
  std::string family;
  std::string model;  ///< For Load, without kPrefix, in canonical form.
  std::int64_t batch = 1;

  bool operator==(const SweepPoint&) const = default;
};

/// Names of the installed sweeps: "dippm", "weather", ….
std::vector<std::string> SweepNames();

/// All points of a sweep, each once, always in the same order. Throws
/// Error(kNotFound) that lists the installed sweeps, and Error(kCorrupt) with
/// file and place for an invalid sweep file.
std::vector<SweepPoint> ListSweep(std::string_view name);

}  // namespace foretell::zoo
