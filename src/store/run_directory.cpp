#include "store/run_directory.h"

#include <fmt/format.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

Json parse_json(const std::string& text, const std::string& where) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& problem) {
    throw Error("not valid JSON",
                {where, problem.what(), "the file is damaged; restore it or remove the run"});
  }
}

}  // namespace

RunWriter::RunWriter(const fs::path& root, const std::string& config_toml, const Json& provenance)
    : layout_{root} {
  if (fs::exists(layout_.config()) || fs::exists(layout_.status())) {
    throw Error("the directory already holds a run", {"--out", root.string(), "name another directory"});
  }
  make_directories(root);
  write_file_atomically(layout_.config(), config_toml);
  write_file_atomically(layout_.provenance(), provenance.dump(2) + "\n");
  set_status("running", Json::object());
}

void RunWriter::record(const Json& record) {
  append_line(layout_.metrics(), record.dump());
}

void RunWriter::set_status(const std::string& status, const Json& result) {
  Json content = {{"format_version", kRunFormatVersion}, {"status", status}, {"updated", utc_timestamp()}};
  content.update(result);
  write_file_atomically(layout_.status(), content.dump(2) + "\n");
}

RunRecord read_run(const fs::path& root) {
  const RunLayout layout{root};
  RunRecord run;
  run.status = parse_json(read_file(layout.status()), layout.status().string());
  const int version = run.status.value("format_version", 0);
  if (version < 1 || version > kRunFormatVersion) {
    throw Error("the run has a format that this program does not know",
                {layout.status().string(), std::to_string(version), "use a newer batchplus"});
  }
  run.config_toml = read_file(layout.config());
  run.provenance = parse_json(read_file(layout.provenance()), layout.provenance().string());
  if (!fs::exists(layout.metrics())) return run;
  int line_number = 0;
  for (const auto& line : split(read_file(layout.metrics()), '\n')) {
    ++line_number;
    if (line.empty()) continue;
    run.metrics.push_back(parse_json(line, fmt::format("{}:{}", layout.metrics().string(), line_number)));
  }
  return run;
}

std::string read_status_word(const fs::path& root) {
  const fs::path file = RunLayout{root}.status();
  if (!fs::exists(file)) return "";
  const Json status = Json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  return status.is_object() && status.contains("status") && status["status"].is_string()
             ? status["status"].get<std::string>()
             : "";
}

}  // namespace batchplus
