#include "cli/terminal/bound.hpp"

#include <cstdint>
#include <ratio>

#include "cli/terminal/duration.hpp"

namespace simba::cli {

std::string at_most(std::chrono::nanoseconds span) {
  // In the steps in which a time is shown, see to_text.
  using Tenths = std::chrono::duration<std::int64_t, std::deci>;
  using namespace std::chrono_literals;
  if (span < 1s) return "at most " + to_text(std::chrono::ceil<std::chrono::milliseconds>(span));
  if (span < 119s) return "at most " + to_text(std::chrono::ceil<Tenths>(span));
  return "at most " + to_text(std::chrono::ceil<std::chrono::minutes>(span));
}

}  // namespace simba::cli
