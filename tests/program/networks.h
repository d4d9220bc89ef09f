#pragma once

#include <span>
#include <string>
#include <vector>

#include "foretell/program.h"
#include "tests/program/fake_program.h"

namespace foretell::program_test {

/// A small network of a known family, with inputs for a batch of two.
struct NamedNetwork {
  std::string name;
  std::vector<BoundInput> inputs;
  Network network;

  Program ToProgram() const { return FakeProgram(name, inputs, network); }
};

/// One network of every family that the tests know.
std::vector<NamedNetwork> AllNetworks();

// Parts of the list, one file each.
std::vector<NamedNetwork> ConvolutionalNetworks();
std::vector<NamedNetwork> MobileNetworks();
std::vector<NamedNetwork> AttentionNetworks();
std::vector<NamedNetwork> SequenceNetworks();

BoundInput Image(std::int64_t batch, std::int64_t channels, std::int64_t size);
BoundInput Tokens(std::int64_t batch, std::int64_t length);

}  // namespace foretell::program_test
