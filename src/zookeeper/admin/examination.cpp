#include "zookeeper/admin/examination.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/tested_versions.hpp"
#include "zookeeper/admin/four_letter_word.hpp"
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
    check_access();
    return std::move(report_);
  }

 private:
  void add(Weight weight, std::string text, ErrorKind kind = ErrorKind::configuration) {
    report_.findings.push_back({weight, std::move(text), kind});
  }
  void add(const Error& error) { add(Weight::problem, error.what(), error.kind()); }

  void check_session() {
    const Connected session = console_.connect();
    assumed_tick_ = tick_of(settings_, session.timeout);
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

  /// By four-letter commands, which are always sent unencrypted.
  void check_servers() {
    if (uses_tls(settings_.tls.mode)) {
      add(Weight::note,
          fmt::format(
              "the version and tickTime of the servers were not checked, since the commands "
              "for that are sent without TLS only; make sure that tickTime is at most {} ms",
              assumed_tick_.count()));
      return;
    }
    for (const Server& server : servers_in(settings_.hosts)) {
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
        } else if (const auto remark = detail::untested_version("ZooKeeper", version);
                   !remark.empty()) {
          add(Weight::note, fmt::format("server {}: {}", place, remark));
        }
        check_tick(server, place);
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

  /// An owner takes its session for proven half a tick and a bit after a sign of life: see
  /// SessionEvidence.
  void check_tick(const Server& server, const std::string& place) {
    const auto answer = ask_four_letter_word(server, "conf", settings_.connection_timeout);
    const auto tick = tick_in(answer.text);
    if (!tick) {
      add(Weight::note,
          fmt::format("server {} does not report its tickTime; check that it is at most {} ms, or "
                      "add conf to its 4lw.commands.whitelist",
                      place, assumed_tick_.count()));
    } else if (*tick > assumed_tick_) {
      add(Weight::problem,
          fmt::format("tickTime of server {} is {} ms, but Simba assumes {} ms: an owner may "
                      "outlive its session; set tick_time to {} ms",
                      place, tick->count(), assumed_tick_.count(), tick->count()));
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

  /// Whether others may change what credentials are to protect. To delete a node takes a right on
  /// its parent, so the ACL of a contender's own node does not protect it.
  void check_access() {
    if (settings_.digest_user.empty()) return;
    if (settings_.acl == NodeAcl::open) {
      add(Weight::warning,
          "acl is open: whoever can connect can delete the nodes of contenders; unless Curator or "
          "the JVM library share these mutexes without credentials, set acl to creator");
      return;
    }
    if (settings_.root.empty()) return;  // the root of the tree is not ours to close
    if (console_.access({settings_.root}).front().open_to_all) {
      add(Weight::warning,
          fmt::format("the base path {} is open to everyone, since someone created it without "
                      "these credentials: whoever can connect can create the node of a mutex "
                      "first, and so delete its contenders; restrict it with setAcl",
                      settings_.root));
    }
    std::vector<std::string> mutexes;
    const NodeAnswer below = console_.children({settings_.root}).front();
    mutexes.reserve(below.names.size());
    for (const std::string& name : below.names) {
      mutexes.push_back(settings_.root + "/" + name);
    }
    std::size_t open = 0;
    std::string example;
    const auto answers = console_.access(mutexes);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i].open_to_all && ++open == 1) example = mutexes[i];
    }
    if (open == 0) return;
    add(Weight::warning,
        fmt::format("{} of {} mutexes are open to everyone, for example {}: whoever can connect "
                    "can delete their contenders; restrict them with setAcl, or delete them while "
                    "nobody contends",
                    open, mutexes.size(), example));
  }

  ClientConsole& console_;
  const Settings& settings_;
  Random& random_;
  std::chrono::milliseconds assumed_tick_{0};
  StoreReport report_{};
};

}  // namespace

StoreReport examine_servers(ClientConsole& console, const Settings& settings, Random& random) {
  return Examination{console, settings, random}.run();
}

}  // namespace simba::zookeeper
