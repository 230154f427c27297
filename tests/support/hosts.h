#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "support/running.h"
#include "util/process.h"

namespace batchplus::testing {

/// Machines of their own as far as the network is concerned: network namespaces, each with one cable to a
/// switch. Needs root and iproute2.
class Hosts {
 public:
  explicit Hosts(int count) : prefix_(fmt::format("bp{}-", ::getpid())), count_(count) {
    is_ready_ = ip({"netns", "add", name("switch")}) &&
                ip({"-n", name("switch"), "link", "add", "bridge", "type", "bridge"}) &&
                ip({"-n", name("switch"), "link", "set", "bridge", "up"});
    for (int host = 0; is_ready_ && host < count; ++host) is_ready_ = add(host);
  }
  ~Hosts() {
    for (int host = 0; host < count_; ++host) ip({"netns", "delete", name(host)});
    ip({"netns", "delete", name("switch")});
  }
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  /// Whether this machine allows it.
  bool are_ready() const { return is_ready_; }

  /// Rank `host` of a training, one on each host.
  std::unique_ptr<ChildProcess> start(int host, const std::vector<std::string>& arguments,
                                      const std::filesystem::path& log) const {
    std::vector<std::string> command = {"ip",
                                        "netns",
                                        "exec",
                                        name(host),
                                        "env",
                                        "TORCHELASTIC_RUN_ID=test",
                                        fmt::format("RANK={}", host),
                                        fmt::format("WORLD_SIZE={}", count_),
                                        "LOCAL_RANK=0",
                                        "LOCAL_WORLD_SIZE=1",
                                        "MASTER_ADDR=" + address(0),
                                        "MASTER_PORT=29500"};
    for (const std::string& word : program(arguments)) command.push_back(word);
    return std::make_unique<ChildProcess>(command, log);
  }

  void cut_cable(int host) const { set_cable(host, "down"); }
  void mend_cable(int host) const { set_cable(host, "up"); }
  /// What the host sends takes its time from now on.
  void slow_cable(int host, int megabits) const {
    EXPECT_EQ(run_process({"tc", "-n", name(host), "qdisc", "add", "dev", "eth0", "root", "tbf", "rate",
                           fmt::format("{}mbit", megabits), "burst", "100kb", "latency", "50ms"},
                          "/")
                  .exit_code,
              0);
  }

 private:
  static bool ip(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "ip");
    return run_process(arguments, "/").exit_code == 0;
  }
  template <class Which>
  std::string name(const Which& which) const {
    return fmt::format("{}{}", prefix_, which);
  }
  static std::string address(int host) { return fmt::format("10.77.0.{}", host + 1); }
  static std::string port(int host) { return fmt::format("port{}", host); }

  bool add(int host) const {
    return ip({"netns", "add", name(host)}) &&
           ip({"-n", name("switch"), "link", "add", port(host), "type", "veth", "peer", "name", "eth0",
               "netns", name(host)}) &&
           ip({"-n", name("switch"), "link", "set", port(host), "master", "bridge", "up"}) &&
           ip({"-n", name(host), "address", "add", address(host) + "/24", "dev", "eth0"}) &&
           ip({"-n", name(host), "link", "set", "eth0", "up"}) &&
           ip({"-n", name(host), "link", "set", "lo", "up"});
  }
  void set_cable(int host, const std::string& state) const {
    EXPECT_TRUE(ip({"-n", name("switch"), "link", "set", port(host), state}));
  }

  std::string prefix_;
  int count_;
  bool is_ready_ = false;
};

}  // namespace batchplus::testing
