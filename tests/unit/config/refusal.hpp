#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "simba/config/configuration.hpp"
#include "simba/core/error.hpp"

namespace simba::config {

/// What the error says that `action` ends with; empty where it ends without.
template <class Action>
std::string refusal_of(const Action& action, ErrorKind kind = ErrorKind::configuration) {
  try {
    action();
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
}

inline std::string refusal_of_url(std::string_view url, const Environment& environment = {}) {
  return refusal_of([&] { Configuration::from_url(url, environment); });
}

inline std::string refusal_of_yaml(std::string_view text, const Environment& environment = {},
                                   std::string_view store = {}) {
  return refusal_of([&] { Configuration::from_yaml(text, "simba.yaml", environment, store); });
}

inline std::string description_of(std::string_view url) {
  return Configuration::from_url(url).description();
}

inline Configuration from_yaml(std::string_view text, const Environment& environment = {},
                               std::string_view store = {}) {
  return Configuration::from_yaml(text, "simba.yaml", environment, store);
}

}  // namespace simba::config
