// Registers the tables of meta kernels with the dispatcher.
//
// Every kernel is boxed: it reads its arguments by name from the operator's
// schema (Call). One kernel therefore serves many operators, overloads and
// LibTorch versions, and no operator's C++ signature is compiled in. A boxed
// call costs about a microsecond more than an unboxed one, which a trace of
// a thousand operators does not notice.

#include "src/program/meta/meta_kernels.h"

#include <fmt/core.h>
#include <torch/library.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/program/meta/families.h"

namespace foretell {
namespace {

using meta::KernelRow;
using meta::Policy;

// Adapts a Kernel to the dispatcher's boxed calling convention.
class TableKernel : public c10::OperatorKernel {
 public:
  explicit TableKernel(meta::Kernel kernel) : kernel_(kernel) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet,
                  torch::jit::Stack* stack) {
    meta::Call call(op, *stack);
    kernel_(call);
    call.Finish();
  }

 private:
  meta::Kernel kernel_;
};

bool HasKernel(const c10::OperatorHandle& op) {
  constexpr c10::DispatchKey kKeys[] = {
      c10::DispatchKey::Meta, c10::DispatchKey::CompositeExplicitAutograd,
      c10::DispatchKey::CompositeImplicitAutograd,
      c10::DispatchKey::CompositeExplicitAutogradNonFunctional};
  for (const c10::DispatchKey key : kKeys) {
    if (op.hasKernelForDispatchKey(key)) return true;
  }
  return false;
}

// All operators with a schema, by qualified name without overload.
class Schemas {
 public:
  Schemas() {
    c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
    for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
      by_name_[name.name].push_back(name.overload_name);
    }
  }

  // The operators that `row` means (see KernelRow).
  std::vector<c10::OperatorHandle> Match(std::string_view row) const {
    const std::size_t dot = row.find('.');
    const std::string base = QualifiedName(std::string(row.substr(0, dot)));
    std::vector<c10::OperatorHandle> found;
    if (dot != std::string_view::npos) {
      Append(base, std::string(row.substr(dot + 1)), found);
      return found;
    }
    for (const std::string& name : {base, base + "_"}) {
      const auto it = by_name_.find(name);
      if (it == by_name_.end()) continue;
      for (const std::string& overload : it->second) {
        Append(name, overload, found);
      }
    }
    return found;
  }

 private:
  static std::string QualifiedName(std::string name) {
    return name.find("::") == std::string::npos ? "aten::" + name : name;
  }

  static void Append(const std::string& name, const std::string& overload,
                     std::vector<c10::OperatorHandle>& found) {
    const std::optional<c10::OperatorHandle> op =
        c10::Dispatcher::singleton().findSchema({name, overload});
    if (op.has_value()) found.push_back(*op);
  }

  std::unordered_map<std::string, std::vector<std::string>> by_name_;
};

// Owns the registrations; lives as long as the process.
class Registry {
 public:
  Registry() {
    for (const meta::LibrarySchemas& row : meta::AllLibrarySchemas()) {
      Define(row);
    }
    const Schemas schemas;
    for (const meta::Family& family : meta::AllFamilies()) {
      for (const KernelRow& row : family.rows) {
        for (const c10::OperatorHandle& op : schemas.Match(row.name)) {
          Add(op, row);
        }
      }
    }
  }

  bool IsDataDependent(const c10::OperatorHandle& op) const {
    return data_dependent_.contains(c10::toString(op.operator_name()));
  }

 private:
  // Defines what is missing: the library may be loaded, and has its own then.
  void Define(const meta::LibrarySchemas& row) {
    c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
    // A fragment, because the namespace belongs to the library.
    libraries_.push_back(
        std::make_unique<torch::Library>(torch::Library::FRAGMENT, row.library,
                                         std::nullopt, __FILE__, __LINE__));
    for (const std::string_view schema : row.schemas) {
      const std::string name = fmt::format("{}::{}", row.library,
                                           schema.substr(0, schema.find('(')));
      if (dispatcher.findSchema({name, ""}).has_value()) continue;
      libraries_.back()->def(schema.data());
    }
  }

  void Add(const c10::OperatorHandle& op, const KernelRow& row) {
    const std::string name = c10::toString(op.operator_name());
    if (row.policy == Policy::kDataDependent) data_dependent_.insert(name);
    const bool override =
        row.policy == Policy::kOverride || row.policy == Policy::kOverrideWhole;
    if (!override && HasKernel(op)) return;
    // LibTorch's own kernel for meta stays, and the first row wins: another
    // one for the same key would make the dispatcher print a warning.
    if (op.hasKernelForDispatchKey(c10::DispatchKey::Meta)) return;
    Implement(op, row.kernel, c10::DispatchKey::Meta);
    if (row.policy == Policy::kOverrideWhole) {
      Implement(op, row.kernel, c10::DispatchKey::AutogradMeta);
    }
  }

  void Implement(const c10::OperatorHandle& op, meta::Kernel kernel,
                 c10::DispatchKey key) {
    const std::string& name = op.operator_name().name;
    torch::Library& library = LibraryFor(name.substr(0, name.find("::")), key);
    library.impl(c10::toString(op.operator_name()).c_str(),
                 torch::CppFunction::makeFromBoxedFunctor(
                     std::make_unique<TableKernel>(kernel)));
  }

  torch::Library& LibraryFor(const std::string& ns, c10::DispatchKey key) {
    const std::string id = ns + "/" + c10::toString(key);
    const auto it = by_key_.find(id);
    if (it != by_key_.end()) return *it->second;
    libraries_.push_back(std::make_unique<torch::Library>(
        torch::Library::IMPL, ns, key, __FILE__, __LINE__));
    return *(by_key_[id] = libraries_.back().get());
  }

  std::vector<std::unique_ptr<torch::Library>> libraries_;
  std::unordered_map<std::string, torch::Library*> by_key_;
  std::unordered_set<std::string> data_dependent_;
};

// Never destroyed: a kernel may run in the destructor of another static.
const Registry& TheRegistry() {
  static const Registry* const kRegistry = new Registry();
  return *kRegistry;
}

}  // namespace

void RegisterMetaKernels() { TheRegistry(); }

bool HasMetaKernel(const c10::OperatorHandle& op) {
  return HasKernel(op) && !IsDataDependent(op);
}

bool IsDataDependent(const c10::OperatorHandle& op) {
  return TheRegistry().IsDataDependent(op);
}

}  // namespace foretell
