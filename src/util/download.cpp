#include "util/download.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <string_view>
#include <thread>

#include "util/error.h"
#include "util/part_file.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

enum class Ending {
  /// The server has nothing beyond the bytes that are here.
  kComplete,
  /// Another attempt may bring more.
  kInterrupted,
  /// The server answered with another range than the one asked for; nothing of it was kept.
  kOtherRange,
  /// No further attempt would help.
  kRefused,
};

struct Outcome {
  Ending ending;
  std::string reason = "";
  /// The bytes here all came with this one answer, none from an earlier attempt or process.
  bool is_one_piece = false;
};

bool is_hopeless(CURLcode code) {
  return code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT ||
         code == CURLE_TOO_MANY_REDIRECTS || code == CURLE_PEER_FAILED_VERIFICATION ||
         code == CURLE_SSL_CACERT_BADFILE;
}

/// One request for what is still missing. Ranges are asked for and judged here and not with
/// CURLOPT_RESUME_FROM_LARGE, which takes whatever start a Content-Range names.
class Request {
 public:
  Request(const std::string& url, PartFile& part, bool may_continue, const DownloadOptions& options)
      : part_(part), options_(options), asks_range_(may_continue && part.size() > 0) {
    static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
    BATCHPLUS_CHECK(initialised == CURLE_OK, "libcurl starts");
    handle_.reset(curl_easy_init());
    BATCHPLUS_CHECK(handle_ != nullptr, "libcurl gives a handle");
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, 10L);
    set(CURLOPT_USERAGENT, "batchplus");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, std::lround(options.connect_seconds * 1000));
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, std::max(1L, std::lround(std::ceil(options.stall_seconds))));
    set(CURLOPT_ERRORBUFFER, message_.data());
    set(CURLOPT_WRITEFUNCTION, &Request::receive);
    set(CURLOPT_WRITEDATA, this);
    if (asks_range_) set(CURLOPT_RANGE, fmt::format("{}-", part.size()).c_str());
  }
  Request(const Request&) = delete;

  Outcome perform() {
    const CURLcode code = curl_easy_perform(handle_.get());
    if (problem_) std::rethrow_exception(problem_);
    // CURLE_WRITE_ERROR is our own refusal of a body, so the status tells why.
    if (code != CURLE_OK && code != CURLE_WRITE_ERROR) {
      const std::string reason = message_[0] != '\0' ? message_.data() : curl_easy_strerror(code);
      return {is_hopeless(code) ? Ending::kRefused : Ending::kInterrupted, reason};
    }
    if (!has_answer_) judge_answer();
    return is_accepted_ ? judge_body() : judge_status();
  }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(handle_.get(), option, value);
  }

  /// Exceptions must not cross libcurl, which is C: they wait in problem_ until it has returned.
  static size_t receive(char* bytes, size_t, size_t count, void* request) {
    auto& self = *static_cast<Request*>(request);
    try {
      if (!self.has_answer_) self.judge_answer();
      if (!self.is_accepted_) return CURL_WRITEFUNC_ERROR;
      self.part_.append({bytes, count});
      if (self.options_.on_progress) self.options_.on_progress(self.part_.size(), self.total_);
      return count;
    } catch (...) {
      self.problem_ = std::current_exception();
      return CURL_WRITEFUNC_ERROR;
    }
  }

  /// At the first byte of the final answer's body, so that no error page gets into the file and the older
  /// bytes are given up only for an answer that replaces them.
  void judge_answer() {
    has_answer_ = true;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status_);
    if (status_ == 200) {
      part_.clear();
      is_accepted_ = true;
    } else if (status_ == 206 && asks_range_) {
      curl_header* range = nullptr;
      int64_t start = -1;
      if (curl_easy_header(handle_.get(), "Content-Range", 0, CURLH_HEADER, -1, &range) == CURLHE_OK)
        std::sscanf(range->value, "bytes %" SCNd64 "-%*d/%" SCNd64, &start, &total_);
      is_accepted_ = start == part_.size();
    }
    curl_off_t length = -1;
    curl_easy_getinfo(handle_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (total_ == 0 && length >= 0) total_ = part_.size() + length;
  }

  Outcome judge_body() const {
    if (part_.size() < total_) return {Ending::kInterrupted, "the server sent less than was asked for"};
    return {.ending = Ending::kComplete, .is_one_piece = status_ == 200};
  }

  Outcome judge_status() const {
    const std::string reason = fmt::format("HTTP status {}", status_);
    if (status_ == 416 && asks_range_) return {Ending::kComplete};
    if (status_ == 206 && asks_range_) return {Ending::kOtherRange, "the server sent another range"};
    const bool may_pass = status_ == 408 || status_ == 429 || status_ >= 500;
    return {may_pass ? Ending::kInterrupted : Ending::kRefused, reason};
  }

  struct Cleanup {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  PartFile& part_;
  const DownloadOptions& options_;
  const bool asks_range_;
  std::array<char, CURL_ERROR_SIZE> message_{};
  std::unique_ptr<CURL, Cleanup> handle_;
  std::exception_ptr problem_;
  bool has_answer_ = false;
  bool is_accepted_ = false;
  long status_ = 0;
  int64_t total_ = 0;
};

