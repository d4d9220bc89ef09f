#include "src/program/torch_state.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/DefaultDtype.h>

#include <mutex>

namespace foretell {

TorchStateScope::TorchStateScope()
    : autograd_(c10::AutogradState::get_tls_state()),
      generator_(at::detail::getDefaultCPUGenerator()),
      dtype_(c10::get_default_dtype()) {
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  random_ = generator_.get_state();
}

TorchStateScope::~TorchStateScope() {
  c10::AutogradState::set_tls_state(autograd_);
  c10::set_default_dtype(dtype_);
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  generator_.set_state(random_);
}

}  // namespace foretell
