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
                .meaning = "the file of the database; made where it is missing, its folder is not",
                .fallback = "none; it must be given"},
               options_.path);
    keys_.choice<sqlite::Children>(
        {.name = "children",
         .meaning = "whether programs that a process starts count as alive in its place: `count` "
                    "keeps what it held until they are gone too"},
        options_.children,
        {{"do-not-count", sqlite::Children::do_not_count}, {"count", sqlite::Children::count}});
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
