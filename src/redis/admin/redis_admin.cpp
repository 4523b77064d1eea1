#include "simba/redis/redis_admin.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/listing_budget.hpp"
#include "core/unreadable_mutexes.hpp"
#include "redis/admin/admin_answers.hpp"
#include "redis/admin/examination.hpp"
#include "redis/admin/server_console.hpp"
#include "redis/protocol/command.hpp"
#include "redis/protocol/keys.hpp"
#include "redis/protocol/script.hpp"
#include "redis/protocol/server_error.hpp"
#include "simba/core/error.hpp"
#include "simba/core/names.hpp"

namespace simba::redis {
namespace {

using engine::LeaseRequest;
using engine::MutexEntry;

/// How many mutexes are asked about at a time.
constexpr std::size_t batch_size = 200;

/// How often an eviction is repeated if the mutex is acquired again meanwhile.
constexpr int most_tries = 20;

/// How long a server may go on listing its keys, and how many mutexes it may name: one that never
/// ends must not take up all memory.
constexpr std::chrono::minutes longest_listing{5};
constexpr std::size_t most_names = 1'000'000;

/// The replies to `look_at`, and of them those that tell the owner.
constexpr std::size_t owner_replies = 2;

enum class Waiting { left_out, included };

constexpr std::size_t replies_to(Waiting waiting) noexcept {
  return waiting == Waiting::included ? owner_replies + 1 : owner_replies;
}

std::string look_at(const std::string& mutex, bool whole_script, Waiting waiting) {
  const ScriptCall call = ScriptCall::retrieve(mutex);
  std::string commands = (whole_script ? call.by_text() : call.by_hash()) +
                         command({"HGET", lock_name(mutex) + ":fence", "token"});
  if (waiting == Waiting::included) {
    commands += command({"ZRANGE", lock_name(mutex) + ":line", "0",
                         std::to_string(engine::StoreAdmin::most_waiting - 1), "WITHSCORES"});
  }
  return commands;
}

bool is_error(const Reply& reply, ServerError::Code code) {
  return reply.is(Reply::Type::error) && parse_server_error(reply.text).code == code;
}

class RedisAdmin final : public engine::StoreAdmin {
 public:
  RedisAdmin(const RedisOptions& options, const std::shared_ptr<const Runtime>& runtime)
      : console_{options, runtime}, runtime_{runtime}, unreadable_{runtime->log} {}

  std::vector<MutexEntry> list() override { return list(Waiting::left_out); }
  std::vector<MutexEntry> list_with_waiting() override { return list(Waiting::included); }

  MutexEntry find(const std::string& mutex) override {
    check(mutex);
    return look(mutex);
  }

  MutexEntry evict(const std::string& mutex) override {
    check(mutex);
    for (int tries = 0; tries < most_tries; ++tries) {
      MutexEntry before = look(mutex);
      if (before.owner_id.empty() || release(before)) return before;
    }
    throw Error{
        ErrorKind::unavailable,
        fmt::format(
            "Redis: mutex \"{}\" is acquired again after each release; retry, or stop its owner",
            mutex)};
  }

  std::string init() override { return "nothing to do: Redis needs no setup"; }

  engine::StoreReport examine() override { return examine_servers(console_); }

 private:
  std::vector<MutexEntry> list(Waiting waiting) {
    std::vector<MutexEntry> entries;
    detail::ListingBudget budget{"Redis"};
    for (const Endpoint& master : console_.masters()) add_all_of(master, waiting, entries, budget);
    std::sort(entries.begin(), entries.end(),
              [](const MutexEntry& a, const MutexEntry& b) { return a.mutex < b.mutex; });
    // A slot that moved meanwhile was seen at both its servers.
    const auto same = [](const MutexEntry& a, const MutexEntry& b) { return a.mutex == b.mutex; };
    entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
    return entries;
  }

  void check(const std::string& mutex) const {
    check_name("mutex name", mutex, NameLimits{}.mutex);
    if (console_.options().topology == Topology::cluster && mutex.starts_with('}')) {
      throw InvalidArgumentError{"on a Redis cluster a mutex name must not begin with '}'"};
    }
  }

  MutexEntry look(const std::string& mutex) {
    const auto replies = console_.ask_about(mutex, look_at(mutex, true, Waiting::left_out),
                                            replies_to(Waiting::left_out));
    return entry_in(std::span{replies}.first<owner_replies>(), mutex);
  }

