// Makes the factory of one store; the servers need not be there for that.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include <simba/locker/simba_locker.hpp>

#ifdef STORE_IS_sqlite
#include <simba/sqlite/sqlite_factory.hpp>

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "simba-package-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  {
    const auto factory = simba::sqlite::make_sqlite_factory({.path = folder + "/simba.db"});
    simba::SimbaLocker locker{"package-test", *factory};
    if (!locker.try_acquire()) return 1;
    std::cout << "held with fencing token " << locker.fencing_token() << '\n';
  }
  std::filesystem::remove_all(folder);
  return 0;
}
#elif defined(STORE_IS_postgresql)
#include <simba/postgresql/postgresql_factory.hpp>

int main() { return simba::postgresql::make_postgresql_factory({.user = "nobody"}) ? 0 : 1; }
#elif defined(STORE_IS_redis)
#include <simba/redis/redis_factory.hpp>

int main() { return simba::redis::make_redis_factory({}) ? 0 : 1; }
#elif defined(STORE_IS_zookeeper)
#include <simba/zookeeper/zookeeper_factory.hpp>

int main() { return simba::zookeeper::make_zookeeper_factory({}) ? 0 : 1; }
#else
#include <simba/mysql/mysql_factory.hpp>

int main() {
  return simba::mysql::make_mysql_factory({.user = "nobody", .database = "simba"}) ? 0 : 1;
}
#endif
