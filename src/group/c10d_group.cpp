#include "group/c10d_group.h"

#include <ATen/ops/from_blob.h>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <array>
#include <future>
#include <thread>

#include "group/machine_ranks.h"
#include "util/error.h"
#include "util/process.h"
#include "util/text.h"

namespace batchplus {
namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

/// The address of this machine from which the meeting point is reached: others reach it there too.
std::string own_address(const Membership& membership) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(membership.port);
  if (::getaddrinfo(membership.address.c_str(), port.c_str(), &hints, &found) != 0) return "";
  std::string address;
  for (const addrinfo* each = found; each != nullptr && address.empty(); each = each->ai_next) {
    const int socket = ::socket(each->ai_family, each->ai_socktype, each->ai_protocol);
    if (socket < 0) continue;
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    std::array<char, NI_MAXHOST> text{};
    // Nothing is sent: the kernel only looks for the way.
    if (::connect(socket, each->ai_addr, each->ai_addrlen) == 0 &&
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      address = text.data();
    }
    ::close(socket);
  }
  ::freeaddrinfo(found);
  return address;
}

std::shared_ptr<gloo::transport::Device> make_device(const Membership& membership) {
  if (const auto interface = read_environment("GLOO_SOCKET_IFNAME"))
    return c10d::ProcessGroupGloo::createDeviceForInterface(*interface);
  const std::string address = own_address(membership);
  return address.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                         : c10d::ProcessGroupGloo::createDeviceForHostname(address);
}

/// The first line of what a library says, without where in its source.
std::string first_sentence(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  const size_t end_of_place = line.rfind("] ");
  return end_of_place == std::string::npos ? line : line.substr(end_of_place + 2);
}

