#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace simba {

/// A contender id in an option, made from any text. It contains the text itself and needs no
/// destructor, so an aggregate with such a member is safe in a `co_await` expression of GCC 12,
/// which destroys the temporary members of aggregates there twice.
///
/// Throws InvalidArgumentError if the text is longer than `capacity` bytes, which is more than any
/// store accepts.
class ContenderId {
 public:
  static constexpr std::size_t capacity = 512;  // 128 characters of UTF-8

  constexpr ContenderId() noexcept = default;

  template <std::convertible_to<std::string_view> Text>
  ContenderId(const Text& text) {  // NOLINT(google-explicit-constructor): `.id = "me"`
    assign(text);
  }

  bool empty() const noexcept { return size_ == 0; }
  std::string_view view() const noexcept { return {text_.data(), size_}; }
  std::string str() const { return std::string{view()}; }

  friend bool operator==(const ContenderId& one, const ContenderId& other) noexcept {
    return one.view() == other.view();
  }

 private:
  void assign(std::string_view text);

  std::array<char, capacity> text_{};
  std::size_t size_ = 0;
};

}  // namespace simba
