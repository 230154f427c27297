#include <fmt/format.h>

#include <filesystem>

#include "commands/commands.h"
#include "data/image_grid.h"
#include "data/load_dataset.h"
#include "datasets/find_files.h"
#include "store/run_directory.h"
#include "util/error.h"
#include "util/file.h"
#include "util/text.h"

namespace batchplus {

namespace fs = std::filesystem;

int run_data_show(const DataCommand& command, const GlobalOptions& options) {
  require_writable_target(command.out, "--out");
  if (fs::exists(command.out) && fs::file_size(command.out) > 0 && !is_drawn_grid(read_file(command.out))) {
    throw Error("the file is no picture of samples, or was changed since it was drawn",
                {"--out", command.out, "name another file, or remove this one"});
  }
  const DatasetInfo info = find_dataset(command.name);
  const Dataset dataset = load_dataset(info, data_directory(command.directory));
  constexpr int64_t kManyClasses = 25;
  SampleGridOptions grid_options{.columns = dataset.classes() > kManyClasses ? 5 : 10,
                                 .is_augmented = command.augment == "standard",
                                 .seed = static_cast<uint64_t>(command.seed)};
  if (command.columns > 0) grid_options.columns = command.columns;
  const ImageSet& set = command.split == "test" ? dataset.test : dataset.train;
  ImageGrid grid = sample_grid(set, dataset.class_names, grid_options);
  grid.title =
      fmt::format("{}, {}, {} samples{}", info.name, command.split, format_count(set.size()),
                  grid_options.is_augmented ? fmt::format(", augmented with seed {}", command.seed) : "");
  write_file_atomically(command.out, draw_grid(grid));
  if (options.is_json) {
    fmt::print(
        "{}\n",
        Json({{"out", command.out}, {"rows", grid.rows.size()}, {"columns", grid_options.columns}}).dump());
  } else if (!options.is_quiet) {
    fmt::print("{}: {} classes, up to {} images each\n", command.out, grid.rows.size(), grid_options.columns);
  }
  return 0;
}

}  // namespace batchplus
