#include "simba/client/owner.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "simba/core/contender_id_generator.hpp"
#include "simba/core/error.hpp"
#include "simba/core/names.hpp"

namespace simba {

namespace {

constexpr std::string_view endpoint_tag = "#simba-";
constexpr std::size_t random_digits = 32;

bool is_digit(char c) noexcept { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::string id_with_endpoint(std::string_view endpoint) {
  check_not_blank("endpoint", endpoint);
  if (endpoint.find('#') != std::string_view::npos) {
    throw InvalidArgumentError{fmt::format("endpoint must not contain '#' (got \"{}\")", endpoint)};
  }
  return std::string{endpoint} + std::string{endpoint_tag} +
         ContenderIdGenerator::uuid().generate();
}

std::optional<std::string> endpoint_of(std::string_view contender_id) {
  const std::size_t at = contender_id.find('#');
  if (at == 0 || at == std::string_view::npos) return std::nullopt;
  std::string_view rest = contender_id.substr(at);
  if (!rest.starts_with(endpoint_tag)) return std::nullopt;
  rest.remove_prefix(endpoint_tag.size());
  if (rest.size() != random_digits || !std::all_of(rest.begin(), rest.end(), is_digit)) {
    return std::nullopt;
  }
  return std::string{contender_id.substr(0, at)};
}

std::optional<std::string> endpoint(const MutexOwner& owner) {
  return endpoint_of(owner.owner_id());
}

}  // namespace simba
