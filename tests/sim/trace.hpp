#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "simba/core/time.hpp"

namespace simba::sim {

/// The timeline of one run in aligned columns: virtual time, who, what. Builds no text unless it is
/// switched on.
class Trace {
 public:
  explicit Trace(bool on) : on_{on} {}

  bool on() const noexcept { return on_; }

  template <class... Args>
  void event(LocalTime at, std::string_view who, fmt::format_string<Args...> what, Args&&... args) {
    if (on_) add(at, ' ', who, fmt::format(what, std::forward<Args>(args)...));
  }

  /// Something that goes wrong on purpose.
  template <class... Args>
  void fault(LocalTime at, std::string_view who, fmt::format_string<Args...> what, Args&&... args) {
    if (on_) add(at, '!', who, fmt::format(what, std::forward<Args>(args)...));
  }

  /// Nothing more is told.
  void close() noexcept { on_ = false; }

  const std::string& text() const noexcept { return text_; }

 private:
  void add(LocalTime at, char mark, std::string_view who, std::string_view what);

  bool on_;
  std::string text_;
};

/// Seconds since the beginning of the run.
std::string show(LocalTime at);

/// FNV-1a.
std::uint64_t digest(std::string_view text) noexcept;

}  // namespace simba::sim
