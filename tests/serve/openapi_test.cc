#include "serve/openapi.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace foretell::serve {
namespace {

using nlohmann::json;

TEST(OpenApi, DescribesFlagsByTheirKinds) {
  const ServedCommand command{
      .route = "/v1/fits",
      .summary = "Says whether models fit",
      .flags = {{.name = "batch", .kind = ValueKind::kWhole, .is_list = true},
                {.name = "mode",
                 .choices = {"inference", "training"},
                 .default_text = "inference",
                 .description = "Step"},
                {.name = "strict", .kind = ValueKind::kFlag}}};
  const json document = json::parse(OpenApi({command}));
  EXPECT_EQ(document["openapi"], "3.1.0");
  const json& post = document["paths"]["/v1/fits"]["post"];
  EXPECT_EQ(post["summary"], "Says whether models fit");
  const json& options = post["requestBody"]["content"]["application/json"]
                            ["schema"]["properties"]["options"]["properties"];
  EXPECT_EQ(options["batch"]["oneOf"][0], json({{"type", "integer"}}));
  EXPECT_EQ(options["batch"]["oneOf"][1]["items"]["type"], "integer");
  EXPECT_EQ(options["mode"], json({{"type", "string"},
                                   {"enum", {"inference", "training"}},
                                   {"description", "Step"},
                                   {"default", "inference"}}));
  EXPECT_EQ(options["strict"]["type"], "boolean");
  EXPECT_EQ(post["parameters"].size(), 3);
  EXPECT_TRUE(document["paths"].contains("/healthz"));
}

}  // namespace
}  // namespace foretell::serve
