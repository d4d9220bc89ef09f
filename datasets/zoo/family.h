#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "datasets/zoo/fields.h"
#include "datasets/zoo/network.h"
#include "foretell/program.h"

namespace foretell::zoo {

/// The configuration of a network of any family.
class Configuration {
 public:
  virtual ~Configuration() = default;
  /// Sets one field from its text ("3,4,6,3"); throws Error(kInvalidArgument)
  /// that names the field and the text, or lists the known fields.
  virtual void Set(std::string_view field, std::string_view text) = 0;
  /// All fields in declared order.
  virtual std::vector<Field> Fields() const = 0;
  virtual std::vector<InputSpec> Inputs() const = 0;
  /// Builds the network with the thread's defaults for device and element
  /// type. Throws Error(kInvalidArgument) for an impossible configuration.
  virtual std::shared_ptr<Network> Make() const = 0;
};

/// `Config` is a struct of fields with defaults and
///
///     FORETELL_FIELDS(field, …)  // All, in the order in which to list them.
///     std::vector<InputSpec> Inputs() const;
///     std::shared_ptr<Network> Make() const;
template <typename Config>
class ConfigurationOf final : public Configuration {
 public:
  void Set(std::string_view field, std::string_view text) override {
    SetField(config_, field, text);
  }
  std::vector<Field> Fields() const override { return FieldsOf(config_); }
  std::vector<InputSpec> Inputs() const override { return config_.Inputs(); }
  std::shared_ptr<Network> Make() const override { return config_.Make(); }

 private:
  Config config_;
};

/// A stock network: a name and its changes to the family's defaults.
struct Variant {
  std::string_view name;
  std::string_view changes;  ///< "block=bottleneck&layers=3,4,6,3".
};

/// One family of networks. Its name is also that of its default configuration.
struct Family {
  std::string_view name;
  std::span<const Variant> variants;
  std::unique_ptr<Configuration> (*configure)();
};

template <typename Config>
std::unique_ptr<Configuration> Configure() {
  return std::make_unique<ConfigurationOf<Config>>();
}

/// An input `image` f32[batch, channels, size, size].
InputSpec ImageInput(std::int64_t channels, std::int64_t size);

/// Base of configurations of image classifiers: fields that all have, and their
/// input.
struct ImageClassifier {
  std::int64_t image_size = 224;
  std::int64_t channels = 3;
  std::int64_t classes = 1000;

  std::vector<InputSpec> Inputs() const {
    return {ImageInput(channels, image_size)};
  }
};

/// An input f32 or i64 [batch, dims…].
InputSpec BatchedInput(std::string name, DType dtype,
                       const std::vector<std::int64_t>& dims);

/// Base of configurations of transformers that read text: fields that all have,
/// with the values of base models, and their input.
struct TextTransformer {
  std::int64_t width = 768;
  std::int64_t depth = 12;
  std::int64_t heads = 12;
  double dropout = 0.1;
  std::int64_t seq = 128;  ///< Tokens.

  std::vector<InputSpec> Inputs() const {
    return {BatchedInput("tokens", DType::kI64, {seq})};
  }
};

/// Throws Error(kInvalidArgument) with `message` unless `condition` holds.
void Require(bool condition, const std::string& message);

}  // namespace foretell::zoo
