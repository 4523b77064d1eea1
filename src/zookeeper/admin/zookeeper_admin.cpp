#include "simba/zookeeper/zookeeper_admin.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/listing_budget.hpp"
#include "core/unreadable_mutexes.hpp"
#include "simba/core/error.hpp"
#include "simba/core/names.hpp"
#include "zookeeper/admin/client_console.hpp"
#include "zookeeper/admin/examination.hpp"
#include "zookeeper/client/c_connector.hpp"
#include "zookeeper/errors.hpp"
#include "zookeeper/queue/node_names.hpp"
#include "zookeeper/settings.hpp"

namespace simba::zookeeper {
namespace {

using engine::MutexEntry;

/// How many mutexes are asked about at a time.
constexpr std::size_t batch_size = 500;

/// How often to look again for an owner that disappears before it can be read.
constexpr int most_tries = 20;

/// The owner's node of a mutex, with what it says.
struct Found {
  MutexEntry entry{};
  std::string node{};  ///< its path; empty: nobody owns the mutex
};

MutexEntry free_mutex(const std::string& mutex) {
  return {.mutex = mutex, .left = std::chrono::milliseconds::zero()};
}

MutexEntry owned_mutex(const std::string& mutex, const std::string& node,
                       const NodeAnswer& answer) {
  return {.mutex = mutex,
          .owner_id = answer.text.empty() ? node : answer.text,
          .acquired_at = answer.stat.created_at,
          .fencing_token = static_cast<FencingToken>(answer.stat.created_zxid)};
}

/// Those whose nodes are still there.
std::vector<engine::WaitingContender> waiting_among(std::span<const NodeAnswer> nodes) {
  std::vector<engine::WaitingContender> waiting;
  for (const NodeAnswer& node : nodes) {
    if (node.code != Code::ok) continue;
    waiting.push_back({.contender_id = node.text, .since = node.stat.created_at});
  }
  return waiting;
}

class ZooKeeperAdmin final : public engine::StoreAdmin {
 public:
  ZooKeeperAdmin(Settings settings, const std::shared_ptr<const Runtime>& runtime)
      : settings_{std::move(settings)},
        random_{runtime->random},
        console_{make_c_connector(settings_, runtime), settings_.hosts,
                 settings_.connection_timeout},
        unreadable_{runtime->log} {}

  std::vector<MutexEntry> list() override { return list(Waiting::left_out); }
  std::vector<MutexEntry> list_with_waiting() override { return list(Waiting::included); }

  MutexEntry find(const std::string& mutex) override {
    check(mutex);
    console_.sync();
    return look(mutex).entry;
  }

  MutexEntry evict(const std::string& mutex) override {
    check(mutex);
    console_.sync();
    for (int tries = 0; tries < most_tries; ++tries) {
      Found found = look(mutex);
      if (found.node.empty()) return found.entry;
      const Code code = console_.remove(found.node).code;
      if (code == Code::ok) return found.entry;
      if (code != Code::no_node) throw error_of(code, "remove the node", found.node);
    }
    throw changes(mutex);
  }

  std::string init() override {
    if (settings_.root.empty()) return "nothing to do: the base path is the root of the tree";
    bool made = false;
    for (const std::string& step : steps_to(settings_.root)) {
      const Code exists = console_.exists(step).code;
      if (exists == Code::ok) continue;
      const Code code = console_.create(step, NodeKind::persistent).code;
      if (code != Code::ok && code != Code::node_exists) {
        throw error_of(code, "create the node", step);
      }
      made = made || code == Code::ok;
    }
    return made ? fmt::format("created node {}", settings_.root)
                : fmt::format("node {} already exists", settings_.root);
  }

  engine::StoreReport examine() override { return examine_servers(console_, settings_, *random_); }

 private:
  enum class Waiting { left_out, included };

  std::vector<MutexEntry> list(Waiting waiting) {
    console_.sync();
    const std::string base = settings_.root.empty() ? "/" : settings_.root;
    const NodeAnswer all = console_.children({base}).front();
    if (all.code == Code::no_node) return {};
    if (all.code != Code::ok) throw error_of(all.code, "list the mutexes of", base);
    std::vector<std::string> mutexes = all.names;
    std::erase_if(mutexes, [&](const std::string& name) {
      return name.starts_with(probe_prefix) || name == records_name ||
             (settings_.root.empty() && name == "zookeeper");
    });
    std::sort(mutexes.begin(), mutexes.end());
    detail::ListingBudget budget{"ZooKeeper"};
    for (const std::string& name : mutexes) budget.spend(name);
    std::vector<MutexEntry> entries;
    entries.reserve(mutexes.size());
    for (std::size_t at = 0; at < mutexes.size(); at += batch_size) {
      const auto begin = mutexes.begin() + static_cast<std::ptrdiff_t>(at);
      const auto size = std::min(batch_size, mutexes.size() - at);
      const std::size_t before = entries.size();
      add(std::vector<std::string>{begin, begin + static_cast<std::ptrdiff_t>(size)}, waiting,
          entries);
      for (std::size_t i = before; i < entries.size(); ++i) {
        budget.spend(entries[i].owner_id);
        const auto& line = entries[i].waiting;
        if (!line) continue;
        for (const auto& one : *line) budget.spend(one.contender_id);
      }
    }
    return entries;
  }

