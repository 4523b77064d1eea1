#include "simba/core/tracer.hpp"

namespace simba {

std::string_view to_string(TraceStage stage) noexcept {
  switch (stage) {
    case TraceStage::acquire:
      return "acquire";
    case TraceStage::hold:
      return "hold";
    case TraceStage::release:
      return "release";
  }
  return "unknown";
}

std::string_view to_string(TraceResult result) noexcept {
  switch (result) {
    case TraceResult::done:
      return "done";
    case TraceResult::given_up:
      return "given up";
    case TraceResult::lost:
      return "lost";
  }
  return "unknown";
}

}  // namespace simba
