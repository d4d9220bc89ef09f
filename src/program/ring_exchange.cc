#include "src/program/ring_exchange.h"

#include "src/program/exchanges.h"

namespace foretell {

RingExchange::RingExchange(const ParallelSpec& spec, bool rotates)
    : spec_(spec), rotates_(rotates) {}

void RingExchange::Send(const at::Tensor& buffer) {
  if (rotates_) {
    received_ = exchanges::Rotate(buffer, spec_);
  } else if (!received_.defined()) {
    received_ = exchanges::Gather(buffer, spec_);
  } else {
    return;
  }
  sent_ = buffer;
}

at::Tensor RingExchange::Next() {
  sent_.reset();
  return rotates_ ? received_
                  : received_.narrow(0, 0, received_.numel() / spec_.gpus);
}

}  // namespace foretell
