#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/program.h"

/// Stock networks and families of networks, built from their configuration.
namespace foretell::zoo {

/// Prefix of a model's name where a file's path could also be given:
/// `zoo:resnet50?image_size=160`.
inline constexpr std::string_view kPrefix = "zoo:";

/// Configuration of one network in canonical form: every field of its family,
/// those that the name sets and those it leaves at their defaults.
struct Description {
  std::string family;  ///< "resnet".
  std::string json;    ///< One object, fields in their declared order.
};

/// Names of the stock networks, ordered by family, then as their papers list
/// them.
std::vector<std::string> Names();

/// A program of format "zoo" for `name`, with or without kPrefix: a stock name
/// or a family, then changes to its configuration (`?field=value&…`).
///
/// Nothing is allocated until the program is instantiated. Throws
/// Error(kNotFound) for an unknown name, with the nearest ones, and
/// Error(kInvalidArgument) for an unknown field or a configuration that has no
/// network (a kernel larger than its image).
Program Load(std::string_view name);

/// What Load would build. Same errors.
Description Describe(std::string_view name);

/// One network of a sweep at one batch.
struct SweepPoint {
  std::string family;
  std::string model;  ///< For Load, without kPrefix, in canonical form.
  std::int64_t batch = 1;

  bool operator==(const SweepPoint&) const = default;
};

/// Names of the sweeps that are installed: "dippm", "weather", ….
std::vector<std::string> SweepNames();

/// All points of a sweep, each once, always in the same order. Throws
/// Error(kNotFound) that lists the installed sweeps, and Error(kCorrupt) with
/// file and place for a sweep file with impossible content.
std::vector<SweepPoint> ListSweep(std::string_view name);

}  // namespace foretell::zoo
