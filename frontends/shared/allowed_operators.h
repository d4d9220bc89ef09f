#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace foretell {

/// Whether an untrusted graph may call an operator, and if not, why.
enum class OperatorVerdict : std::uint8_t {
  kAllowed,
  kUnknown,  ///< LibTorch alone does not have it.
  kUnsafe,   ///< It touches files, standard streams, Python or other processes,
             ///< does not check its arguments, or may not terminate.
  kPrivate,  ///< One of ATen's own that is not among those that files name.
};

/// The verdict on the operator `name` ("aten::conv2d"). Namespaces are an
/// allow-list: aten, prim, torchvision; so are aten's private operators.
OperatorVerdict JudgeOperator(std::string_view name);

/// Refused operators of a file, by verdict.
class RefusedOperators {
 public:
  /// Records `shown`, the file's name of an operator; ignores kAllowed.
  void Add(OperatorVerdict verdict, const std::string& shown);

  /// Throws one Error(kUnsupported) that begins with `path` and lists all
  /// recorded operators by reason.
  void ThrowIfAny(const std::string& path) const;

 private:
  std::map<OperatorVerdict, std::set<std::string>> names_;
};

}  // namespace foretell
