#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <asio.hpp>
#include <asio/ssl.hpp>

#include "support/own_certificate.hpp"

namespace simba::mysql::test {

/// Plays a MySQL server to one client, to get hold of its password: greets it, with or without
/// TLS (its certificate is signed by nobody), then asks for the password by another way to
/// authenticate, with an RSA key of its own where the client encrypts it. Without such a way it
/// lets the client in, asked or not, and answers the first statement without end.
class RogueServer {
 public:
  enum class Tls {
    none,
    own_certificate,
    dripping,  ///< offers it, and begins a handshake byte by byte, for ten seconds
  };
  enum class Endless { log_in, results, columns, rows, row };

  /// `plugin` is what it asks for, `preferred` what it greets with.
  RogueServer(Tls tls, std::string plugin, std::string preferred = "mysql_native_password",
              Endless endless = Endless::results)
      : tls_{tls}, endless_{endless}, plugin_{std::move(plugin)}, preferred_{std::move(preferred)} {
    thread_ = std::thread{[this] {
      asio::error_code ended;
      asio::ip::tcp::socket client = acceptor_.accept(ended);
      if (ended) return;
      try {
        play(client);
      } catch (const std::exception&) {  // the client has hung up
      }
    }};
  }

  RogueServer(Tls tls, Endless endless) : RogueServer{tls, "", "mysql_native_password", endless} {}

  ~RogueServer() { wait(); }
  RogueServer(const RogueServer&) = delete;
  RogueServer& operator=(const RogueServer&) = delete;

  std::uint16_t port() const { return port_; }

  /// Returns when the handshake is under way.
  void wait_until_it_drips() const { drips_.wait(false); }

  /// What the client sent in all, without the encryption. It must have hung up.
  const std::string& heard() {
    wait();
    return heard_;
  }
  /// The password, or nothing.
  const std::string& stolen() {
    wait();
    return stolen_;
  }

 private:
  static constexpr std::string_view nonce = "abcdefghijklmnopqrst";
  void wait() {
    if (!thread_.joinable()) return;
    asio::error_code ignored;  // for the case that no client came
    asio::ip::tcp::socket nobody{context_};
    nobody.connect({asio::ip::address_v4::loopback(), port_}, ignored);
    nobody.close(ignored);
    thread_.join();
  }

  void play(asio::ip::tcp::socket& socket) {
    say(socket, 0, greeting());
    if (tls_ == Tls::none) {
      serve(socket);
      return;
    }
    hear(socket);  // the wish to encrypt
    if (tls_ == Tls::dripping) {
      drip(socket);
      return;
    }
    asio::ssl::context context{asio::ssl::context::tls_server};
    support::use_own_certificate(context.native_handle(), key_.get());
    asio::ssl::stream<asio::ip::tcp::socket&> stream{socket, context};
    stream.handshake(asio::ssl::stream_base::server);
    serve(stream);
  }

  template <typename Stream>
  void serve(Stream& stream) {
    if (plugin_.empty()) {
      flood(stream);
    } else {
      rob(stream);
    }
  }

  template <typename Stream>
  void rob(Stream& stream) {
    hear(stream);  // the log-in
    say(stream, next(), '\xFE' + plugin_ + '\0' + std::string{nonce} + '\0');
    std::string reply = hear(stream);
    if (plugin_ == "caching_sha2_password" && reply.size() == 32) {
      say(stream, next(), "\x01\x04");  // I do not know you: the password itself, please
      reply = hear(stream);
    }
    if (reply == "\x01" || reply == "\x02") {  // what key to encrypt it with?
      say(stream, next(), '\x01' + public_key());
      stolen_ = decrypted(hear(stream));
    } else if (reply.ends_with('\0')) {
      stolen_ = reply.substr(0, reply.size() - 1);
    }
    say(stream, next(), "\xFF\x15\x04#28000denied");
  }