class C10dGroup : public Group {
 public:
  C10dGroup(const Membership& membership, milliseconds timeout) : membership_(membership), timeout_(timeout) {
    try {
      c10d::TCPStoreOptions options;
      options.port = static_cast<std::uint16_t>(membership.port);
      options.isServer = membership.rank == 0 && !membership.is_served;
      options.waitWorkers = false;
      // It counts whole seconds.
      options.timeout = std::max<milliseconds>(timeout, seconds(1));
      store_ = c10::make_intrusive<c10d::PrefixStore>(
          fmt::format("batchplus/{}", membership.attempt),
          c10::make_intrusive<c10d::TCPStore>(membership.address, options));
      store_->setTimeout(timeout);
      meet();
      near_ = MachineRanks(*store_, rank(), size());
      if (near_.are_all_of(size())) return;
      const auto group_options = c10d::ProcessGroupGloo::Options::create(timeout);
      group_options->devices.push_back(make_device(membership));
      group_ =
          c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::PrefixStore>("gloo", store_),
                                                      membership.rank, membership.size, group_options);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& problem) {
      throw Error("cannot join the group of processes",
                  {fmt::format("rank {} on {}, meeting at {}:{}", membership.rank, host_name(),
                               membership.address, membership.port),
                   first_sentence(problem.what()), "start all ranks, and let them reach that address"},
                  Error::kFailure);
    }
  }

  int rank() const override { return membership_.rank; }
  int size() const override { return membership_.size; }
  std::string name_of(int rank) const override {
    const auto at = static_cast<size_t>(rank);
    return at < hosts_.size() ? fmt::format("rank {} on {}", rank, hosts_[at]) : Group::name_of(rank);
  }

 protected:
  void exchange(const Message& sent, const Message& received) override {
    // What goes over sockets does so in threads of its own meanwhile.
    Works works = post(far(sent), far(received));
    exchange_near(near(sent), near(received));
    finish(works);
  }

 private:
  static constexpr int kTag = 0;

  struct Work {
    int peer = 0;
    c10::intrusive_ptr<c10d::Work> work;
  };
  using Works = std::vector<Work>;

  /// The message if its peer is on this machine, else none; and the other way round.
  Message near(Message message) const {
    if (!near_.has(message.peer)) message.count = 0;
    return message;
  }
  Message far(Message message) const {
    if (near_.has(message.peer)) message.count = 0;
    return message;
  }

  Works post(const Message& sent, const Message& received) {
    Works works;
    int peer = received.peer;
    try {
      if (received.count > 0) {
        std::vector<at::Tensor> to = {bytes_of(received)};
        works.push_back({peer, group_->recv(to, peer, kTag)});
      }
      peer = sent.peer;
      if (sent.count > 0) {
        std::vector<at::Tensor> from = {bytes_of(sent)};
        works.push_back({peer, group_->send(from, peer, kTag)});
      }
    } catch (const std::exception& problem) {
      works.clear();
      fail(peer, is_timeout(problem));
    }
    return works;
  }

  void finish(Works& works) {
    for (const Work& work : works) {
      try {
        work.work->wait(timeout_);
      } catch (const std::exception& problem) {
        const int peer = work.peer;
        const bool is_late = is_timeout(problem);
        works.clear();
        fail(peer, is_late);
      }
    }
  }

  static bool is_timeout(const std::exception& problem) {
    return std::string(problem.what()).find("imed out") != std::string::npos;
  }

  void exchange_near(const Message& sent, const Message& received) {
    if (sent.count == 0 && received.count == 0) return;
    const auto result =
        near_.mailboxes().exchange({near_.place_of(sent.peer), sent.bytes, sent.count},
                                   {near_.place_of(received.peer), received.bytes, received.count}, timeout_);
    if (result.outcome != SharedMailboxes::Outcome::kDone)
      fail(near_.rank_at(result.place), result.outcome == SharedMailboxes::Outcome::kLate);
  }

  static at::Tensor bytes_of(const Message& message) {
    return at::from_blob(message.bytes, {message.count}, at::kByte);
  }

  static std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

  /// Waits for all ranks and learns where they are.
  void meet() {
    store_->set(fmt::format("host/{}", rank()), bytes_of(host_name()));
    std::vector<std::string> hosts;
    for (int rank = 0; rank < size(); ++rank) {
      try {
        const std::vector<uint8_t> host = store_->get(fmt::format("host/{}", rank));
        hosts.emplace_back(host.begin(), host.end());
      } catch (const std::exception&) {
        throw Error(fmt::format("rank {} of {} did not come within {} seconds", rank, size(),
                                std::chrono::duration_cast<seconds>(timeout_).count()),
                    {fmt::format("rank {} on {}", this->rank(), host_name()), "",
                     "start all ranks, and let them reach the meeting point"},
                    Error::kFailure);
      }
    }
    hosts_ = hosts;
  }

  /// Finds out who is at fault when something went wrong between this rank and `peer`, which may itself only
  /// have waited for a third one: those who are alive say so, the others are lost.
  [[noreturn]] void fail(int peer, bool is_late) {
    // Closes the connections, so that all others notice too.
    group_.reset();
    near_ = MachineRanks();
    // A meeting point that does not answer must not hold this rank up.
    constexpr seconds kPatience{8};
    auto answer = std::make_shared<std::promise<std::vector<int>>>();
    std::future<std::vector<int>> silent = answer->get_future();
    std::thread([answer, store = store_, rank = rank(), size = size(), serves = serves_store()] {
      try {
        answer->set_value(silent_ranks(store, rank, size, serves));
      } catch (const std::exception&) {
        // The meeting point is gone, and with it who served it.
        answer->set_value({serves || size == 1 ? rank : 0});
      }
    }).detach();
    std::vector<int> lost = {peer};
    if (silent.wait_for(kPatience) == std::future_status::ready) {
      const std::vector<int> found = silent.get();
      if (!found.empty()) lost = found;
    } else if (!membership_.is_served) {
      lost = {0};
    }
    std::vector<std::string> names;
    for (const int rank : lost) names.push_back(name_of(rank));
    throw_lost(join(names, ", "),
               is_late
                   ? fmt::format("no answer for {} seconds",
                                 std::chrono::duration_cast<std::chrono::duration<double>>(timeout_).count())
                   : "its connection was closed");
  }

  bool serves_store() const { return rank() == 0 && !membership_.is_served; }

  static std::vector<int> silent_ranks(const StorePointer& store, int rank, int size, bool serves) {
    constexpr seconds kGrace{4};
    constexpr milliseconds kPause{20};
    const auto key = [](int of) { return fmt::format("alive/{}", of); };
    store->set(key(rank), {1});
    const auto end = steady_clock::now() + kGrace;
    std::vector<int> silent;
    do {
      silent.clear();
      for (int other = 0; other < size; ++other) {
        if (!store->check({key(other)})) silent.push_back(other);
      }
      if (silent.size() <= 1) break;
      std::this_thread::sleep_for(kPause);
    } while (steady_clock::now() < end);
    store->add("told", 1);
    // The others have to read it too.
    while (serves && store->add("told", 0) < size - static_cast<int64_t>(silent.size()) &&
           steady_clock::now() < end) {
      std::this_thread::sleep_for(kPause);
    }
    return silent;
  }

  Membership membership_;
  milliseconds timeout_;
  std::vector<std::string> hosts_;
  StorePointer store_;
  MachineRanks near_;
  /// None where all ranks are on this machine.
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace

std::unique_ptr<Group> join_group(const Membership& membership, milliseconds timeout) {
  if (membership.size == 1) return std::make_unique<SoloGroup>();
  return std::make_unique<C10dGroup>(membership, timeout);
}

struct MeetingPoint::Store {
  c10::intrusive_ptr<c10d::TCPStore> server;
};

MeetingPoint::MeetingPoint() : store_(std::make_unique<Store>()) {
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  store_->server = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
}

MeetingPoint::~MeetingPoint() = default;

int MeetingPoint::port() const {
  return store_->server->getPort();
}

}  // namespace batchplus
