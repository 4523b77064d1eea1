#include "redis/connection/connection_opener.hpp"

#include <algorithm>
#include <utility>

#include <asio/error.hpp>
#include <asio/post.hpp>
#include <asio/ssl/error.hpp>
#include <fmt/format.h>

#include "redis/connection/tls_context.hpp"

namespace simba::redis {
namespace {

/// A host name may have very many addresses; messages and time are short.
constexpr std::size_t most_addresses = 16;

}  // namespace

ConnectionOpener::ConnectionOpener(std::shared_ptr<detail::EventLoop> loop, Endpoint endpoint,
                                   std::shared_ptr<const ConnectionSettings> settings,
                                   LocalTime deadline, Handler handler)
    : loop_{std::move(loop)},
      endpoint_{std::move(endpoint)},
      settings_{std::move(settings)},
      deadline_{deadline},
      handler_{std::move(handler)},
      patience_{*loop_} {}

void ConnectionOpener::start() {
  const bool secure = uses_tls(settings_->tls.mode);
  if (endpoint_.unix_socket.empty()) {
    if (secure) tls_ = settings_->tls_context->get(settings_->tls);
    resolve();
    return;
  }
  if (secure) {
    throw Error{ErrorKind::configuration,
                fmt::format("TLS cannot be used with a Unix socket; set tls.mode to off for {}",
                            to_string(endpoint_))};
  }
  addresses_.push_back(unix_address(endpoint_.unix_socket));
  asio::post(loop_->io(), [self = shared_from_this()] {
    self->loop_->leave_in_child();
    self->try_next();
  });
}

void ConnectionOpener::resolve() {
  resolver_ = Resolver::start(*loop_, endpoint_.host, endpoint_.port,
                              [self = shared_from_this()](const Addresses& found) {
                                if (const auto* error = std::get_if<Error>(&found)) {
                                  self->answer(*error);
                                  return;
                                }
                                self->addresses_ = std::get<std::vector<Address>>(found);
                                if (self->addresses_.size() > most_addresses)
                                  self->addresses_.resize(most_addresses);
                                self->try_next();
                              });
}

void ConnectionOpener::try_next() {
  if (!handler_) return;
  if (next_ == addresses_.size()) {
    answer(unreachable());
    return;
  }
  const auto left = static_cast<int>(addresses_.size() - next_);
  const Address& address = addresses_[next_++];
  const auto attempt = ++attempt_;
  transport_ = std::make_shared<Transport>(
      loop_->io(), tls_, std::max(settings_->connect_timeout, settings_->command_timeout));
  try {
    transport_->connect(address, [self = shared_from_this(), held = transport_,
                                  attempt](const asio::error_code& error) {
      self->loop_->leave_in_child();
      self->connected(attempt, error);
    });
  } catch (const Error& error) {
    answer(error);
    return;
  }
  const LocalTime now = detail::BootClock::now();
  const auto share = std::max(deadline_ - now, LocalTime::duration::zero()) / left;
  if (left == 1) return;  // the last one may have all the time that is left
  patience_.arm(now + share, [self = shared_from_this(), attempt] {
    if (self->attempt_ == attempt) self->next_after("timed out");
  });
}

void ConnectionOpener::connected(std::uint64_t attempt, const asio::error_code& error) {
  if (!handler_ || attempt != attempt_) return;
  if (error) {
    next_after(reason_of(error));
    return;
  }
  if (transport_->met_itself()) {
    next_after(reason_of(asio::error::connection_refused));
    return;
  }
  ++attempt_;  // it has answered: no other is tried
  patience_.cancel();
  if (!tls_) {
    answer(transport_);
    return;
  }
  try {
    transport_->secure(settings_->tls.mode, endpoint_.host,
                       [self = shared_from_this(), held = transport_](const auto& refused) {
                         self->loop_->leave_in_child();
                         self->secured(refused);
                       });
  } catch (const Error& wrong) {
    answer(wrong);
  }
}

void ConnectionOpener::secured(const asio::error_code& error) {
  if (!handler_) return;
  if (!error) {
    answer(transport_);
    return;
  }
  const std::string where = to_string(endpoint_);
  const std::string refusal = transport_->certificate_refusal();
  if (settings_->tls.mode != TlsMode::encrypt && !refusal.empty()) {
    answer(Error{ErrorKind::configuration,
                 fmt::format("cannot verify the certificate of Redis at {}: {}; check tls.ca_file "
                             "and that the certificate is for '{}'",
                             where, refusal, endpoint_.host)});
  } else if (error.category() == asio::error::get_ssl_category()) {
    answer(Error{ErrorKind::configuration,
                 fmt::format("TLS handshake with Redis at {} failed: {}; check that this port "
                             "supports TLS and whether the server requires a client certificate",
                             where, error.message())});
  } else {
    answer(Error{ErrorKind::unavailable,
                 fmt::format("lost the connection to Redis at {} during the TLS handshake: {}",
                             where, error.message())});
  }
}

void ConnectionOpener::next_after(const std::string& why) {
  if (!handler_) return;
  transport_->close();
  if (failures_.find(why) == std::string::npos) {
    if (!failures_.empty()) failures_ += ", ";
    failures_ += why;
  }
  try_next();
}

void ConnectionOpener::answer(const std::variant<std::shared_ptr<Transport>, Error>& result) {
  if (!handler_) return;
  const Handler handler = std::exchange(handler_, nullptr);
  if (std::holds_alternative<Error>(result) && transport_) transport_->close();
  resolver_.reset();
  patience_.cancel();
  handler(result);
}

Error ConnectionOpener::unreachable() const {
  return Error{ErrorKind::unavailable,
               fmt::format("cannot connect to Redis at {}: {}", to_string(endpoint_), failures_)};
}

void ConnectionOpener::cancel() {
  handler_ = nullptr;
  ++attempt_;
  if (resolver_) resolver_->cancel();
  resolver_.reset();
  patience_.cancel();
  if (transport_) transport_->close();
}

}  // namespace simba::redis
