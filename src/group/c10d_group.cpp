#include "group/c10d_group.h"

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>

#include "core/torch_versions.h"
#include "group/gloo_links.h"
#include "group/lost_ranks.h"
#include "group/machine_ranks.h"
#include "util/error.h"
#include "util/process.h"
#include "util/text.h"

namespace batchplus {
namespace {

/// Of sums over sockets, where a message takes long by itself.
constexpr int64_t kSocketPieceBytes = int64_t{1} << 24;

using StorePointer = c10::intrusive_ptr<c10d::Store>;
using std::chrono::milliseconds;
using std::chrono::seconds;

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
      do_without_libuv(options);
      options.port = static_cast<std::uint16_t>(membership.port);
      options.isServer = membership.rank == 0 && !membership.is_served;
      options.waitWorkers = false;
      // It counts whole seconds.
      options.timeout = std::max<milliseconds>(timeout, seconds(1));
      store_ = c10::make_intrusive<c10d::PrefixStore>(
          fmt::format("batchplus/{}", membership.attempt),
          c10::make_intrusive<c10d::TCPStore>(membership.address, options));
      store_->setTimeout(timeout);
      lost_ = std::make_unique<LostRanks>(membership, store_);
      meet();
      near_ = MachineRanks(*store_, rank(), size());
      if (near_.are_all_of(size())) return;
      const GlooLinks::Device device = GlooLinks::make_device(membership);
      const auto links = [&](const char* name) {
        return std::make_unique<GlooLinks>(c10::make_intrusive<c10d::PrefixStore>(name, store_), membership,
                                           device, timeout);
      };
      far_ = links("gloo");
      companion_ = std::make_unique<Companion>(*this, links("companion"));
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
  Group* companion() override { return companion_.get(); }

 protected:
  void exchange(const Message& sent, const Message& received) override {
    try {
      // What goes over sockets does so in Gloo's thread meanwhile.
      if (far_) far_->begin(far(sent), far(received));
      exchange_near(near(sent), near(received));
      if (far_) far_->finish();
    } catch (const GlooLinks::Trouble& trouble) {
      fail(trouble);
    }
  }
  int64_t piece_bytes() const override { return far_ ? kSocketPieceBytes : Group::piece_bytes(); }

 private:
  /// All ranks over sockets of their own, those of this machine too: so nothing that waits long for its turn
  /// is in the way of what the group itself sends.
  class Companion : public Group {
   public:
    Companion(const C10dGroup& group, std::unique_ptr<GlooLinks> links)
        : group_(group), links_(std::move(links)) {}
    int rank() const override { return group_.rank(); }
    int size() const override { return group_.size(); }
    std::string name_of(int rank) const override { return group_.name_of(rank); }
    void close() { links_->close(); }

   protected:
    void exchange(const Message& sent, const Message& received) override {
      try {
        links_->begin(sent, received);
        links_->finish();
      } catch (const GlooLinks::Trouble& trouble) {
        group_.blame(trouble);
      }
    }
    int64_t piece_bytes() const override { return kSocketPieceBytes; }

   private:
    const C10dGroup& group_;
    std::unique_ptr<GlooLinks> links_;
  };

  /// The message if its peer is on this machine, else none; and the other way round.
  Message near(Message message) const {
    if (!near_.has(message.peer)) message.count = 0;
    return message;
  }
  Message far(Message message) const {
    if (near_.has(message.peer)) message.count = 0;
    return message;
  }

  void exchange_near(const Message& sent, const Message& received) {
    if (sent.count == 0 && received.count == 0) return;
    const auto result =
        near_.mailboxes().exchange({near_.place_of(sent.peer), sent.bytes, sent.count},
                                   {near_.place_of(received.peer), received.bytes, received.count}, timeout_);
    if (result.outcome != SharedMailboxes::Outcome::kDone)
      fail({near_.rank_at(result.place), result.outcome == SharedMailboxes::Outcome::kLate});
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

  [[noreturn]] void fail(const GlooLinks::Trouble& trouble) {
    // All others notice too.
    if (far_) far_->close();
    if (companion_) companion_->close();
    near_ = MachineRanks();
    blame(trouble);
  }

  [[noreturn]] void blame(const GlooLinks::Trouble& trouble) const {
    std::vector<std::string> names;
    for (const int rank : lost_->find(trouble.peer)) names.push_back(name_of(rank));
    throw_lost(join(names, ", "),
               trouble.is_late
                   ? fmt::format("no answer for {} seconds",
                                 std::chrono::duration_cast<std::chrono::duration<double>>(timeout_).count())
                   : "its connection was closed");
  }

  Membership membership_;
  milliseconds timeout_;
  std::vector<std::string> hosts_;
  StorePointer store_;
  MachineRanks near_;
  std::unique_ptr<LostRanks> lost_;
  /// None where all ranks are on this machine.
  std::unique_ptr<GlooLinks> far_;
  std::unique_ptr<Companion> companion_;
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
  do_without_libuv(options);
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
