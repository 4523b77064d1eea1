#pragma once

#include <optional>
#include <string_view>

#include "simba/testkit/store_contract.hpp"

namespace simba::testkit::detail {

/// The first argument of a program that is started as a child.
inline constexpr std::string_view child_option = "--simba-contract-child";

/// What a child says when it has acquired; a space and the token follow.
inline constexpr std::string_view acquired_word = "acquired ";

// What a holder is asked, and what it answers.
inline constexpr std::string_view is_held_question = "held?";
inline constexpr std::string_view close_request = "close";
inline constexpr std::string_view yes_word = "yes";
inline constexpr std::string_view no_word = "no";
inline constexpr std::string_view closed_word = "closed";

/// Runs the part of a child if the arguments ask for that.
std::optional<int> run_as_child(int argc, char** argv, const StoreUnderTest& store);

}  // namespace simba::testkit::detail
