#pragma once

#include <span>
#include <string>
#include <string_view>

#include "datasets/zoo/hub_values.h"

namespace foretell::zoo {

/// How a key of config.json sets a field of a family.
struct HubKey {
  /// "hidden_size"; alternatives after '|', "a.b" for b in the object a. Empty:
  /// the type always has `absent`.
  std::string_view key;
  std::string_view field;  ///< Empty: no family has one.
  /// Value if the key is missing, as transformers' class has it; "=key" for
  /// that of another key.
  std::string_view absent;
  /// The one value that a family without the field expresses, as `absent`;
  /// empty: any, because it changes no operator.
  std::string_view only = {};
  /// Value if the key is null; empty: as if it were missing.
  std::string_view null = {};
  /// From the key's value to the field's; null: they are the same.
  std::string (*convert)(const std::string& text,
                         const HubValue& other) = nullptr;
  /// A value that is not expressed is a warning, not an error.
  bool is_minor = false;
};

/// How a model_type of transformers becomes a network of the zoo.
struct HubType {
  std::string_view model_type;
  std::string_view family;
  /// Classes of transformers that the network is, the first by default.
  std::span<const std::string_view> classes;
  std::span<const HubKey> own;
  std::span<const HubKey> common;  ///< For keys that are not in `own`.
  /// Other classes have much more than the network: a decoder.
  bool refuses_other_classes = false;
};

/// All types, in the order of documentation. Keys and defaults are those of
/// configuration_*.py in transformers 4.57.6, of types that are newer in 5.17.
std::span<const HubType> HubTypes();

/// Those of them that read texts in vision-language models of Qwen.
std::span<const HubType> VisionDecoderTypes();

/// Those of them that transformers has since 4.50, and others whose blocks
/// differ from LLaMA's in norms, positions or experts.
std::span<const HubType> RecentDecoderTypes();

}  // namespace foretell::zoo
