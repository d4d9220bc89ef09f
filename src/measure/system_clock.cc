#include <chrono>
#include <thread>

#include "src/measure/energy_counter.h"

namespace foretell::measure {

double SystemClock::NowS() {
  const std::chrono::duration<double> now =
      std::chrono::steady_clock::now().time_since_epoch();
  return now.count();
}

void SystemClock::SleepS(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace foretell::measure
