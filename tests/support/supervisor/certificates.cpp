#include "support/supervisor/certificates.hpp"

#include <fstream>
#include <vector>

#include "support/supervisor/process.hpp"

namespace simba::support {

namespace fs = std::filesystem;

void make_certificates(const fs::path& folder, const std::string& host, Caller& caller) {
  fs::create_directory(folder);
  std::ofstream{folder / "names"} << "subjectAltName=" << host << '\n';
  hand_over(folder);
  const auto openssl = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "openssl");
    run({std::move(words), folder, folder / "log"}, caller);
  };
  const auto request = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> words{
        "req",    "-newkey", "ec",          "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-keyout", name + ".key", "-subj"};
    words.insert(words.end(), more.begin(), more.end());
    openssl(std::move(words));
  };
  for (const std::string name : {"ca", "stranger"}) {
    request(name, {"/CN=Simba test " + name, "-x509", "-days", "30", "-out", name + ".crt"});
  }
  for (const std::string name : {"server", "client"}) {
    request(name, {name == "client" ? "/CN=simba" : "/CN=server", "-out", name + ".csr"});
    openssl({"x509", "-req", "-in", name + ".csr", "-CA", "ca.crt", "-CAkey", "ca.key",
             "-CAcreateserial", "-days", "30", "-out", name + ".crt", "-extfile", "names"});
  }
}

}  // namespace simba::support
