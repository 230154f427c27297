#include "watch/access.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "util/error.h"
#include "util/hash.h"
#include "util/process.h"
#include "util/text.h"

namespace batchplus {
namespace {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  return text;
}

/// "[::1]:80" -> "::1", "localhost:80" -> "localhost".
std::string name_in(const std::string& host_header) {
  if (host_header.starts_with('[')) return host_header.substr(1, host_header.find(']') - 1);
  return host_header.substr(0, host_header.find(':'));
}

bool is_address(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return ::inet_pton(AF_INET, name.c_str(), ignored.data()) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), ignored.data()) == 1;
}

std::string make_token() {
  std::array<unsigned char, 24> bytes{};
  BATCHPLUS_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1, "the system has entropy");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

WatchReply refusal(int status, const std::string& why) {
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = std::make_shared<const std::string>(why + "\n")};
}

}  // namespace

bool is_loopback(const std::string& host) {
  if (lower_case(host) == "localhost" || host == "::1") return true;
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

bool are_equal_secrets(const std::string& a, const std::string& b) {
  const std::string first = sha256_hex(a);
  const std::string second = sha256_hex(b);
  return CRYPTO_memcmp(first.data(), second.data(), first.size()) == 0;
}

std::string path_of(const std::string& target) {
  return target.substr(0, target.find('?'));
}

std::optional<std::string> query_value(const std::string& target, const std::string& name) {
  const size_t query = target.find('?');
  if (query == std::string::npos) return std::nullopt;
  for (const std::string& part : split(target.substr(query + 1), '&')) {
    if (part.starts_with(name + "=")) return part.substr(name.size() + 1);
  }
  return std::nullopt;
}

Access::Access(const std::string& host, int port)
    : host_(host), port_(port), is_loopback_(batchplus::is_loopback(host)) {
  cookie_ = fmt::format("batchplus_watch_{}", port);
  if (!is_loopback_) token_ = make_token();
}

std::string Access::address() const {
  const bool is_any = host_ == "0.0.0.0" || host_ == "::";
  std::string name = is_any ? host_name() : host_;
  if (name.find(':') != std::string::npos) name = fmt::format("[{}]", name);
  const std::string root = fmt::format("http://{}:{}/", name, port_);
  return token_.empty() ? root : fmt::format("{}?token={}", root, token_);
}

// A page elsewhere can have its own name lead to this address, and then reads what comes back as its own.
// It cannot choose the name that its browser sends.
bool Access::is_own_name(const std::string& host_header) const {
  const std::string name = lower_case(name_in(host_header));
  if (batchplus::is_loopback(name)) return true;
  if (is_loopback_) return false;
  const std::string machine = lower_case(host_name());
  return is_address(name) || name == lower_case(host_) || name == machine || name.starts_with(machine + ".");
}

bool Access::knows_token(const WatchRequest& request) const {
  bool is_known = false;
  const std::string bearer = "Bearer ";
  const std::string authorization = request.header("authorization");
  if (authorization.starts_with(bearer))
    is_known |= are_equal_secrets(authorization.substr(bearer.size()), token_);
  for (const std::string& part : split(request.header("cookie"), ';')) {
    const std::string pair = part.substr(std::min(part.size(), part.find_first_not_of(' ')));
    if (pair.starts_with(cookie_ + "="))
      is_known |= are_equal_secrets(pair.substr(cookie_.size() + 1), token_);
  }
  return is_known;
}

std::optional<WatchReply> Access::refuse(const WatchRequest& request) const {
  const std::string host = request.header("host");
  if (host.empty() || host.find('\n') != std::string::npos) return refusal(400, "one Host header is needed");
  if (!is_own_name(host)) return refusal(421, "this server does not go by that name");
  if (request.method != "GET" && request.method != "HEAD") {
    WatchReply reply = refusal(405, "read only: GET or HEAD");
    reply.headers = {{"Allow", "GET, HEAD"}};
    return reply;
  }
  if (token_.empty()) return std::nullopt;
  const auto given = query_value(request.target, "token");
  if (path_of(request.target) == "/" && given && are_equal_secrets(*given, token_)) {
    // The token does not stay in the address, where others could read it.
    WatchReply reply = refusal(303, "go on");
    reply.headers = {
        {"Location", "/"},
        {"Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/", cookie_, token_)}};
    return reply;
  }
  if (knows_token(request)) return std::nullopt;
  return refusal(401, "open the address with the token that 'batchplus watch' printed");
}

const std::vector<std::pair<std::string, std::string>>& Access::headers() {
  static const std::vector<std::pair<std::string, std::string>> kHeaders = {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri "
       "'none'; form-action 'none'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cache-Control", "no-store"}};
  return kHeaders;
}

}  // namespace batchplus
