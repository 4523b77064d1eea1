#include "redis/session.hpp"

#include <utility>

#include "core/threads/event_loop.hpp"
#include "redis/routing/cluster_router.hpp"

namespace simba::redis {
namespace {

Subscriptions::Grants grants_of(const RedisOptions& options) {
  return options.wait_replicas > 0 ? Subscriptions::Grants::are_hints
                                   : Subscriptions::Grants::count;
}

Confirmation confirmation_of(const RedisOptions& options) {
  return {.replicas = options.wait_replicas, .timeout = options.wait_timeout};
}

}  // namespace

SessionIo make_session_io(const Runtime& runtime) {
  const auto io =
      std::make_shared<detail::LoopThread>("simba-redis", "a task of simba-redis threw",
                                           std::make_shared<detail::ThreadGroup>(), runtime.log);
  return {.post =
              [weak = std::weak_ptr{io}](std::function<void()> task) {
                if (const auto thread = weak.lock()) thread->post(std::move(task));
              },
          .open =
              [loop = io->loop()](const Endpoint& endpoint, auto with, auto use, auto events) {
                return Connection::open(loop, endpoint, std::move(with), use, std::move(events));
              },
          .stop = [io] { io->stop(); }};
}

Session::Session(const RedisOptions& options, std::shared_ptr<const ConnectionSettings> settings,
                 const std::shared_ptr<const Runtime>& runtime, SessionIo io)
    : io_{std::move(io)}, watches_{std::make_shared<RoutedWatches>()} {
  context_ = std::make_shared<const RequestContext>(
      RequestContext{.router = make_router(options, std::move(settings), runtime),
                     .topology = options.topology,
                     .confirmation = confirmation_of(options),
                     .token_retention = options.token_retention});
}

std::shared_ptr<Router> Session::make_router(const RedisOptions& options,
                                             std::shared_ptr<const ConnectionSettings> settings,
                                             const std::shared_ptr<const Runtime>& runtime) {
  Dialer dialer{.runtime = runtime,
                .post = io_.post,
                .open = io_.open,
                .source = nullptr,
                .settings = std::move(settings),
                .topology = options.topology,
                .token_retention = options.token_retention};
  const auto grants = grants_of(options);
  const auto confirmation = confirmation_of(options);

  switch (options.topology) {
    case Topology::sentinel: {
      finder_ = std::make_shared<MasterFinder>(options, io_.open);
      dialer.source = finder_;
      auto node = std::make_shared<Node>(dialer, grants, options.endpoints.front(), confirmation);
      follow_master(options, dialer, node);
      return std::make_shared<FixedRouter>(std::move(node));
    }
    case Topology::cluster:
      return std::make_shared<ClusterRouter>(
          options.endpoints,
          [dialer, grants, confirmation](const Endpoint& endpoint) {
            Dialer here = dialer;
            here.source = std::make_shared<FixedEndpoint>(endpoint);
            return std::make_shared<Node>(here, grants, endpoint, confirmation);
          },
          runtime,
          [weak = std::weak_ptr{watches_}] {
            if (const auto watches = weak.lock()) watches->follow();
          });
    case Topology::single:
      break;
  }
  dialer.source = std::make_shared<FixedEndpoint>(options.endpoints.front());
  return std::make_shared<FixedRouter>(
      std::make_shared<Node>(dialer, grants, options.endpoints.front(), confirmation));
}

// A master may be replaced while it is connected to, or while nobody asks it anything. So who it is
// is asked for again when a connection is made, and sentinels are listened to.
void Session::follow_master(const RedisOptions& options, const Dialer& dialer,
                            const std::shared_ptr<Node>& node) {
  const auto switched = [weak = std::weak_ptr{node}](const Endpoint& master) {
    const auto followed = weak.lock();
    if (followed && followed->endpoint() != master) followed->leave();
  };
  // Sentinels may be at odds for a while. Then the second opinion counts, and not a third.
  const auto check = [switched, finder = std::weak_ptr{finder_}, weak = std::weak_ptr{node},
                      doubted = std::make_shared<bool>(false)] {
    const auto asked = finder.lock();
    if (!asked) return;
    asked->find([switched, weak, doubted](const std::variant<Endpoint, Error>& found) {
      const auto* master = std::get_if<Endpoint>(&found);
      const auto followed = weak.lock();
      if (master == nullptr || !followed) return;
      const bool differs = followed->endpoint() != *master;
      if (!std::exchange(*doubted, differs)) switched(*master);
    });
  };
  sentinels_ = std::make_shared<SentinelWatch>(
      options, dialer, SentinelWatch::Events{.on_listening = check, .on_switched = switched});
  node->on_connected([check, weak = std::weak_ptr{sentinels_}] {
    if (const auto sentinels = weak.lock()) sentinels->start();
    check();
  });
}

std::unique_ptr<engine::Watch> Session::watch(const engine::LeaseRequest& request,
                                              engine::NoticeHandler handler) {
  return watches_->add(context_->router, request, std::move(handler));
}

void Session::close() {
  context_->router->close();
  if (sentinels_) sentinels_->close();
  // Once only: a task that comes after the end of the thread would hold the loop that holds it.
  if (auto finder = std::exchange(finder_, nullptr)) {
    io_.post([finder = std::move(finder)] { finder->close(); });
  }
  io_.stop();
}

}  // namespace simba::redis
