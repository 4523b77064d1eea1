#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/messages.hpp"
#include "config/store_settings.hpp"
#include "support/ordinary_rights.hpp"
#include "support/temporary_folder.hpp"
#include "unit/config/refusal.hpp"

namespace simba::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ConfigurationFiles : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    const auto path = folder_.path() / name;
    std::ofstream{path, std::ios::binary} << text;
    return path.string();
  }

  static std::string refusal_of_file(const std::string& path) {
    return refusal_of([&] { Configuration::from_file(path, empty_environment()); });
  }

  const support::TemporaryFolder folder_;
};

TEST_F(ConfigurationFiles, AreRead) {
  const auto path = write("simba.yaml", "simba: {redis: {hosts: h}}");
  EXPECT_EQ(Configuration::from_file(path, empty_environment()).description(), "redis://h:6379");
}

TEST_F(ConfigurationFiles, AreNamedInMessages) {
  const auto path = write("simba.yaml", "simba:\n  redis:\n    tll: 1\n");
  EXPECT_THAT(refusal_of_file(path), StartsWith(path + ":3: simba.redis.tll: unknown key"));
}

TEST_F(ConfigurationFiles, AreRefusedWhereTheyCannotBeRead) {
  const auto missing = (folder_.path() / "none.yaml").string();
  EXPECT_EQ(refusal_of_file(missing), missing + ": cannot read the file: no such file");
  EXPECT_THAT(refusal_of_file(folder_.path().string()),
              HasSubstr("cannot read the file: it is a directory"));
  EXPECT_THAT(refusal_of_file(write("f", "x") + "/simba.yaml"),
              HasSubstr("cannot read the file: "));
  EXPECT_THAT(refusal_of_file(write("bytes", std::string(100, '\0'))),
              HasSubstr("not a text file"));
  EXPECT_THAT(refusal_of_file(write("huge", std::string(1024 * 1024 + 1, ' '))),
              HasSubstr("the file is larger than 1024 KiB"));
  const auto locked = write("locked", "simba:");
  std::filesystem::permissions(locked, std::filesystem::perms::none);
  EXPECT_THAT(support::with_ordinary_rights([&] { return refusal_of_file(locked); }),
              HasSubstr("permission denied"));
}

TEST_F(ConfigurationFiles, HoldPasswords) {
  const auto path = write("password", "hunter2\n");
  // Without a password the user alone would be refused.
  EXPECT_EQ(refusal_of_url("zookeeper://u@localhost?password-file=" + path), "");
  EXPECT_THAT(refusal_of_url("zookeeper://u@h?password-file=" + path + "x"),
              HasSubstr("parameter \"password-file\": cannot read the file: no such file"));
  EXPECT_THAT(refusal_of_url("zookeeper://u@h?password-file=" + write("empty", "\n")),
              HasSubstr("must be set together"));
  EXPECT_THAT(refusal_of_url("redis://u@h?password-file=" + write("nul", std::string(3, '\0'))),
              HasSubstr("NUL"));
}

TEST_F(ConfigurationFiles, ThatOthersCanReadAreWarnedOfWhereTheyHoldPasswords) {
  const auto path = write("password", "hunter2\n");
  const auto warning = [&](unsigned mode) {
    std::filesystem::permissions(path, std::filesystem::perms{mode});
    const auto values =
        Configuration::from_url("redis://u@localhost?password-file=" + path).values();
    for (const SetValue& value : values) {
      if (value.key == "password") return value.warning;
    }
    return std::string{"no password"};
  };
  EXPECT_EQ(warning(0644),
            "every user of this host can read the file (mode 0644); run chmod o-rwx on it");
  EXPECT_EQ(warning(0640), "");
  EXPECT_EQ(warning(0600), "");
}

TEST_F(ConfigurationFiles, MustNotGiveAPasswordTwice) {
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n    password: hunter2\n    password-env: PW\n"),
              AllOf(StartsWith("simba.yaml:4: simba.redis.password-env: password and password-env "
                               "are both set"),
                    Not(HasSubstr("hunter2"))));
}

/// The options of a store that has a password and nothing else.
class PasswordOptions final : public StoreOptions {
 public:
  PasswordOptions() { keys_.secret({.name = "password"}, password); }

  std::string description() const override { return {}; }
  ContentionPlan plan() const override { return ContentionPlan{{}}; }
  std::shared_ptr<engine::LeaseStore> make_store() const override { return {}; }
  std::unique_ptr<MutexServiceFactory> make_factory(
      std::shared_ptr<const Runtime> /*runtime*/) const override {
    return {};
  }
  std::unique_ptr<engine::StoreAdmin> make_admin(
      std::shared_ptr<const Runtime> /*runtime*/) const override {
    return {};
  }

  Secret password;
};

TEST_F(ConfigurationFiles, GiveAPasswordWithoutTheEndOfItsLastLine) {
  const StoreType type{.name = "test", .make = []() -> std::unique_ptr<StoreOptions> {
                         return std::make_unique<PasswordOptions>();
                       }};
  StoreSettings settings{type, "test"};
  const auto path = write("password", "two\nlines\r\n");
  settings.add({{.key = "password-file", .value = path, .origin = "test"}}, {});
  const auto options = settings.options();
  EXPECT_EQ(dynamic_cast<const PasswordOptions&>(*options).password.reveal(), "two\nlines");
}

}  // namespace
}  // namespace simba::config
