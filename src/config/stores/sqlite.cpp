#include "config/keys/common_keys.hpp"
#include "config/messages.hpp"
#include "config/stores/stores.hpp"
#include "simba/sqlite/sqlite_admin.hpp"
#include "simba/sqlite/sqlite_factory.hpp"

namespace simba::config {
namespace {

class SqliteStoreOptions final
    : public OptionsOf<sqlite::SqliteOptions, sqlite::make_sqlite_store,
                       sqlite::make_sqlite_factory, sqlite::make_sqlite_admin> {
 public:
  SqliteStoreOptions() {
    keys_.path({.name = "path",
                .meaning = "the database file; created if it is missing, but not its directory",
                .fallback = "none; required"},
               options_.path);
    keys_.choice<sqlite::ChildProcesses>(
        {.name = "child-processes",
         .meaning = "whether child processes of an owner keep its mutexes locked when it dies: "
                    "`keep-lock` until they have died too, or the lease is over"},
        options_.child_processes,
        {{"ignore", sqlite::ChildProcesses::ignore},
         {"keep-lock", sqlite::ChildProcesses::keep_lock}});
    keys_.choice<sqlite::FileMode>(
        {.name = "mode",
         .meaning = "who may use a database that is created, and is trusted with one that exists: "
                    "`0660` for sharing it within the group of its directory"},
        options_.mode, {{"0600", sqlite::FileMode::owner}, {"0660", sqlite::FileMode::group}});
    keys_.choice<sqlite::FileSystem>(
        {.name = "file-system",
         .meaning = "`any`: also on network file systems and FUSE, whose locks may not reach every "
                    "process"},
        options_.file_system,
        {{"local", sqlite::FileSystem::local}, {"any", sqlite::FileSystem::any}});
    bind_sql(keys_, options_.sql);
  }

  std::string description() const override { return "sqlite:" + options_.path.string(); }

 private:
  sqlite::SqliteOptions complete() const override {
    if (options_.path.empty()) {
      refuse(
          "missing path; set it in the URL, for example sqlite:/var/lib/app/simba.db, or by the "
          "key "
          "path");
    }
    return options_;
  }
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