void tell(const DownloadOptions& options, const std::string& message) {
  if (options.on_retry) options.on_retry(message);
}

[[noreturn]] void throw_network_error(const std::string& url, const std::string& seen,
                                      const std::string& hint) {
  throw Error("cannot download", {url, seen, hint}, Error::kFailure);
}

/// Asks until the server has nothing more; true when the bytes all came with one answer.
bool gather(const std::string& url, PartFile& part, const DownloadOptions& options) {
  bool may_continue = true;
  int failures = 0;
  // Only bytes never had before are progress: a server that cannot continue and cuts at the same place each
  // time would otherwise be asked forever.
  int64_t furthest = part.size();
  for (;;) {
    const Outcome outcome = Request(url, part, may_continue, options).perform();
    if (outcome.ending == Ending::kComplete) return outcome.is_one_piece;
    if (outcome.ending == Ending::kRefused)
      throw_network_error(url, outcome.reason, "check the address, or give the file with {from}");
    if (outcome.ending == Ending::kOtherRange) {
      may_continue = false;
      tell(options, outcome.reason + "; beginning again");
      continue;
    }
    if (part.size() > furthest) failures = 0;
    furthest = std::max(furthest, part.size());
    if (++failures >= options.attempts)
      throw_network_error(url, fmt::format("{} (attempts: {})", outcome.reason, failures),
                          "check the network and the proxy settings; what has arrived is kept for next time");
    const double wait_seconds = std::ldexp(options.first_wait_seconds, failures - 1);
    tell(options, fmt::format("{}; {} here, trying again in {}", outcome.reason,
                              format_bytes(static_cast<double>(part.size())), format_duration(wait_seconds)));
    std::this_thread::sleep_for(std::chrono::duration<double>(wait_seconds));
  }
}

}  // namespace

void download(const RemoteFile& file, const fs::path& target, const DownloadOptions& options) {
  PartFile part(target);
  const bool is_one_piece = gather(file.url, part, options);
  std::string seen = part.synced_md5();
  // Publishers write digests in either case.
  const auto is_right = [&] { return ::strcasecmp(seen.c_str(), file.md5.c_str()) == 0; };
  if (!is_right() && !is_one_piece) {
    // The older bytes may be to blame; a whole answer would be no better the second time.
    tell(options, "the continued file has a wrong checksum; beginning again");
    part.clear();
    gather(file.url, part, options);
    seen = part.synced_md5();
  }
  if (!is_right()) {
    part.clear();
    throw Error("the downloaded file has a wrong checksum",
                {file.url, fmt::format("MD5 {}, expected {}", seen, file.md5),
                 "the server sent something else, perhaps a proxy's page: open the address in a browser"},
                Error::kFailure);
  }
  part.move_to(target);
  if (options.on_progress) options.on_progress(part.size(), part.size());
}

}  // namespace batchplus
