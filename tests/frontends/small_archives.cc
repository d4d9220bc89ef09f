#include "tests/frontends/small_archives.h"

#include <torch/csrc/jit/api/function_impl.h>

#include "tests/frontends/script_file.h"

namespace foretell::torchscript {
namespace {

/// Writes a zip archive of stored records.
class Zip {
 public:
  void Add(const std::string& name, const std::string& content) {
    std::string entry;  // What both headers say.
    Put(entry, 0, 2);   // Flags.
    Put(entry, 0, 2);   // Stored.
    Put(entry, 0, 4);   // Time and date.
    Put(entry, Checksum(content), 4);
    Put(entry, content.size(), 4);
    Put(entry, content.size(), 4);
    Put(entry, name.size(), 2);
    Put(entry, 0, 2);  // No extra field.

    const std::size_t offset = records_.size();
    records_ += "PK\3\4";
    Put(records_, 20, 2);  // Version that is needed.
    records_ += entry + name + content;

    directory_ += "PK\1\2";
    Put(directory_, 20, 2);
    Put(directory_, 20, 2);
    directory_ += entry;
    Put(directory_, 0, 10);  // Comment, disk, attributes.
    Put(directory_, offset, 4);
    directory_ += name;
    ++count_;
  }

  std::string Finish() const {
    std::string bytes = records_ + directory_ + "PK\5\6";
    Put(bytes, 0, 4);  // Disks.
    Put(bytes, count_, 2);
    Put(bytes, count_, 2);
    Put(bytes, directory_.size(), 4);
    Put(bytes, records_.size(), 4);
    Put(bytes, 0, 2);  // No comment.
    return bytes;
  }

 private:
  /// Appends `count` bytes of `value`, the lowest first.
  static void Put(std::string& to, std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) {
      to += static_cast<char>(i < 8 ? value >> (8 * i) & 0xff : 0);
    }
  }

  /// CRC-32.
  static std::uint32_t Checksum(const std::string& content) {
    std::uint32_t checksum = 0xffffffff;
    for (const char c : content) {
      checksum ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit) {
        checksum = checksum >> 1 ^ ((checksum & 1) != 0 ? 0xedb88320 : 0);
      }
    }
    return ~checksum;
  }

  std::string records_;
  std::string directory_;
  std::uint64_t count_ = 0;
};

std::string Packed(const torch::jit::Module& module) {
  const SavedModule saved(module);
  caffe2::serialize::PyTorchStreamReader reader(saved.file().path());
  Zip zip;
  for (const std::string& name : reader.getAllRecords()) {
    if (name.ends_with(".debug_pkl") || name.starts_with(".data/") ||
        name == "byteorder") {
      continue;
    }
    const auto [data, size] = reader.getRecord(name);
    zip.Add("a/" + name,
            std::string(static_cast<const char*>(data.get()), size));
  }
  return zip.Finish();
}

torch::jit::Module Linear() {
  torch::jit::Module net("N");
  net.register_parameter("w", at::ones({2, 2}), false);
  net.register_parameter("b", at::ones({2}), false);
  net.define(R"(
def forward(self, x):
    return torch.linear(x, self.w, self.b)
)");
  return net;
}

/// As a trace spells it.
torch::jit::Module Convolution() {
  torch::jit::Module net("N");
  net.register_parameter("w", at::ones({2, 1, 1, 1}), false);
  net.register_buffer("m", at::ones({2}));
  net.define(R"(
def forward(self, x):
    y = torch._convolution(x, self.w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, True, True)
    return torch.batch_norm(y, self.m, None, self.m, self.m, False, 0.1, 1e-05, True)
)");
  return net;
}

torch::jit::Module Constant() {
  torch::jit::Module net("N");
  net.define("def forward(self, x):\n    return torch.mul(x, x)\n");
  auto graph = net.get_method("forward").graph();
  for (torch::jit::Node* node : graph->nodes()) {
    if (node->kind() != c10::Symbol::fromQualString("aten::mul")) continue;
    const torch::jit::WithInsertPoint before(node);
    node->replaceInput(1, graph->insertConstant(at::arange(2) * 0.5));
  }
  return net;
}

