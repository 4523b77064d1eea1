#include "redis/protocol/message.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "redis/protocol/script.hpp"
#include "simba/core/error.hpp"
#include "simba/core/names.hpp"

namespace simba::redis {
namespace {

constexpr std::chrono::milliseconds longest_time = std::chrono::days{365};
constexpr std::uint64_t end_of_time = 253'402'300'800'000;  // the year 10000, in milliseconds
constexpr std::size_t longest_id = 1'024;                   // of anyone's contenders

bool is_text(const Reply& reply) noexcept { return reply.is(Reply::Type::string); }

std::string_view name_of(Reply::Type type) noexcept {
  switch (type) {
    case Reply::Type::nil:
      return "nil";
    case Reply::Type::string:
      return "a string";
    case Reply::Type::status:
      return "a status";
    case Reply::Type::error:
      return "an error";
    case Reply::Type::integer:
      return "an integer";
    case Reply::Type::array:
      return "an array";
  }
  return "an unknown value";
}

Unknown no_message(const Reply& reply) {
  if (reply.is(Reply::Type::array)) {
    if (!reply.elements.empty() && is_text(reply.elements.front())) {
      return {fmt::format("an array of {} that begins with \"{}\"", reply.elements.size(),
                          detail::excerpt(reply.elements.front().text))};
    }
    return {fmt::format("an array of {}", reply.elements.size())};
  }
  if (reply.text.empty()) return {std::string{name_of(reply.type)}};
  return {fmt::format("{}: {}", name_of(reply.type), detail::excerpt(reply.text))};
}

std::optional<std::uint64_t> parse_number(std::string_view text) noexcept {
  return detail::parse_number<std::uint64_t>(text);
}

std::optional<std::chrono::milliseconds> parse_time(std::string_view text) noexcept {
  const auto value = parse_number(text);
  if (!value || *value > static_cast<std::uint64_t>(longest_time.count())) return std::nullopt;
  return std::chrono::milliseconds{static_cast<std::int64_t>(*value)};
}

/// Takes the first word off `text`, which ends at one space or at the end.
std::string_view take_word(std::string_view& text) noexcept {
  const std::size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

bool has_form_of_secret(std::string_view word) noexcept {
  return word.size() == secret_length &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<Grant> parse_grant(std::string_view words) {
  const auto secret = take_word(words);
  const auto token = parse_number(take_word(words));
  const auto ttl = parse_time(take_word(words));
  const auto transition = parse_time(take_word(words));
  // The rest, so that nothing may follow.
  const auto now = parse_number(words);
  if (!has_form_of_secret(secret) || !token || !ttl || !transition || !now) return std::nullopt;
  if (*token == 0 || ttl->count() == 0 || *now > end_of_time) return std::nullopt;
  return Grant{.secret = std::string{secret},
               .token = *token,
               .ttl = *ttl,
               .transition = *transition,
               .at = StoreTime{std::chrono::milliseconds{static_cast<std::int64_t>(*now)}}};
}

/// What is wrong with the id of an event, or nothing.
std::optional<std::string> fault_of(std::string_view id) {
  try {
    check_name("contender id", id, longest_id);
    return std::nullopt;
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
}

}  // namespace

Message parse_message(const Reply& reply) {
  if (reply.is(Reply::Type::status) && reply.text == "PONG") return Pong{};
  if (!reply.is(Reply::Type::array) || reply.elements.empty() || !is_text(reply.elements[0])) {
    return no_message(reply);
  }
  const std::vector<Reply>& parts = reply.elements;
  const std::string_view kind = parts[0].text;
  if (kind == "pong" && parts.size() == 2) return Pong{};
  if (parts.size() != 3) return no_message(reply);
  if (kind == "message" && is_text(parts[1]) && is_text(parts[2])) {
    return Published{parts[1].text, parts[2].text};
  }
  if (!parts[2].is(Reply::Type::integer)) return no_message(reply);
  if (kind == "subscribe" && is_text(parts[1])) return Subscribed{parts[1].text};
  // Where there was no subscription at all, the channel is nil.
  if (kind == "unsubscribe" && (is_text(parts[1]) || parts[1].is(Reply::Type::nil))) {
    return Unsubscribed{parts[1].text};
  }
  return no_message(reply);
}

Payload parse_payload(std::string_view payload) {
  constexpr std::string_view granted = "granted ";
  constexpr std::string_view acquired = "acquired@@";
  constexpr std::string_view released = "released@@";

  if (payload.starts_with(granted)) {
    if (const auto grant = parse_grant(payload.substr(granted.size()))) return *grant;
    return Unknown{fmt::format("a malformed grant: {}", detail::excerpt(payload))};
  }
  if (!payload.starts_with(acquired) && !payload.starts_with(released)) {
    return Unknown{fmt::format("an unknown event: {}", detail::excerpt(payload))};
  }
  const std::string_view id = payload.substr(acquired.size());
  static_assert(acquired.size() == released.size());
  if (const auto fault = fault_of(id)) return Unknown{detail::excerpt(*fault)};
  if (payload.starts_with(acquired)) return Acquired{std::string{id}};
  return Released{std::string{id}};
}

}  // namespace simba::redis
