#pragma once

#include <CLI/CLI.hpp>

namespace foretell::cli {

/// Numbers above 0. CLI11's own check names the largest double there is, with
/// all of its 309 digits.
const CLI::Validator& AboveZero();
/// Sizes of a list, above 0. For anything else, such as "400x400", the message
/// shows how a list is written.
const CLI::Validator& SizeInList();
/// Refuses a size, which belongs to a list whose commas are missing: the second
/// of "--shape 400 400".
const CLI::Validator& NoSize();
/// Numbers >= 0.
const CLI::Validator& FromZero();

/// Memory above 0; converts a number with a unit ("10GB", "16GiB") to MiB.
const CLI::Validator& SizeInMib();
/// Times above 0; converts a number with a unit ("20ms", "1.5s") to ms.
const CLI::Validator& TimeInMs();
/// Energies above 0; converts a number with a unit ("5J", "2Wh") to J.
const CLI::Validator& EnergyInJ();
/// Whether the value of `option` may have a unit: one of the three checks it.
bool TakesUnit(const CLI::Option& option);

}  // namespace foretell::cli
