// Where CUDA is started. A driver does not survive a fork, so the process that
// forks must leave it alone; and LibTorch remembers its first look for CUDA, so
// its CUDA half must be there before. fake_cuda_libtorch.cc stands in for that.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "foretell/measure.h"
#include "foretell/program.h"

namespace foretell {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Events = std::vector<std::string>;

/// What became of the fake library, by process.
class CudaOrder : public testing::Test {
 protected:
  CudaOrder() { setenv("FORETELL_FAKE_CUDA_LOG", log_.c_str(), 1); }
  ~CudaOrder() override { unlink(log_.c_str()); }

  std::map<pid_t, Events> EventsByProcess() const {
    std::ifstream log(log_);
    std::map<pid_t, Events> events;
    pid_t process = 0;
    for (std::string event; log >> process >> event;) {
      events[process].push_back(event);
    }
    return events;
  }

 private:
  std::string log_ =
      testing::TempDir() + "cuda_order_" + std::to_string(getpid());
};

Measurement MeasureOnGpu(const std::string& model) {
  return MeasureIsolated(
      {.model = model,
       .inputs = {.inputs = {ParseInput("f32[1,3,224,224]")}},
       .device = "cuda:0",
       .options = {.trusts_code = true}});
}

TEST_F(CudaOrder, StartsItInEachChildOnce) {
  const std::string examples = FORETELL_SOURCE_DIR "/examples/";
  const std::vector<std::string> models = {
      examples + "resnet18.onnx", examples + "resnet18.pt", "zoo:resnet18"};
  for (const std::string& model : models) {
    // Not for want of the library: it was found, and knows no GPU.
    EXPECT_THAT(MeasureOnGpu(model).message,
                AllOf(HasSubstr("this LibTorch finds 0 CUDA devices"),
                      Not(HasSubstr("("))))
        << model;
  }
  const std::map<pid_t, Events> events = EventsByProcess();
  EXPECT_EQ(events.size(), models.size());
  for (const auto& [process, its] : events) {
    EXPECT_NE(process, getpid());
    EXPECT_THAT(its, ElementsAre("loaded", "asked"));
  }
}

TEST_F(CudaOrder, LeavesItAloneInTheProcessThatForks) {
  MeasureOnGpu("zoo:resnet18");
  EXPECT_EQ(EventsByProcess().count(getpid()), 0u);
  EXPECT_EQ(dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD), nullptr);
}

}  // namespace
}  // namespace foretell
