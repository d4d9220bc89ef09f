#include "tests/fuzz/fuzz_targets.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "frontends/onnx/reader/model.h"

namespace foretell::fuzz {
namespace {

void Require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", what.c_str());
  std::abort();
}

// Rules that every message keeps.
void RequireGoodMessage(const Error& error) {
  const std::string what = error.what();
  Require(what.starts_with("input:"), "no origin in: " + what);
  Require(what.find('\n') == std::string::npos, "two lines: " + what);
  Require(error.code() != ErrorCode::kInternal, "internal error: " + what);
}

// Whether `bytes` are a model, and then the number of its weights.
std::int64_t WeightsOf(std::string_view bytes, std::int64_t limit) {
  try {
    const onnx::Model model =
        onnx::ReadModelFromBytes(bytes, "input", {.max_payload_bytes = limit});
    return model.FloatInitializerElements();
  } catch (const Error& error) {
    RequireGoodMessage(error);
    return -1;
  }
}

}  // namespace

void ReadOnnx(std::string_view bytes) {
  const std::int64_t with_payloads = WeightsOf(bytes, 1 << 20);
  const std::int64_t without = WeightsOf(bytes, 0);
  // A payload that is skipped is checked less closely, not differently.
  Require(with_payloads == -1 || with_payloads == without,
          "skipping payloads changes the weights");
}

void ParseGraphText(std::string_view text) {
  try {
    const GraphTextOptions options = {.with_timeline = true};
    const std::string once = PrintGraph(ParseGraph(text, "input"), options);
    std::string twice;
    try {
      twice = PrintGraph(ParseGraph(once, "input"), options);
    } catch (const Error& error) {
      Require(false, "own text refused: " + std::string(error.what()));
    }
    Require(once == twice, "printing is not stable");
  } catch (const Error& error) {
    RequireGoodMessage(error);
  }
}

}  // namespace foretell::fuzz
