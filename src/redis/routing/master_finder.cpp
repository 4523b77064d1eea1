#include "redis/routing/master_finder.hpp"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "redis/protocol/command.hpp"
#include "redis/protocol/server_error.hpp"
#include "redis/settings.hpp"

namespace simba::redis {
namespace {

/// The address in the answer of a sentinel; empty if it is none.
std::optional<Endpoint> address_in(const Reply& reply) {
  if (!reply.is(Reply::Type::array) || reply.elements.size() != 2) return std::nullopt;
  const Reply& host = reply.elements[0];
  const Reply& port = reply.elements[1];
  if (!host.is(Reply::Type::string) || !can_be_host(host.text)) return std::nullopt;
  if (!port.is(Reply::Type::string)) return std::nullopt;
  const auto number = detail::parse_number<std::int64_t>(port.text);
  if (!number || !can_be_port(*number)) return std::nullopt;
  Endpoint endpoint;
  endpoint.host = host.text;
  endpoint.port = static_cast<std::uint16_t>(*number);
  return endpoint;
}

Error refused(const std::string& text, const Endpoint& sentinel) {
  const ServerError error = parse_server_error(text);
  if (error.code == ServerError::Code::unknown_command) {
    return Error{
        ErrorKind::configuration,
        fmt::format("{} is not a sentinel; check topology and endpoints", to_string(sentinel))};
  }
  if (error.code == ServerError::Code::no_permission) {
    return Error{ErrorKind::permission,
                 fmt::format("permission denied by the sentinel at {}; run there: ACL SETUSER "
                             "<sentinel_user> +sentinel|get-master-addr-by-name +subscribe "
                             "&+switch-master",
                             to_string(sentinel))};
  }
  if (error.code == ServerError::Code::not_authenticated) {
    return Error{ErrorKind::authentication,
                 fmt::format("the sentinel at {} requires a password; set sentinel_password",
                             to_string(sentinel))};
  }
  return to_error(error, "sentinel at " + to_string(sentinel));
}

Error closed_error() { return Error{ErrorKind::unavailable, "closed"}; }

}  // namespace

std::shared_ptr<const ConnectionSettings> sentinel_settings(const RedisOptions& options) {
  auto settings = std::make_shared<ConnectionSettings>();
  settings->user = options.sentinel_user;
  settings->password = options.sentinel_password;
  settings->client_name = options.client_name;
  settings->tls = options.tls;
  settings->connect_timeout = options.connect_timeout;
  // A sentinel that can be reached answers at once.
  settings->command_timeout = options.connect_timeout;
  return settings;
}

MasterFinder::MasterFinder(const RedisOptions& options, OpenConnection open)
    : master_name_{options.master_name},
      settings_{sentinel_settings(options)},
      open_{std::move(open)} {
  for (const Endpoint& endpoint : options.endpoints) {
    sentinels_.push_back({.endpoint = endpoint});
  }
}

MasterFinder::~MasterFinder() {
  try {
    close();
  } catch (...) {  // a handler's own; there is nobody left to tell
  }
}

void MasterFinder::find(EndpointHandler handler) {
  if (closed_) {
    handler(closed_error());
    return;
  }
  waiting_.push_back(std::move(handler));
  if (waiting_.size() == 1) ask_next();
}

void MasterFinder::close() {
  closed_ = true;
  finish(closed_error());
}

MasterFinder::Sentinel* MasterFinder::choose() {
  Sentinel* best = nullptr;
  for (Sentinel& sentinel : sentinels_) {
    if (sentinel.asked) continue;
    if (best == nullptr ||
        std::pair{sentinel.failed, sentinel.turn} < std::pair{best->failed, best->turn}) {
      best = &sentinel;
    }
  }
  return best;
}

void MasterFinder::ask_next() {
  const auto alive = shared_from_this();  // a handler may let go of it
  current_ = choose();
  if (current_ == nullptr) {
    finish(nothing_found());
    return;
  }
  current_->asked = true;
  const std::uint64_t attempt = ++attempt_;
  Connection::Events events;
  events.on_closed = [weak = weak_from_this(), attempt](const Error& error) {
    if (const auto self = weak.lock()) self->failed(attempt, error);
  };
  const auto connection =
      open_(current_->endpoint, settings_, Connection::Use::commands, std::move(events));
  if (attempt != attempt_) {
    connection->close();
    return;
  }
  connection_ = connection;
  connection->send(command({"SENTINEL", "get-master-addr-by-name", master_name_}), 1,
                   [weak = weak_from_this(), attempt](const Replies& replies) {
                     if (const auto self = weak.lock()) self->answered(attempt, replies);
                   });
}

void MasterFinder::answered(std::uint64_t attempt, const Replies& replies) {
  if (attempt != attempt_) return;
  if (const auto* error = std::get_if<Error>(&replies)) {
    // Where the connection failed, its end is still to be told, and that with the reason.
    const bool end_follows =
        error->kind() == ErrorKind::unavailable || error->kind() == ErrorKind::in_doubt;
    if (!end_follows) failed(attempt, *error);
    return;
  }
  const auto& list = std::get<std::vector<Reply>>(replies);
  const Reply reply = list.size() == 1 ? list.front() : Reply{Reply::Type::array};
  if (reply.is(Reply::Type::nil)) {
    failed(attempt,
           Error{ErrorKind::configuration, fmt::format("does not know master '{}'", master_name_)},
           true);
  } else if (reply.is(Reply::Type::error)) {
    failed(attempt, refused(reply.text, current_->endpoint));
  } else if (const auto master = address_in(reply)) {
    found(*master);
  } else {
    failed(attempt, Error{ErrorKind::internal, "sent an invalid address"});
  }
}

void MasterFinder::failed(std::uint64_t attempt, const Error& error, bool unknown_name) {
  if (attempt != attempt_) return;
  current_->failed = true;
  current_->turn = ++last_turn_;
  failures_.push_back({current_->endpoint, error, unknown_name});
  drop_connection();
  ask_next();
}

void MasterFinder::found(const Endpoint& master) {
  current_->failed = false;
  if (found_last_ == master) current_->turn = ++last_turn_;
  found_last_ = master;
  finish(master);
}

Error MasterFinder::nothing_found() const {
  if (failures_.empty()) return Error{ErrorKind::configuration, "no sentinels configured"};
  if (std::all_of(failures_.begin(), failures_.end(),
                  [](const Failure& failure) { return failure.unknown_name; })) {
    return Error{
        ErrorKind::configuration,
        fmt::format("no sentinel knows a master named '{}'; check master_name", master_name_)};
  }
  // What all of them refuse does not pass; what only some refuse may, by the others.
  ErrorKind kind = failures_.front().error.kind();
  std::string text =
      fmt::format("cannot get the address of master '{}' from any sentinel", master_name_);
  std::string_view separator = ": ";
  for (const auto& [sentinel, error, unknown_name] : failures_) {
    if (error.kind() != kind || error.is_transient()) kind = ErrorKind::unavailable;
    const std::string name = to_string(sentinel);
    const std::string_view reason = error.what();
    text += separator;
    if (reason.find(name) == std::string_view::npos) text += name + ": ";
    text += reason;
    separator = "; ";
  }
  if (kind == ErrorKind::authentication) {
    text += "; check sentinel_user and sentinel_password";
  }
  return Error{kind, text};
}

void MasterFinder::finish(const Answer& answer) {
  drop_connection();
  failures_.clear();
  for (Sentinel& sentinel : sentinels_) sentinel.asked = false;
  for (const EndpointHandler& handler : std::exchange(waiting_, {})) handler(answer);
}

void MasterFinder::drop_connection() {
  ++attempt_;
  current_ = nullptr;
  if (const auto connection = std::exchange(connection_, nullptr)) connection->close();
}

}  // namespace simba::redis