  void check(const std::string& mutex) const {
    check_name("mutex name", mutex, NameLimits{}.mutex);
    check_node_name("mutex name", mutex);
  }

  std::string path_of(const std::string& mutex) const { return settings_.root + "/" + mutex; }

  static Error changes(const std::string& mutex) {
    return Error{
        ErrorKind::unavailable,
        fmt::format("ZooKeeper: the owner of mutex \"{}\" changed during each read; try again",
                    mutex)};
  }

  Found look(const std::string& mutex) {
    const std::string path = path_of(mutex);
    for (int tries = 0; tries < most_tries; ++tries) {
      const NodeAnswer line = console_.children({path}).front();
      if (line.code != Code::ok && line.code != Code::no_node) {
        throw error_of(line.code, "list the contenders of", path);
      }
      const auto contenders = contenders_among(line.names);
      if (contenders.empty()) return {.entry = free_mutex(mutex)};
      const std::string node = path + "/" + contenders.front();
      const NodeAnswer owner = console_.get({node}).front();
      if (owner.code == Code::ok) return {.entry = owned_mutex(mutex, node, owner), .node = node};
      if (owner.code != Code::no_node) throw error_of(owner.code, "read the node", node);
    }
    throw changes(mutex);
  }

  void add(const std::vector<std::string>& mutexes, Waiting waiting,
           std::vector<MutexEntry>& entries) {
    std::vector<std::string> paths;
    paths.reserve(mutexes.size());
    for (const std::string& mutex : mutexes) paths.push_back(path_of(mutex));
    const auto lines = console_.children(paths);
    // Of the contenders that are looked at, in the order of the mutexes: the owner, then who waits.
    const std::size_t most = waiting == Waiting::included ? 1 + most_waiting : 1;
    std::vector<std::string> nodes;
    for (std::size_t i = 0; i < mutexes.size(); ++i) {
      const auto contenders = contenders_among(lines[i].names);
      for (std::size_t k = 0; k < std::min(most, contenders.size()); ++k) {
        nodes.push_back(paths[i] + "/" + contenders[k]);
      }
    }
    const auto found = console_.get(nodes);
    std::size_t next = 0;
    for (std::size_t i = 0; i < mutexes.size(); ++i) {
      const Code code = lines[i].code;
      if (code == Code::no_node) continue;  // gone meanwhile
      // In the root of the tree there are nodes of others, too, which may be closed to us.
      if (code == Code::no_auth && settings_.root.empty()) continue;
      if (code != Code::ok) {
        leave_out(mutexes[i], error_of(code, "list the contenders of", paths[i]));
        continue;
      }
      const std::size_t looked_at = std::min(most, contenders_among(lines[i].names).size());
      if (looked_at == 0) {
        if (!settings_.root.empty()) entries.push_back(free_mutex(mutexes[i]));
        continue;
      }
      const std::string& node = nodes[next];
      const NodeAnswer& owner = found[next];
      const auto others = std::span{found}.subspan(next + 1, looked_at - 1);
      next += looked_at;
      try {
        entries.push_back(owner.code == Code::ok ? owned_mutex(mutexes[i], node, owner)
                                                 : look(mutexes[i]).entry);
        if (waiting == Waiting::included) entries.back().waiting = waiting_among(others);
      } catch (const Error& error) {
        leave_out(mutexes[i], error);
      }
    }
  }

  /// A permission is one of a node here: each has its own ACL, and we may read the base path.
  void leave_out(const std::string& mutex, const Error& error) {
    const bool concerns_one =
        error.kind() == ErrorKind::permission || detail::UnreadableMutexes::concerns_one(error);
    if (!concerns_one) throw Error{error};
    unreadable_.leave_out(mutex, error);
  }

  // constant after construction
  const Settings settings_;
  const std::shared_ptr<Random> random_;

  ClientConsole console_;
  detail::UnreadableMutexes unreadable_;
};

}  // namespace

std::unique_ptr<engine::StoreAdmin> make_zookeeper_admin(const ZooKeeperOptions& options,
                                                         std::shared_ptr<const Runtime> runtime) {
  if (!runtime) throw InvalidArgumentError{"a ZooKeeper store needs a runtime"};
  return std::make_unique<ZooKeeperAdmin>(checked_settings(options), runtime);
}

}  // namespace simba::zookeeper
