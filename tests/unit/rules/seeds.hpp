#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "support/safety.hpp"
#include "unit/rules/outcome.hpp"

namespace simba::rules {

// ---- where all rules hold

// A sanitizer makes them twenty times as slow.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t sound_seeds = 20;
#else
constexpr std::uint64_t sound_seeds = 200;
#endif

/// `play` is called with a seed and gives an Outcome, and must not come to a fault with any.
template <typename Play>
void expect_sound(Play play) {
  std::size_t ownerships = 0;
  for (std::uint64_t seed = 1; seed <= sound_seeds; ++seed) {
    const Outcome outcome = play(seed);
    ASSERT_EQ(outcome.fault, Outcome::Fault::none)
        << support::safety_violation << "seed " << seed << ": " << outcome.what << "\n"
        << outcome.story;
    ownerships += outcome.ownerships;
  }
  EXPECT_GT(ownerships, 20 * sound_seeds) << "it must change hands, or nothing is shown";
}

// ---- where a rule is broken

enum class Harm { safety, liveness };

inline Harm harm_of(Outcome::Fault fault) {
  using Fault = Outcome::Fault;
  const bool unsafe =
      fault == Fault::two_owners || fault == Fault::unfounded || fault == Fault::old_token;
  return unsafe ? Harm::safety : Harm::liveness;
}

/// A rule that is broken, and the harm that this must do.
template <typename Mutation>
struct BrokenRule {
  Mutation mutation;
  Harm harm;
  const char* name;

  std::string test_name() const {
    return std::string{name} + (harm == Harm::safety ? "_harms_safety" : "_harms_liveness");
  }
  friend void PrintTo(const BrokenRule& rule, std::ostream* stream) { *stream << rule.test_name(); }
};

/// `play` is called with a seed and the mutation and gives an Outcome: one seed must do the harm.
template <typename Mutation, typename Play>
void expect_found(const BrokenRule<Mutation>& rule, Play play) {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const Outcome::Fault fault = play(seed, rule.mutation).fault;
    if (fault != Outcome::Fault::none && harm_of(fault) == rule.harm) return;
  }
  FAIL() << "nobody was harmed";
}

}  // namespace simba::rules