  /// As the owner would do it; one of the JVM library, which has no token, under any. False: it
  /// still owns the mutex, under another token.
  bool release(const MutexEntry& owned) {
    const LeaseRequest request{.mutex = owned.mutex, .contender_id = owned.owner_id};
    const auto call =
        ScriptCall::release(request, std::max<FencingToken>(owned.fencing_token, 1),
                            console_.options().topology, console_.options().token_retention);
    const auto replies = console_.ask_about(owned.mutex, call.by_text(), 1);
    return record_in(replies.at(0), owned.mutex).owner_id != owned.owner_id;
  }

  std::set<std::string> names_at(const Endpoint& master, detail::ListingBudget& budget) {
    std::set<std::string> names;
    std::string cursor = "0";
    const LocalTime begin = runtime_->clock->now();
    do {
      if (runtime_->clock->now() - begin > longest_listing || names.size() > most_names) {
        throw Error{
            ErrorKind::unsupported,
            fmt::format("{} has too many mutexes to list ({} so far; limits: {} mutexes, "
                        "{} minutes); name one with -m",
                        place_of(master), names.size(), most_names, longest_listing.count())};
      }
      const Reply reply =
          console_.ask(master, {"SCAN", cursor, "MATCH", "simba:{*", "COUNT", "1000"});
      if (reply.is(Reply::Type::error)) throw scan_refused(master, reply.text);
      if (!reply.is(Reply::Type::array) || reply.elements.size() != 2) {
        throw Error{ErrorKind::internal,
                    fmt::format("{} sent an unexpected reply to SCAN; is it a Redis server?",
                                place_of(master))};
      }
      cursor = reply.elements[0].text;
      for (const Reply& key : reply.elements[1].elements) {
        const auto mutex = mutex_of(key.text);
        if (!mutex.empty() && names.emplace(mutex).second) budget.spend(mutex);
      }
    } while (cursor != "0");
    return names;
  }

  static Error scan_refused(const Endpoint& master, const std::string& text) {
    const ServerError error = parse_server_error(text);
    if (error.code != ServerError::Code::no_permission) return to_error(error, place_of(master));
    return Error{ErrorKind::permission,
                 fmt::format("{}: this user is not allowed to list mutexes; run: ACL "
                             "SETUSER <user> +scan, or name a mutex",
                             place_of(master))};
  }

  void add_all_of(const Endpoint& master, Waiting waiting, std::vector<MutexEntry>& entries,
                  detail::ListingBudget& budget) {
    const std::size_t each = replies_to(waiting);
    const std::set<std::string> found = names_at(master, budget);
    const std::vector<std::string> names{found.begin(), found.end()};
    for (std::span<const std::string> rest{names}; !rest.empty();) {
      const auto batch = rest.first(std::min(rest.size(), batch_size));
      std::string commands;
      for (const std::string& name : batch) {
        commands += look_at(name, &name == &names.front(), waiting);
      }
      const auto replies = console_.ask(master, commands, batch.size() * each);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const auto answer = std::span{replies}.subspan(i * each).first<owner_replies>();
        // Of a slot that is moving, and after a SCRIPT FLUSH, once more and alone.
        const bool again = answer[0].is(Reply::Type::error) &&
                           (is_error(answer[0], ServerError::Code::no_script) ||
                            console_.options().topology == Topology::cluster);
        try {
          entries.push_back(again ? look(batch[i]) : entry_in(answer, batch[i]));
          MutexEntry& entry = entries.back();
          budget.spend(entry.owner_id);
          if (waiting == Waiting::included) {
            entry.waiting = waiting_in(replies[i * each + owner_replies]);
            if (!entry.waiting) continue;
            for (const auto& one : *entry.waiting) budget.spend(one.contender_id);
          }
        } catch (const Error& error) {
          if (!detail::UnreadableMutexes::concerns_one(error)) throw;
          unreadable_.leave_out(batch[i], error);
        }
      }
      rest = rest.subspan(batch.size());
    }
  }

  ServerConsole console_;
  const std::shared_ptr<const Runtime> runtime_;
  detail::UnreadableMutexes unreadable_;
};

}  // namespace

std::unique_ptr<engine::StoreAdmin> make_redis_admin(const RedisOptions& options,
                                                     std::shared_ptr<const Runtime> runtime) {
  if (!runtime) throw InvalidArgumentError{"a Redis store needs a runtime"};
  return std::make_unique<RedisAdmin>(options, runtime);
}

}  // namespace simba::redis
