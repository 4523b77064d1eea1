#include "simba/http/health_server.hpp"

#include <utility>

#include "core/text.hpp"
#include "http/health_pages.hpp"
#include "http/server.hpp"

namespace simba {

class HealthServer::Impl {
 public:
  Impl(const http::ListenAddress& address, Report report, const HealthServerOptions& options)
      : Impl{address, options,
             std::make_shared<http::HealthPages>(
                 std::move(report), options,
                 http::Exposure{.token = options.token_file.empty()
                                             ? std::string{}
                                             : http::read_token(options.token_file),
                                .on_loopback = address.is_loopback()})} {}

  std::string address() const {
    return detail::host_text(server_.address().host, server_.address().port);
  }

 private:
  // The pages belong to the server's thread, which may outlive this object.
  Impl(const http::ListenAddress& address, const HealthServerOptions& options,
       const std::shared_ptr<http::HealthPages>& pages)
      : server_{address,
                http::answering(
                    [pages](const http::Request& request) { return pages->answer(request); }),
                {.most_connections = 64,
                 .body_bytes = 1024,
                 .each_second = [pages] { pages->tick(); },
                 .log = options.runtime ? options.runtime->log : nullptr}} {}

  const http::Server server_;
};

HealthServer::HealthServer(std::string_view address, Report report,
                           const HealthServerOptions& options)
    : impl_{std::make_unique<Impl>(http::parse_listen_address(address, "the address"),
                                   std::move(report), options)} {}

HealthServer::~HealthServer() = default;

std::string HealthServer::address() const { return impl_->address(); }

}  // namespace simba
