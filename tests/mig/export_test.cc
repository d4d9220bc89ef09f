#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/mig.h"
#include "tests/mig/toy_device.h"

namespace foretell::mig {
namespace {

TEST(MigPartedConfig, CountsTheInstancesOfEachDevice) {
  const std::vector<Job> jobs = {{"bert", 20000, {}},
                                 {"resnet", 4000, {}},
                                 {"vit", 4000, {}},
                                 {"unet", 40000, {}}};
  const Packing packing = Pack(jobs, A100(), {.max_devices = 2});
  EXPECT_EQ(MigPartedConfig(packing, "night"),
            "version: v1\n"
            "mig-configs:\n"
            "  night:\n"
            "    # 0:8 7g.40gb for unet\n"
            "    - devices: [0]\n"
            "      mig-enabled: true\n"
            "      mig-devices:\n"
            "        \"7g.40gb\": 1\n"
            "    # 0:4 3g.20gb for bert\n"
            "    # 4:1 1g.5gb for resnet\n"
            "    # 5:1 1g.5gb for vit\n"
            "    - devices: [1]\n"
            "      mig-enabled: true\n"
            "      mig-devices:\n"
            "        \"1g.5gb\": 2\n"
            "        \"3g.20gb\": 1\n");
}

TEST(MigPartedConfig, KeepsTheNameOfAMediaProfile) {
  const std::vector<Job> jobs = {{"a", 1, {"1g.5gb+me"}}};
  const Packing packing = Pack(jobs, A100(), {.media_extensions = true});
  EXPECT_NE(MigPartedConfig(packing).find("        \"1g.5gb+me\": 1\n"),
            std::string::npos);
}

TEST(MigPartedConfig, TurnsMigOffForAnEmptyPacking) {
  EXPECT_EQ(MigPartedConfig(Pack({}, A100())),
            "version: v1\nmig-configs:\n  foretell:\n    - devices: all\n"
            "      mig-enabled: false\n");
}

TEST(MigPartedConfig, RefusesANameThatYamlWouldMisread) {
  for (const char* name : {"", "a b", "a:", "a\nb", "\"", "#"}) {
    try {
      MigPartedConfig({}, name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    }
  }
  EXPECT_NO_THROW(MigPartedConfig({}, "All-1g.5gb_2"));
}

TEST(MigPartedConfig, KeepsAModelsNameOnItsCommentLine) {
  const std::vector<Job> jobs = {{"x\n    - devices: all", 1, {}}};
  const std::string config = MigPartedConfig(Pack(jobs, A100()));
  EXPECT_NE(config.find("for x\\x0a    - devices: all\n"), std::string::npos);
  EXPECT_EQ(config.find("\n    - devices: all"), std::string::npos);
}

TEST(KubernetesResourceName, WritesAPlusAsADot) {
  EXPECT_EQ(KubernetesResourceName("1g.5gb"), "nvidia.com/mig-1g.5gb");
  EXPECT_EQ(KubernetesResourceName("1g.10gb+me"), "nvidia.com/mig-1g.10gb.me");
  EXPECT_EQ(KubernetesResourceName("1g.24gb+me.all"),
            "nvidia.com/mig-1g.24gb.me.all");
}

TEST(KubernetesResources, LimitsEachModelToItsInstance) {
  const std::vector<Job> jobs = {{"a \"b\" \\", 1, {}},
                                 {"c", 9000, {"2g.10gb"}}};
  EXPECT_EQ(KubernetesResources(Pack(jobs, A100())),
            "# c\n"
            "- name: c\n"
            "  resources:\n"
            "    limits:\n"
            "      nvidia.com/mig-2g.10gb: 1\n"
            "# a \"b\" \\\n"
            "- name: a-b\n"
            "  resources:\n"
            "    limits:\n"
            "      nvidia.com/mig-1g.5gb: 1\n");
  EXPECT_EQ(KubernetesResources({}), "[]\n");
}

TEST(KubernetesResources, NamesEachContainerOnce) {
  const std::vector<Job> jobs = {
      {"zoo:net", 1, {}}, {"zoo net", 1, {}}, {"ZOO:NET", 1, {}}};
  const std::string text = KubernetesResources(Pack(jobs, A100()));
  for (const char* line :
       {"- name: zoo-net\n", "- name: zoo-net-2\n", "- name: zoo-net-3\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
}

TEST(DnsLabel, TakesTheFileAndWhatKubernetesAllows) {
  EXPECT_EQ(DnsLabel("zoo:resnet50"), "zoo-resnet50");
  EXPECT_EQ(DnsLabel("examples/resnet18.onnx"), "resnet18-onnx");
  EXPECT_EQ(DnsLabel("zoo:bert_base?seq=512"), "zoo-bert-base-seq-512");
  EXPECT_EQ(DnsLabel("--A__b--"), "a-b");
  EXPECT_EQ(DnsLabel("\xe6\x97\xa5"), "model");
  EXPECT_EQ(DnsLabel(std::string(62, 'a') + ".onnx"), std::string(62, 'a'));
  EXPECT_EQ(DnsLabel(std::string(100, 'a')).size(), 63);
}

}  // namespace
}  // namespace foretell::mig
