#include "redis/connection/handshake.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "redis/protocol/command.hpp"
#include "redis/protocol/server_error.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {
namespace {

using Code = ServerError::Code;

bool has(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != std::string_view::npos;
}

void append(std::string& out, std::initializer_list<std::string_view> words) {
  append_command(out, std::span{words.begin(), words.size()});
}

/// With "***" in place of the secret, wherever it is.
std::string without(std::string_view text, std::string_view secret) {
  std::string result;
  for (std::size_t at = text.find(secret); at != std::string_view::npos; at = text.find(secret)) {
    result.append(text.substr(0, at)).append("***");
    text.remove_prefix(at + secret.size());
  }
  return result.append(text);
}

/// What a server says to a connection that it does not want, whatever was asked.
void throw_if_unwelcome(std::string_view text, const std::string& where) {
  if (has(text, "max number of clients")) {
    throw Error{ErrorKind::unavailable,
                fmt::format("{} has reached its connection limit: {}; raise maxclients there",
                            where, detail::excerpt(text))};
  }
  if (text.starts_with("DENIED")) {
    throw Error{ErrorKind::configuration,
                fmt::format("{} is in protected mode and accepts local connections only; set a "
                            "password, a bind address or protected-mode no there",
                            where)};
  }
}

}  // namespace

Handshake::Handshake(const ConnectionSettings& settings, std::string where)
    : settings_{settings}, where_{std::move(where)} {
  if (!settings.password.empty() || !settings.user.empty()) steps_.push_back(Step::log_in);
  if (settings.database > 0) steps_.push_back(Step::select);
  if (!settings.client_name.empty()) steps_.push_back(Step::name);
  if (settings.masters_only) steps_.push_back(Step::role);
  if (steps_.empty()) steps_.push_back(Step::ping);  // to know that it is a Redis, and serves us
}

std::string Handshake::commands() const {
  std::string out;
  for (const Step step : steps_) {
    switch (step) {
      case Step::log_in:
        if (settings_.user.empty()) {
          append(out, {"AUTH", settings_.password.reveal()});
        } else {
          append(out, {"AUTH", settings_.user, settings_.password.reveal()});
        }
        break;
      case Step::select:
        append(out, {"SELECT", fmt::to_string(settings_.database)});
        break;
      case Step::name:
        append(out, {"CLIENT", "SETNAME", settings_.client_name});
        break;
      case Step::role:
        append(out, {"ROLE"});
        break;
      case Step::ping:
        append(out, {"PING"});
        break;
    }
  }
  return out;
}

void Handshake::take(const Reply& reply) {
  const Step step = steps_.at(answered_);
  ++answered_;
  // Whoever repeats the password is not to get it into our log.
  const std::string& password = settings_.password.reveal();
  if (!password.empty() && reply.is(Reply::Type::error) && has(reply.text, password)) {
    refused(step, without(reply.text, password));
    return;
  }
  if (reply.is(Reply::Type::error)) {
    refused(step, reply.text);
    return;
  }
  switch (step) {
    case Step::role:
      if (!reply.is(Reply::Type::array) || reply.elements.empty() ||
          !reply.elements.front().is(Reply::Type::string)) {
        senseless(step);
      }
      if (const std::string& role = reply.elements.front().text; role != "master") {
        throw Error{
            ErrorKind::unavailable,
            fmt::format("{} is not a master but a {}", where_,
                        detail::excerpt(password.empty() ? role : without(role, password)))};
      }
      return;
    default:
      if (!reply.is(Reply::Type::status)) senseless(step);
  }
}

void Handshake::refused(Step step, std::string_view text) const {
  throw_if_unwelcome(text, where_);
  if (step == Step::log_in) log_in_refused(text);
  const ServerError error = parse_server_error(text);
  switch (step) {
    case Step::name:
    case Step::ping:
      // A name is only shown, and who may not ping may do what is needed.
      if (error.code == Code::no_permission || error.code == Code::unknown_command) return;
      if (step == Step::name && error.code == Code::other) return;
      break;
    case Step::select:
      if (error.code != Code::other) break;
      throw Error{ErrorKind::configuration, fmt::format("{} has no database {}: {}", where_,
                                                        settings_.database, detail::excerpt(text))};
    default:
      break;
  }
  throw to_error(error, where_);
}

void Handshake::log_in_refused(std::string_view text) const {
  const ServerError error = parse_server_error(text);
  switch (error.code) {
    case Code::wrong_password:
    case Code::not_authenticated:
    case Code::no_permission:
    case Code::unknown_command:
    case Code::other:
      break;
    default:
      throw to_error(error, where_);
  }
  // A server that does not know the command repeats what came with it.
  const std::string why =
      error.code == Code::unknown_command ? "it does not support AUTH" : detail::excerpt(text);
  throw Error{
      ErrorKind::authentication,
      fmt::format("{} rejected the password of user '{}': {}", where_,
                  settings_.user.empty() ? "default" : detail::excerpt(settings_.user), why)};
}

void Handshake::senseless(Step step) const {
  constexpr std::array names{"AUTH", "SELECT", "CLIENT SETNAME", "ROLE", "PING"};
  throw Error{ErrorKind::configuration,
              fmt::format("{} sent an unexpected reply to {}; is it a Redis server?", where_,
                          names.at(static_cast<std::size_t>(step)))};
}

}  // namespace simba::redis
