#include "zookeeper/admin/doctor.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "zookeeper/admin/four_letter_word.hpp"
#include "zookeeper/client/c_library.hpp"
#include "zookeeper/errors.hpp"
#include "zookeeper/queue/node_names.hpp"

namespace simba::zookeeper {
namespace {

using engine::Finding;
using engine::StoreReport;
using Weight = Finding::Weight;

class Examination {
 public:
  Examination(ClientConsole& console, const Settings& settings, Random& random)
      : console_{console}, settings_{settings}, random_{random} {}

  StoreReport run() {
    report_.server = "ZooKeeper";
    check_session();
    check_servers();
    check_rights();
    return std::move(report_);
  }

 private:
  void add(Weight weight, std::string text, ErrorKind kind = ErrorKind::configuration) {
    report_.findings.push_back({weight, std::move(text), kind});
  }
  void add(const Error& error) { add(Weight::problem, error.what(), error.kind()); }

  void check_session() {
    const Connected session = console_.connect();
    if (session.timeout == settings_.session_timeout) {
      add(Weight::note, fmt::format("the session timeout is {} ms", session.timeout.count()));
      return;
    }
    add(Weight::warning,
        fmt::format(
            "a session timeout of {} ms was requested, but the servers granted {} ms; change "
            "session_timeout, or minSessionTimeout or maxSessionTimeout on the servers",
            settings_.session_timeout.count(), session.timeout.count()));
  }

  /// By four-letter commands, which are always unencrypted.
  void check_servers() {
    if (settings_.tls.mode != TlsMode::off) return;
    const auto servers = places_in(hosts_for_library(settings_.hosts));
    for (const ServerPlace& server : servers) {
      const FourLetterAnswer answer =
          ask_four_letter_word(server, "srvr", settings_.connection_timeout);
      const std::string place = server.host + ":" + server.port;
      if (answer.state == FourLetterAnswer::State::unreachable) {
        add(Weight::warning, fmt::format("cannot connect to server {}", place));
      } else if (const auto version = version_in(answer.text); !version.empty()) {
        report_.server = "ZooKeeper " + version;
        if (is_too_old(version)) {
          add(Weight::problem,
              fmt::format("server {} is ZooKeeper {}, which is too old; 3.5 or later is required",
                          place, version),
              ErrorKind::unsupported);
        }
      } else if (answer.text.find("not currently serving") != std::string::npos) {
        add(Weight::warning,
            fmt::format("server {} is not serving requests; it has no quorum, or is starting",
                        place));
      } else {
        add(Weight::note, fmt::format("server {} does not report its version; add srvr to its "
                                      "4lw.commands.whitelist",
                                      place));
      }
    }
  }

  /// Creates and removes a node where mutexes are, or where the base path would be.
  void check_rights() {
    std::string folder;
    for (const std::string& step : steps_to(settings_.root)) {
      const Code code = console_.exists(step).code;
      if (code == Code::no_node) {
        add(Weight::note,
            fmt::format(
                "the base path {} does not exist yet; it is created on first use, or by simba init",
                settings_.root));
        break;
      }
      folder = step;
    }
    const std::string shown = folder.empty() ? "/" : folder;
    if (const Code code = console_.children({shown}).front().code; code != Code::ok) {
      add(error_of(code, "list the nodes of", shown));
    }
    // Gone with the session where it cannot be removed.
    const std::string path =
        fmt::format("{}/{}{:016x}{:016x}-", folder, probe_prefix, random_.next(), random_.next());
    const NodeAnswer made = console_.create(path, NodeKind::ephemeral_sequential);
    if (made.code != Code::ok) {
      add(error_of(made.code, "create a node in", shown));
      return;
    }
    report_.server_time = made.stat.created_at;
    if (const Code code = console_.remove(made.text).code; code != Code::ok) {
      add(error_of(code, "remove a node from", shown));
    }
  }

  ClientConsole& console_;
  const Settings& settings_;
  Random& random_;
  StoreReport report_{};
};

}  // namespace

StoreReport examine_servers(ClientConsole& console, const Settings& settings, Random& random) {
  return Examination{console, settings, random}.run();
}

}  // namespace simba::zookeeper
