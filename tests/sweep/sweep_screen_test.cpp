#include "sweep/sweep_screen.h"

#include <gtest/gtest.h>

namespace batchplus {
namespace {

SweepTally first_of_seven(double share) {
  return {.counts = {{SweepState::kRunning, 1}, {SweepState::kWaiting, 6}},
          .done = 100 * share,
          .total = 700,
          .running = {{"SGD, seed 1", share}}};
}

TEST(SweepScreen, WithoutATerminalSaysWhatRunsEveryMinute) {
  double now = 0;
  SweepScreen screen(0, [&] { return now; });
  SweepTally waiting;
  waiting.counts = {{SweepState::kWaiting, 7}};
  waiting.total = 700;
  EXPECT_EQ(screen.picture(waiting), "7 waiting; 0% of the whole\n");
  EXPECT_EQ(screen.picture(first_of_seven(0)),
            "1 running, 6 waiting; 0% of the whole; running: SGD, seed 1 0%\n");
  now = 3;
  SweepTally soon = first_of_seven(0.01);
  ++soon.counts[SweepState::kFailed];
  EXPECT_EQ(screen.picture(soon),
            "1 failed, 1 running, 6 waiting; 0% of the whole; running: SGD, seed 1 1%\n")
      << "three seconds say nothing of the whole";
  screen.picture(first_of_seven(0.01));
  now = 59;
  EXPECT_EQ(screen.picture(first_of_seven(0.3)), "");
  now = 63;
  EXPECT_EQ(screen.picture(first_of_seven(0.35)),
            "1 running, 6 waiting; 5% of the whole, 19m57s left; running: SGD, seed 1 35%\n");
  now = 64;
  EXPECT_EQ(screen.picture(first_of_seven(0.36)), "");
  SweepTally ended = first_of_seven(1);
  ended.counts = {{SweepState::kDone, 1}, {SweepState::kWaiting, 6}};
  ended.running.clear();
  EXPECT_EQ(screen.picture(ended).substr(0, 17), "1 done, 6 waiting");
}

TEST(SweepScreen, EstimatesAfterHalfAMinute) {
  double now = 10;
  SweepScreen screen(200, [&] { return now; });
  screen.picture(first_of_seven(0));
  EXPECT_NE(screen.picture(first_of_seven(0.5)).find("ETA ?"), std::string::npos);
  now = 40;
  EXPECT_EQ(screen.picture(first_of_seven(0.5)).find("ETA ?"), std::string::npos);
}

TEST(SweepScreen, OnATerminalDrawsOverItselfAndNeverWraps) {
  SweepScreen screen(20, [] { return 1.0; });
  const std::string first = screen.picture(first_of_seven(0.5));
  EXPECT_EQ(first.substr(0, 20), "1 running, 6 waitin\n");
  const std::string second = screen.picture(first_of_seven(0.5));
  EXPECT_EQ(second, "\x1b[3A\x1b[J" + first);
  screen.leave_picture();
  EXPECT_EQ(screen.picture(first_of_seven(0.5)), first) << "what was printed below it stays";
}

}  // namespace
}  // namespace batchplus
