#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/running.h"
#include "support/scratch.h"
#include "util/error.h"

namespace batchplus::testing {

/// A browser without a screen that stays open while a test looks at a page, by the protocol of its developer
/// tools over a pair of pipes.
class LiveBrowser {
 public:
  LiveBrowser() {
    BATCHPLUS_CHECK(::pipe2(to_.data(), O_CLOEXEC) == 0 && ::pipe2(from_.data(), O_CLOEXEC) == 0,
                    "a process may have pipes");
    // It reads from 3 and writes to 4, so neither may be one of the ends that are moved there.
    constexpr int kFree = 20;
    const int read_end = ::fcntl(to_[0], F_DUPFD_CLOEXEC, kFree);
    const int write_end = ::fcntl(from_[1], F_DUPFD_CLOEXEC, kFree);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, read_end, 3);
    posix_spawn_file_actions_adddup2(&actions, write_end, 4);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<std::string> words = {"chromium",
                                      "--headless",
                                      "--no-sandbox",
                                      "--disable-gpu",
                                      "--disable-quic",
                                      "--disable-dev-shm-usage",
                                      "--no-first-run",
                                      "--disable-background-networking",
                                      "--disable-component-update",
                                      "--disable-sync",
                                      "--remote-debugging-pipe",
                                      fmt::format("--user-data-dir={}", profile_.path().string())};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int problem = ::posix_spawnp(&pid_, "chromium", &actions, nullptr, arguments.data(), environ);
    BATCHPLUS_CHECK(problem == 0, "the tests of the page need chromium: script/bootstrap browser");
    posix_spawn_file_actions_destroy(&actions);
    for (const int end : {read_end, write_end, to_[0], from_[1]}) ::close(end);
    const std::string target = call("Target.createTarget", {{"url", "about:blank"}})["targetId"];
    session_ = call("Target.attachToTarget", {{"targetId", target}, {"flatten", true}})["sessionId"];
  }
  ~LiveBrowser() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(to_[1]);
    ::close(from_[0]);
  }
  LiveBrowser(const LiveBrowser&) = delete;
  LiveBrowser& operator=(const LiveBrowser&) = delete;

  void open(const std::string& address, int width = 1200) {
    call("Emulation.setDeviceMetricsOverride",
         {{"width", width}, {"height", 900}, {"deviceScaleFactor", 1}, {"mobile", width < 600}});
    call("Page.navigate", {{"url", address}});
  }

  /// The value of an expression in the page; null when it threw.
  nlohmann::json evaluate(const std::string& expression) {
    const nlohmann::json reply = call(
        "Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
    return reply.contains("exceptionDetails") ? nlohmann::json()
                                              : reply["result"].value("value", nlohmann::json());
  }

  /// Waits until an expression is true in the page.
  bool shows(const std::string& expression) {
    constexpr double kSeconds = 600;
    constexpr double kInterval = 0.05;
    return wait_until([&] { return evaluate(expression) == true; }, kSeconds, kInterval);
  }

 private:
  nlohmann::json call(const std::string& method, const nlohmann::json& parameters) {
    nlohmann::json message = {{"id", ++calls_}, {"method", method}, {"params", parameters}};
    if (!session_.empty()) message["sessionId"] = session_;
    std::string text = message.dump();
    text.push_back('\0');
    BATCHPLUS_CHECK(::write(to_[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()),
                    "the browser runs");
    while (true) {
      const size_t end = received_.find('\0');
      if (end == std::string::npos) {
        char piece[65536];
        const ssize_t count = ::read(from_[0], piece, sizeof piece);
        BATCHPLUS_CHECK(count > 0, "the browser runs");
        received_.append(piece, static_cast<size_t>(count));
        continue;
      }
      const nlohmann::json reply = nlohmann::json::parse(received_.substr(0, end));
      received_.erase(0, end + 1);
      if (reply.value("id", 0) == calls_) return reply.value("result", nlohmann::json::object());
    }
  }

  Scratch profile_;
  std::array<int, 2> to_{};
  std::array<int, 2> from_{};
  pid_t pid_ = 0;
  int calls_ = 0;
  std::string session_;
  std::string received_;
};

}  // namespace batchplus::testing