  void drip(asio::ip::tcp::socket& socket) {
    using namespace std::string_literals;
    asio::write(socket, asio::buffer("\x16\x03\x03\x3F\xFF"s));  // a record of 16 KB
    for (int i = 0; i < 500; ++i) {
      asio::write(socket, asio::buffer("\x02"s));
      drips_ = true;
      drips_.notify_all();
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
  }

  /// Never ends by itself.
  template <typename Stream>
  void flood(Stream& socket) {
    using namespace std::string_literals;
    const std::string column = "\0\0\0\0\1c\0\x0C\x2D\0\xFF\xFF\0\0\xFD\0\0\0\0\0"s;
    hear(socket);  // the log-in
    if (endless_ == Endless::log_in) {
      repeat(socket, '\xFE' + "mysql_native_password\0"s + std::string(20, 'n') + '\0');
    }
    say(socket, next(), "\0\0\0\2\0\0\0"s);  // welcome
    hear(socket);
    if (endless_ == Endless::results) {
      repeat(socket, "\0\0\0\x0A\0\0\0"s);  // done, and more to come
    }
    if (endless_ == Endless::columns) {
      say_next(socket, "\xFD\xFF\xFF\xFF"s);  // how many
      repeat(socket, column);
    }
    say_next(socket, "\1"s);
    say_next(socket, column);
    say_next(socket, "\xFE\0\0\2\0"s);  // no more columns
    if (endless_ == Endless::rows) repeat(socket, "\xFC\xE8\3"s + std::string(1'000, 'x'));
    const std::string part(0xFFFF, 'x');
    for (;;) {  // parts of a row, of the greatest size, each of which announces another
      asio::write(socket, asio::buffer("\xFF\xFF\xFF"s + static_cast<char>(next())));
      ++last_;
      for (int i = 0; i < 257; ++i) asio::write(socket, asio::buffer(part));
    }
  }

  template <typename Stream>
  void say_next(Stream& socket, std::string_view payload) {
    say(socket, next(), payload);
    ++last_;
  }

  /// The same packet for ever, many at a time: as fast as it goes.
  template <typename Stream>
  [[noreturn]] void repeat(Stream& socket, std::string_view payload) {
    std::string packets;
    for (int i = 0; i < 256; ++i) {  // then their numbers begin anew
      packets += packet(next(), payload);
      ++last_;
    }
    for (;;) asio::write(socket, asio::buffer(packets));
  }

  std::string greeting() const {
    using namespace std::string_literals;
    // long flags, a database, 4.1, transactions, its log-in; with plugins
    const unsigned capabilities = 0x0008A20DU | (tls_ == Tls::none ? 0U : 0x0800U);
    std::string text = "\x0A"s + "5.7.99-rogue" + '\0' + "\x07\0\0\0"s;
    text += std::string{nonce.substr(0, 8)} + '\0';
    text += static_cast<char>(capabilities & 0xFFU);
    text += static_cast<char>(capabilities >> 8U & 0xFFU);
    text += "\x2D\x02\0"s;
    text += static_cast<char>(capabilities >> 16U & 0xFFU);
    text += "\0\x15"s + std::string(10, '\0') + std::string{nonce.substr(8)} + '\0';
    return text + preferred_ + '\0';
  }

  static std::string packet(std::uint8_t number, std::string_view payload) {
    std::string text{static_cast<char>(payload.size() & 0xFFU),
                     static_cast<char>(payload.size() >> 8U), '\0', static_cast<char>(number)};
    return text += payload;
  }

  template <typename Stream>
  static void say(Stream& stream, std::uint8_t number, std::string_view payload) {
    asio::write(stream, asio::buffer(packet(number, payload)));
  }

  template <typename Stream>
  std::string hear(Stream& stream) {
    std::array<unsigned char, 4> head{};
    asio::read(stream, asio::buffer(head));
    std::string payload(head[0] + head[1] * 256U, '\0');
    asio::read(stream, asio::buffer(payload));
    heard_ += payload;
    last_ = head[3];
    return payload;
  }

  std::uint8_t next() const { return static_cast<std::uint8_t>(last_ + 1); }

  std::string public_key() const {
    const std::unique_ptr<BIO, support::OpenSslDeleter<BIO_free>> text{::BIO_new(::BIO_s_mem())};
    ::PEM_write_bio_PUBKEY(text.get(), key_.get());
    const char* data = nullptr;
    const long size = ::BIO_get_mem_data(text.get(), &data);
    return {data, static_cast<std::size_t>(size)};
  }

  std::string decrypted(const std::string& secret) const {
    const std::unique_ptr<EVP_PKEY_CTX, support::OpenSslDeleter<EVP_PKEY_CTX_free>> context{
        ::EVP_PKEY_CTX_new(key_.get(), nullptr)};
    ::EVP_PKEY_decrypt_init(context.get());
    ::EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_OAEP_PADDING);
    std::vector<unsigned char> text(1'024);
    std::size_t size = text.size();
    if (::EVP_PKEY_decrypt(context.get(), text.data(), &size,
                           reinterpret_cast<const unsigned char*>(secret.data()),
                           secret.size()) <= 0) {
      return {};
    }
    std::string password;
    for (std::size_t i = 0; i + 1 < size; ++i) {
      password += static_cast<char>(text[i] ^ static_cast<unsigned char>(nonce[i % nonce.size()]));
    }
    return password;
  }

  const Tls tls_;
  const Endless endless_;
  const std::string plugin_;
  const std::string preferred_;
  const support::OwnKey key_ = support::new_own_key();
  asio::io_context context_;
  asio::ip::tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
  const std::uint16_t port_ = acceptor_.local_endpoint().port();

  std::atomic<bool> drips_{false};

  // of the thread, until it is joined
  std::string heard_;
  std::string stolen_;
  std::uint8_t last_ = 0;

  std::thread thread_;
};

}  // namespace simba::mysql::test
