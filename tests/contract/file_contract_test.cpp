#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "file_store.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/testkit/store_contract.hpp"

namespace {

/// A new folder that vanishes with this object.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_{(std::filesystem::temp_directory_path() / "simba-file-store-XXXXXX").string()} {
    if (mkdtemp(path_.data()) == nullptr) {
      throw std::system_error{errno, std::generic_category(), path_};
    }
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

int main(int argc, char** argv) {
  using file_store::FileStore;
  using simba::engine::ContentionOptions;
  using simba::testkit::Capability;

  std::optional<TemporaryFolder> folder;
  simba::testkit::StoreUnderTest store;
  store.name = "File";
  store.capabilities = {Capability::separate_processes, Capability::cut_off,
                        Capability::prompt_hand_over, Capability::slashes_in_names,
                        Capability::exact_names};
  store.name_limits = {.mutex = 63};
  store.set_up = [&] { return folder.emplace().path(); };
  store.make_factory = [](const std::string& location, const ContentionOptions& options) {
    const auto runtime = simba::make_runtime();
    return std::make_unique<simba::engine::LeaseServiceFactory>(
        std::make_shared<FileStore>(location, runtime), runtime, options);
  };
  store.make_cuttable_factory = [](const std::string& location, const ContentionOptions& options) {
    const auto runtime = simba::make_runtime();
    return simba::testkit::make_cuttable_factory(std::make_shared<FileStore>(location, runtime),
                                                 runtime, options);
  };
  return simba::testkit::run_contract(argc, argv, store);
}
