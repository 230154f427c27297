#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "support/scratch.h"
#include "util/file.h"
#include "util/process.h"

namespace batchplus::testing {

/// Opens a page in a browser of this width, with a script at its end, and returns the JSON that the script
/// leaves in a pre element with id "check".
inline nlohmann::json look_at_page(const std::filesystem::path& page, const std::string& script, int width) {
  const Scratch scratch;
  std::string text = read_file(page);
  text.insert(text.rfind("</body>"), "<script>" + script + "</script>");
  write_file_atomically(scratch / "checked.html", text);
  // What it says of itself on standard error does not belong into the page.
  const ProcessResult browser =
      run_process({"sh", "-c", "exec \"$@\" 2>/dev/null", "sh", "chromium", "--headless", "--no-sandbox",
                   "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                   "--no-first-run", fmt::format("--window-size={},900", width),
                   fmt::format("--user-data-dir={}", (scratch / "profile").string()), "--dump-dom",
                   fmt::format("file://{}", (scratch / "checked.html").string())},
                  scratch.path());
  EXPECT_EQ(browser.exit_code, 0) << browser.output;
  const std::string mark = "<pre id=\"check\">";
  const size_t begin = browser.output.find(mark);
  if (begin == std::string::npos) {
    ADD_FAILURE() << "the check did not end";
    return {};
  }
  const size_t from = begin + mark.size();
  return nlohmann::json::parse(browser.output.substr(from, browser.output.find("</pre>", from) - from));
}

}  // namespace batchplus::testing
