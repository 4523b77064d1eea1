// simba serve: a live page of the mutexes of a store.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/child/signals.hpp"
#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/long_running.hpp"
#include "cli/output/log.hpp"
#include "cli/output/printable.hpp"
#include "cli/output/times.hpp"
#include "cli/serve/gate.hpp"
#include "cli/serve/looker.hpp"
#include "cli/serve/service.hpp"
#include "cli/store.hpp"
#include "core/text.hpp"
#include "http/server.hpp"

namespace simba::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds shortest_interval{100};

constexpr std::size_t most_history = 1'000'000;

constexpr std::string_view default_listen = "127.0.0.1:7462";

/// How long the record of a schedule is waited for.
constexpr std::chrono::seconds record_time{2};

/// What follows from where it is to listen. Throws UsageError.
void check_reach(const http::ListenAddress& address, bool has_tls, bool has_token) {
  if (address.is_loopback() || (has_tls && has_token)) return;
  throw UsageError{fmt::format(
      "--listen {} can be reached from other hosts, so it needs {}; without these use a "
      "loopback address, for example 127.0.0.1:{}",
      detail::host_text(address.host, address.port),
      has_tls     ? "--token-file"
      : has_token ? "--tls-cert and --tls-key"
                  : "--tls-cert, --tls-key and --token-file",
      address.port)};
}

class ServeCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* command = app.add_subcommand("serve", "Show the mutexes of a store on a live web page");
    command
        ->add_option("--listen", listen_,
                     "Address and port of the page (default: 127.0.0.1:7462); port 0: any")
        ->type_name("ADDR");
    auto* certificate =
        command
            ->add_option("--tls-cert", certificate_, "PEM file with the certificate and its chain")
            ->type_name("FILE");
    auto* key =
        command->add_option("--tls-key", key_, "PEM file with its private key")->type_name("FILE");
    certificate->needs(key);
    key->needs(certificate);
    auto* token = command
                      ->add_option("--token-file", token_file_,
                                   "File with the token that browsers log in with and programs "
                                   "send")
                      ->type_name("FILE");
    command->add_option("--host", hosts_, "Name under which browsers may ask; may be repeated")
        ->type_name("NAME");
    command
        ->add_flag("--allow-release", allow_release_,
                   "Let those who have logged in release mutexes by force")
        ->needs(token);
    command->add_option("--history", history_, "How many changes to remember (default: 10000)")
        ->type_name("COUNT");
    command
        ->add_option("--interval", interval_,
                     "How often to look at the store (default: 500ms); a store that takes long to "
                     "answer is looked at less often")
        ->type_name("TIME");
    command->footer(
        R"(Asks the store alone: owners need nothing for it. Shows one mutex with -m,
otherwise all mutexes in the store. The page has the owners, their leases, who waits,
schedules, who owned what when since it was started, and what simba doctor finds. Runs until
interrupted (exit code 0), even while the store is unreachable.

On an address that other hosts can reach it needs TLS and a token. The API is described in
docs/observability.md.

Examples:
  simba serve -b redis://10.0.0.5
  simba serve -b redis://10.0.0.5 --token-file token --allow-release
  simba serve -b redis://10.0.0.5 --listen 10.0.0.7:7462 --host ops.example.com \
    --tls-cert page.pem --tls-key page.key --token-file token)");
    return command;
  }

  int run(const Invocation& invocation, Output& output) override {
    Signals signals;  // before any thread
    const auto& options = invocation.options;
    const auto address = http::parse_listen_address(listen_, "--listen");
    const bool has_tls = !certificate_.empty();
    check_reach(address, has_tls, !token_file_.empty());
    const auto interval = checked_interval();
    Service::Options shown{.board = {.history = checked_history()}};
    if (!token_file_.empty()) shown.gate.token = serve::read_token(token_file_);
    shown.gate.secure = has_tls;
    shown.gate.hosts = checked_hosts(address);

    const auto configuration = options.load();
    const Store store{options, output, Store::LogLevelWithoutVerbose::warnings};
    const auto runtime = make_command_runtime(options.verbosity, LogLevel::warn);
    shown.store = configuration.description();
    shown.board.usual_lease = store.plan().lease();

    // A request may come before all is there that answers it.
    std::atomic<Service*> ready{nullptr};
    std::optional<Service> service;
    std::optional<serve::Looker> looker;
    http::ServerOptions limits{.log = store.log()};
    limits.each_second = [&] {
      if (Service* const there = ready.load()) there->each_second();
    };
    if (has_tls) limits.tls = {.certificate_file = certificate_, .key_file = key_};
    http::Server server{address,
                        [&](const http::Request& request, const http::Responder& respond) {
                          if (Service* const there = ready.load()) {
                            return there->handle(request, respond);
                          }
                          respond(http::text_response(503, "this server is being started"));
                        },
                        limits};
    shown.gate.port = server.address().port;
    if (allow_release_) {
      shown.release = [&](const Service::Release& wanted, auto done) {
        looker->release(wanted, std::move(done));
      };
    }
    service.emplace(std::move(shown));
    looker.emplace(configuration, runtime, records_of(store),
                   serve::Looker::Options{.interval = interval,
                                          .only = options.mutex,
                                          .must_exist = !options.uses_default_store()},
                   *service);
    looker->look_first();
    looker->start();
    ready = &*service;

    const std::string url =
        fmt::format("{}://{}/", has_tls ? "https" : "http",
                    detail::host_text(server.address().host, server.address().port));
    output.result(fmt::format("serving {} at {}", printable(configuration.description()), url),
                  {{"event", "serving"}, {"url", url}, {"store", configuration.description()}});
    LongRunning{}.wait_for_end(signals);
    return to_int(ExitCode::success);
  }

 private:
  using Service = serve::Service;

  /// Nothing where the store keeps none.
  static std::optional<ScheduleRecords> records_of(const Store& store) {
    try {
      return store.schedule_records(record_time);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      return std::nullopt;
    }
  }

  milliseconds checked_interval() const {
    const auto interval = parse_duration(interval_, "--interval");
    if (interval >= shortest_interval) return interval;
    throw UsageError{fmt::format("--interval must be at least {} (got {})",
                                 to_text(shortest_interval), interval_)};
  }

  std::size_t checked_history() const {
    if (history_ <= most_history) return history_;
    throw UsageError{fmt::format("--history must be at most {} (got {})", most_history, history_)};
  }

  /// The names that are given, and the address where it is one that others use.
  std::vector<std::string> checked_hosts(const http::ListenAddress& address) const {
    std::vector<std::string> hosts{detail::host_text(address.host)};
    for (const std::string& name : hosts_) {
      if (name.empty() || name.find_first_of("/: ") != std::string::npos) {
        throw UsageError{fmt::format(
            "--host must be a host name without a port, for example ops.example.com (got \"{}\")",
            printable(name))};
      }
      hosts.push_back(lower_case(name));
    }
    return hosts;
  }

  static std::string lower_case(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return text;
  }

  std::string listen_{default_listen};
  std::string certificate_;
  std::string key_;
  std::string token_file_;
  std::vector<std::string> hosts_;
  bool allow_release_ = false;
  std::size_t history_ = 10'000;
  std::string interval_{"500ms"};
};

}  // namespace

std::unique_ptr<Command> make_serve_command() { return std::make_unique<ServeCommand>(); }

}  // namespace simba::cli
