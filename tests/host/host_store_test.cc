#include "src/host/host_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "src/core/output_file.h"
#include "tests/datasets/scratch.h"
#include "tests/graph/expect_error.h"

namespace foretell::host {
namespace {

using dataset_test::Scratch;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;

MeasuredHost Named(const std::string& name, double factor) {
  return {.spec = {.name = name, .factor = factor, .spread = 1.1}};
}

TEST(HostStore, GivesBackWhatWasPut) {
  const Scratch scratch;
  const HostStore store(scratch / "deep/hosts");
  EXPECT_THAT(store.Names(), IsEmpty());
  EXPECT_THAT(store.Put(Named("mine", 1.5)), EndsWith("deep/hosts/mine.json"));
  store.Put(Named("his", 3));
  EXPECT_EQ(store.Find("mine"), Named("mine", 1.5));
  EXPECT_THAT(store.Names(), ElementsAre("his", "mine"));
  store.Put(Named("mine", 2));
  EXPECT_EQ(store.Find("mine").spec.factor, 2);
}

TEST(HostStore, ReadsAPath) {
  const Scratch scratch;
  WriteWhole(scratch / "elsewhere.json", HostToJson(Named("other", 4)));
  EXPECT_EQ(HostStore("").Find(scratch / "elsewhere.json"), Named("other", 4));
  ExpectError([&] { HostStore("").Find(scratch / "none.json"); },
              ErrorCode::kNotFound, "none.json");
}

TEST(HostStore, ListsTheNamesWhereOneIsUnknown) {
  const Scratch scratch;
  const HostStore store(scratch / "hosts");
  ExpectError(
      [&] { store.Find("mine"); }, ErrorCode::kNotFound,
      "host 'mine' is unknown; known are: python, cpp, fast, typical, slow; ");
  store.Put(Named("his", 3));
  ExpectError([&] { store.Find("mine"); }, ErrorCode::kNotFound,
              "known are: python, cpp, fast, typical, slow, his; ");
}

TEST(HostStore, FallsBackToPublishedHosts) {
  const Scratch scratch;
  const HostStore store(scratch / "hosts");
  EXPECT_EQ(store.Find("typical").spec.factor, 1);
  EXPECT_EQ(store.Find("slow").spec.name, "slow");
  store.Put(Named("slow", 3));
  EXPECT_EQ(store.Find("slow"), Named("slow", 3));
}

TEST(HostStore, RefusesNamesThatLeaveItsFolder) {
  const Scratch scratch;
  for (const char* name : {"../out", "a/b", "", "cpp"}) {
    ExpectError([&] { HostStore(scratch / "hosts").Put(Named(name, 1)); },
                ErrorCode::kInvalidArgument, "host '");
  }
  EXPECT_FALSE(std::filesystem::exists(scratch / "hosts"));
}

TEST(HostStore, NamesADamagedFile) {
  const Scratch scratch;
  const HostStore store(scratch / "");
  WriteWhole(scratch / "bad.json", "{\"name\": \"bad\"}");
  ExpectError([&] { store.Find("bad"); }, ErrorCode::kCorrupt, "bad.json");
}

TEST(HostStore, TakesNothingWithoutAFolder) {
  EXPECT_THAT(HostStore("").Names(), IsEmpty());
  ExpectError([] { HostStore("").Put(Named("mine", 1)); }, ErrorCode::kNotFound,
              "neither XDG_CONFIG_HOME nor HOME is set");
}

TEST(HostStore, OfTheUserLiesInTheConfiguration) {
  const Scratch scratch;
  setenv("XDG_CONFIG_HOME", (scratch / "config").c_str(), 1);
  EXPECT_THAT(HostStore::OfUser().Put(Named("mine", 1)),
              EndsWith("/config/foretell/hosts/mine.json"));
  unsetenv("XDG_CONFIG_HOME");
  setenv("HOME", (scratch / "home").c_str(), 1);
  EXPECT_THAT(HostStore::OfUser().Put(Named("mine", 1)),
              EndsWith("/home/.config/foretell/hosts/mine.json"));
}

}  // namespace
}  // namespace foretell::host
