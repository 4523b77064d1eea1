#include "redis/connection/resolver.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <utility>

#include <asio/local/stream_protocol.hpp>
#include <asio/post.hpp>
#include <fmt/format.h>

#include "core/text.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_pause = 20ms;

}  // namespace

/// One question to the C library. While it is under way nobody but the C library may free it.
struct Resolver::Lookup {
  Lookup(std::string the_host, std::uint16_t the_port)
      : host{std::move(the_host)}, port{fmt::to_string(the_port)} {
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    request.ar_name = host.c_str();
    request.ar_service = port.c_str();
    request.ar_request = &hints;
  }
  ~Lookup() {
    if (request.ar_result != nullptr) ::freeaddrinfo(request.ar_result);
  }
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  /// True if the host is an address itself.
  bool is_numeric() {
    hints.ai_flags |= AI_NUMERICHOST;
    const int failed =
        ::getaddrinfo(request.ar_name, request.ar_service, &hints, &request.ar_result);
    hints.ai_flags &= ~AI_NUMERICHOST;
    return failed == 0;
  }

  /// Returns the failure of it, or 0.
  int ask() {
    std::array<gaicb*, 1> list{&request};
    sigevent silent{};
    silent.sigev_notify = SIGEV_NONE;
    const int failed = ::getaddrinfo_a(GAI_NOWAIT, list.data(), 1, &silent);
    asked = failed == 0;
    return failed;
  }

  bool under_way() { return asked && ::gai_error(&request) == EAI_INPROGRESS; }

  Addresses result() const {
    std::vector<Address> found;
    for (const addrinfo* each = request.ar_result; each != nullptr; each = each->ai_next) {
      if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
      found.emplace_back(each->ai_addr, each->ai_addrlen, each->ai_protocol);
    }
    if (found.empty()) return failure(EAI_NODATA);
    return found;
  }

  Error failure(int code) const {
    return Error{ErrorKind::unavailable, fmt::format("cannot resolve the Redis host name '{}': {}",
                                                     detail::excerpt(host), ::gai_strerror(code))};
  }

  /// Keeps it until it is over, and a later one frees it.
  static void leave_behind(std::unique_ptr<Lookup> lookup) {
    Lookup* const left = lookup.release();
    left->next = left_behind.load();
    while (!left_behind.compare_exchange_weak(left->next, left)) {
    }
  }

  /// Frees those left behind that are over.
  static void free_left_behind() {
    Lookup* each = left_behind.exchange(nullptr);
    while (each != nullptr) {
      std::unique_ptr<Lookup> lookup{std::exchange(each, each->next)};
      if (lookup->under_way()) leave_behind(std::move(lookup));
    }
  }

  const std::string host;
  const std::string port;
  addrinfo hints{};
  gaicb request{};
  bool asked = false;
  Lookup* next = nullptr;  // of those left behind

  /// What the C library was still at when its loop ended. Without a lock, since a child may be
  /// forked at any moment.
  static inline std::atomic<Lookup*> left_behind = nullptr;
};

std::shared_ptr<Resolver> Resolver::start(detail::EventLoop& loop, const std::string& host,
                                          std::uint16_t port, Handler handler) {
  Lookup::free_left_behind();
  auto resolver = std::make_shared<Resolver>(loop, host, port, std::move(handler));
  resolver->begin();
  return resolver;
}

Resolver::Resolver(detail::EventLoop& loop, const std::string& host, std::uint16_t port,
                   Handler handler)
    : loop_{loop},
      handler_{std::move(handler)},
      timer_{loop},
      lookup_{std::make_unique<Lookup>(host, port)} {}

Resolver::~Resolver() {
  // Only where the loop ended before the look-up.
  if (lookup_->under_way() && ::gai_cancel(&lookup_->request) == EAI_NOTCANCELED) {
    Lookup::leave_behind(std::move(lookup_));
  }
}

void Resolver::begin() {
  const auto later = [&](Addresses addresses) {
    asio::post(loop_.io(), [self = shared_from_this(), addresses = std::move(addresses)] {
      self->loop_.leave_in_child();
      self->answer(addresses);
    });
  };
  if (lookup_->is_numeric()) {
    later(lookup_->result());
  } else if (const int failed = lookup_->ask(); failed != 0) {
    later(lookup_->failure(failed));
  } else {
    look_later();
  }
}

void Resolver::look_later() {
  timer_.arm(detail::BootClock::now() + pause_, [self = shared_from_this()] { self->look(); });
  pause_ = std::min<std::chrono::milliseconds>(pause_ * 2, longest_pause);
}

void Resolver::look() {
  const int state = ::gai_error(&lookup_->request);
  if (state == EAI_INPROGRESS) {
    look_later();  // even if cancelled: it is freed when it is over
    return;
  }
  answer(state == 0 ? lookup_->result() : Addresses{lookup_->failure(state)});
}

void Resolver::answer(const Addresses& addresses) {
  if (!handler_) return;
  const Handler handler = std::exchange(handler_, nullptr);
  handler(addresses);
}

void Resolver::cancel() {
  handler_ = nullptr;
  if (lookup_->under_way()) ::gai_cancel(&lookup_->request);
  pause_ = longest_pause;
}

Address unix_address(const std::string& path) {
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    throw Error{
        ErrorKind::configuration,
        fmt::format("the path of a Unix socket must be at most {} bytes long (got {}): '{}'",
                    sizeof(sockaddr_un::sun_path) - 1, path.size(), detail::excerpt(path))};
  }
  return asio::local::stream_protocol::endpoint{path};
}

}  // namespace simba::redis
