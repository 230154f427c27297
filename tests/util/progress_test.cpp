#include "util/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "support/environment.h"
#include "util/terminal.h"

namespace batchplus {
namespace {

TEST(ProgressText, HasBarPercentRateAndEta) {
  EXPECT_EQ(progress_text(500, 2000, 10, "samples"),
            "[######..................]  25%  50 samples/s  ETA 30s");
}

TEST(ProgressText, RateAndEtaAreThoseOfThisProcess) {
  EXPECT_EQ(progress_text(1500, 2000, 10, "samples", 1000),
            "[##################......]  75%  50 samples/s  ETA 10s");
}

TEST(ProgressText, SurvivesTheFirstAndTheLastMoment) {
  EXPECT_EQ(progress_text(0, 100, 0, "samples"), "[........................]   0%  0 samples/s  ETA ?");
  EXPECT_EQ(progress_text(120, 100, 10, "samples"),
            "[########################] 100%  12 samples/s  ETA 0.0s");
  EXPECT_EQ(progress_text(0, 0, 1, "samples"), "[........................]   0%  0 samples/s  ETA ?");
}

TEST(ProgressLine, NeverWraps) {
  const std::string text = progress_text(50, 100, 1, "samples");
  const std::string whole = "epoch 3  " + text;
  EXPECT_EQ(progress_line("epoch 3", text, whole.size() + 1), whole);
  const std::string narrow = progress_line("epoch 3", text, whole.size());
  EXPECT_EQ(narrow, "epoch 3  50%  50 samples/s  ETA 1.0s") << "without the bar";
  EXPECT_EQ(progress_line("epoch 3", text, 20), narrow.substr(0, 19));
}

TEST(FitLine, CountsCharactersAndNotBytes) {
  EXPECT_EQ(fit_line("abc", 4), "abc");
  EXPECT_EQ(fit_line("abc", 3), "ab");
  EXPECT_EQ(fit_line("‖∇F‖²", 6), "‖∇F‖²");
  EXPECT_EQ(fit_line("‖∇F‖²", 4), "‖∇F");
}

TEST(CanRedraw, NeedsATerminalThatKnowsHow) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  {
    const testing::Environment kind("TERM", "xterm");
    EXPECT_TRUE(can_redraw(terminal));
    winsize size{};
    size.ws_col = 40;
    ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &size), 0);
    EXPECT_EQ(columns_of(terminal), 40U);
  }
  for (const char* dumb : {"dumb", "", static_cast<const char*>(nullptr)}) {
    const testing::Environment kind("TERM", dumb);
    EXPECT_FALSE(can_redraw(terminal));
  }
  ::close(terminal);
}

}  // namespace
}  // namespace batchplus
