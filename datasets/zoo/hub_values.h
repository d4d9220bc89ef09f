#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace foretell::zoo {

/// The value of another key of the same config.json, as text; empty if its
/// model_type has no such key.
using HubValue = std::function<std::string(std::string_view key)>;

// Conversions of a key's value, given as text, to a field's.

/// 0 for the width of heads that follows from the other sizes.
std::string HeadWidth(const std::string& text, const HubValue& other);
/// 0 for four times the width of GPT-2.
std::string Gpt2Inner(const std::string& text, const HubValue& other);
/// Four times the width for 0.
std::string InnerOrFourWidths(const std::string& text, const HubValue& other);
/// Whether the class of a GPT-2 has a head.
std::string Gpt2Head(const std::string& text, const HubValue& other);
/// The quotient by the width; a fraction, which no field accepts, if there is a
/// remainder.
std::string WidthRatio(const std::string& text, const HubValue& other);
std::string SquareRoot(const std::string& text, const HubValue& other);
/// At most a million, since larger numbers are refused by fields and a rotary
/// base changes no operator.
std::string RotaryBase(const std::string& text, const HubValue& other);
/// 1 divided by it.
std::string Reciprocal(const std::string& text, const HubValue& other);
/// Width of all shared experts, from their number.
std::string SharedInner(const std::string& text, const HubValue& other);
/// The n of "every n-th layer sees all tokens", from that number or from the
/// kinds of all layers, "sliding_attention|…"; 0: none does. Layers in another
/// order stay a text, which no field accepts.
std::string WindowPattern(const std::string& text, const HubValue& other);
/// The same, and 0 without a sliding_window.
std::string PatternIfWindow(const std::string& text, const HubValue& other);
/// The n of "every n-th layer has no positions", from that number or from "1"
/// for each layer that has them and "0" for others.
std::string PositionPattern(const std::string& text, const HubValue& other);
/// The zoo's name of an activation.
std::string Activation(const std::string& text, const HubValue& other);

}  // namespace foretell::zoo
