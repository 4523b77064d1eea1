#include <utility>

#include "config/keys/common_keys.hpp"
#include "config/stores/stores.hpp"
#include "simba/core/error.hpp"
#include "simba/sqlite/sqlite_admin.hpp"
#include "simba/sqlite/sqlite_factory.hpp"

namespace simba::config {
namespace {

class SqliteStoreOptions final : public StoreOptions {
 public:
  SqliteStoreOptions() {
    keys_.path({.name = "path",
                .meaning = "the database file; created if it is missing, but not its directory",
                .fallback = "none; required"},
               options_.path);
    keys_.choice<sqlite::ChildProcesses>(
        {.name = "child-processes",
         .meaning = "whether child processes of an owner keep its mutexes locked when it dies: "
                    "`keep-lock` until they have died too"},
        options_.child_processes,
        {{"ignore", sqlite::ChildProcesses::ignore},
         {"keep-lock", sqlite::ChildProcesses::keep_lock}});
    bind_sql(keys_, options_.sql);
  }

  std::string description() const override { return "sqlite:" + options_.path.string(); }
  engine::ContentionPlan plan() const override {
    return engine::ContentionPlan{options_.sql.contention};
  }
  std::shared_ptr<engine::LeaseStore> make_store() const override {
    if (options_.path.empty()) {
      throw Error{ErrorKind::configuration,
                  "missing path; set it in the URL, for example sqlite:/var/lib/app/simba.db, or "
                  "by the key path"};
    }
    return sqlite::make_sqlite_store(options_, idle_runtime());
  }

  std::unique_ptr<MutexServiceFactory> make_factory(
      std::shared_ptr<const Runtime> runtime) const override {
    auto options = options_;
    options.sql.runtime = std::move(runtime);
    return sqlite::make_sqlite_factory(std::move(options));
  }

  std::unique_ptr<engine::StoreAdmin> make_admin(
      std::shared_ptr<const Runtime> runtime) const override {
    return sqlite::make_sqlite_admin(options_, std::move(runtime));
  }

 private:
  sqlite::SqliteOptions options_;
};

}  // namespace

std::unique_ptr<StoreOptions> make_sqlite_options() {
  return std::make_unique<SqliteStoreOptions>();
}

std::vector<Parameter> read_sqlite_url(const Url& url) {
  if (url.path.empty()) return {};
  return {{"path", url.path}};
}

}  // namespace simba::config