torch::jit::Module Containers() {
  torch::jit::Module net("N");
  net.define(R"(
def forward(self, x):
    l = [x, x]
    l.append(l[0])
    d = {"a": torch.cat(l), "b": x}
    t = (d["a"], len(l))
    return {"c": t[0]}, [torch.relu(x)]
)");
  return net;
}

torch::jit::Module ControlFlow() {
  torch::jit::Module net("N");
  net.define(R"(
def forward(self, x):
    n = 0
    for i in range(3):
        x = torch.relu(x)
    while n < 2:
        n = n + 1
    if x.size(0) > n:
        return x
    return -x
)");
  return net;
}

torch::jit::Module Submodules() {
  torch::jit::Module inner("M");
  inner.register_parameter("w", at::ones({2}), false);
  inner.define("def forward(self, x):\n    return x * self.w\n");
  torch::jit::Module net("N");
  net.register_module("a", inner);
  net.register_module("b", inner);
  net.define(R"(
def forward(self, x):
    return self.b.forward(self.a.forward(x))
)");
  return net;
}

torch::jit::Module Attributes() {
  torch::jit::Module net("N");
  net.register_attribute("i", c10::IntType::get(), 2);
  net.register_attribute("f", c10::FloatType::get(), 0.5);
  net.register_attribute("s", c10::StringType::get(), "ab");
  net.register_attribute("l", c10::ListType::ofInts(),
                         c10::List<std::int64_t>({1, 2}));
  c10::Dict<std::string, at::Tensor> tensors;
  tensors.insert("k", at::ones({2}));
  net.register_attribute(
      "d",
      c10::DictType::create(c10::StringType::get(), c10::TensorType::get()),
      tensors);
  net.define(R"(
def forward(self, x):
    if self.s == "ab":
        x = x * self.f + self.i
    return x + self.d["k"] * self.l[1]
)");
  return net;
}

torch::jit::Module ElementTypes() {
  torch::jit::Module net("N");
  net.register_parameter("h", at::ones({2}, at::kHalf), false);
  net.register_parameter("b", at::ones({2}, at::kBFloat16), false);
  net.register_buffer("i", at::ones({2}, at::kChar));
  net.register_buffer("m", at::ones({2}, at::kBool));
  net.define(R"(
def forward(self, x):
    y = x * self.h + self.b + self.i
    return torch.where(self.m, y, x)
)");
  return net;
}

torch::jit::Module Strings() {
  torch::jit::Module net("N");
  net.define(R"(
def forward(self, x, mode: str = "relu"):
    s = "{}_{}".format(mode, x.dim())
    assert s == "relu_2", "not " + s
    print(s)
    return torch.relu(x)
)");
  return net;
}

torch::jit::Module Defaults() {
  torch::jit::Module net("N");
  net.define(R"(
def g(self, x, p: Tuple[int, float] = (1, 2.5)):
    return torch.to(torch.mul(x, p[1]), torch.device("cpu"))
def forward(self, x, y: Optional[Tensor] = None, k: List[int] = [0, 1]):
    if y is not None:
        return y
    return torch.permute(self.g(x), k)
)");
  return net;
}

}  // namespace

std::vector<SmallArchive> SmallArchives() {
  return {
      {"Linear", Packed(Linear()), {2, 2}},
      {"Convolution", Packed(Convolution()), {1, 1, 2, 2}},
      {"Constant", Packed(Constant()), {2}},
      {"Containers", Packed(Containers()), {2}},
      {"ControlFlow", Packed(ControlFlow()), {2}},
      {"Submodules", Packed(Submodules()), {2}},
      {"Attributes", Packed(Attributes()), {2}},
      {"ElementTypes", Packed(ElementTypes()), {2}},
      {"Strings", Packed(Strings()), {2, 2}},
      {"Defaults", Packed(Defaults()), {2, 2}},
  };
}

}  // namespace foretell::torchscript
