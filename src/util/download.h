#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace batchplus {

/// A file on the web and how to know it.
struct RemoteFile {
  std::string url;
  /// MD5 in hexadecimal, as the publisher gives it.
  std::string md5;
};

struct DownloadOptions {
  /// How often to try when the connection fails, is cut or stalls, or the server is overloaded. An attempt
  /// that got further than all before it begins the count anew.
  int attempts = 5;
  /// Wait so long before the second attempt, and twice as long before each further one.
  double first_wait_seconds = 1;
  double connect_seconds = 20;
  /// A connection that brings nothing for so long (in whole seconds, and some more for libcurl's average) is
  /// given up.
  double stall_seconds = 60;
  /// Bytes there and bytes in all (0 when the server does not say).
  std::function<void(int64_t done, int64_t total)> on_progress = {};
  /// Tells of an attempt that failed and what comes next.
  std::function<void(const std::string& message)> on_retry = {};
};

/// Brings `file` to `target`. The bytes gather in `target`.part; a partial file left by an earlier attempt or
/// process is continued where the server can do that, and begun again where it cannot. The file appears at
/// `target` only when its checksum is right. Proxies are taken from the environment (http_proxy, https_proxy,
/// no_proxy). One process at a time for a target: callers hold a lock.
void download(const RemoteFile& file, const std::filesystem::path& target, const DownloadOptions& options);

}  // namespace batchplus
