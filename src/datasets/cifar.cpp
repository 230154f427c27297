#include "datasets/cifar.h"

#include "formats/cifar_records.h"

namespace batchplus {
namespace {

/// All files but the last are for training.
LabelledImages read(const DatasetLocation& location, const std::vector<std::string>& names,
                    const CifarLabels& layout, std::vector<std::string> class_names) {
  const std::vector<DatasetFile> files = read_dataset_files(location, names);
  LabelledImages samples{.train = {}, .test = {}, .class_names = std::move(class_names)};
  for (size_t f = 0; f < files.size(); ++f) {
    append_cifar_records(files[f].bytes, layout, files[f].where,
                         f + 1 < files.size() ? samples.train : samples.test);
  }
  return samples;
}

const std::vector<std::string>& cifar100_classes() {
  static const std::vector<std::string> names = {
      "apple",       "aquarium_fish", "baby",      "bear",       "beaver",       "bed",
      "bee",         "beetle",        "bicycle",   "bottle",     "bowl",         "boy",
      "bridge",      "bus",           "butterfly", "camel",      "can",          "castle",
      "caterpillar", "cattle",        "chair",     "chimpanzee", "clock",        "cloud",
      "cockroach",   "couch",         "crab",      "crocodile",  "cup",          "dinosaur",
      "dolphin",     "elephant",      "flatfish",  "forest",     "fox",          "girl",
      "hamster",     "house",         "kangaroo",  "keyboard",   "lamp",         "lawn_mower",
      "leopard",     "lion",          "lizard",    "lobster",    "man",          "maple_tree",
      "motorcycle",  "mountain",      "mouse",     "mushroom",   "oak_tree",     "orange",
      "orchid",      "otter",         "palm_tree", "pear",       "pickup_truck", "pine_tree",
      "plain",       "plate",         "poppy",     "porcupine",  "possum",       "rabbit",
      "raccoon",     "ray",           "road",      "rocket",     "rose",         "sea",
      "seal",        "shark",         "shrew",     "skunk",      "skyscraper",   "snail",
      "snake",       "spider",        "squirrel",  "streetcar",  "sunflower",    "sweet_pepper",
      "table",       "tank",          "telephone", "television", "tiger",        "tractor",
      "train",       "trout",         "tulip",     "turtle",     "wardrobe",     "whale",
      "willow_tree", "wolf",          "woman",     "worm"};
  return names;
}

}  // namespace

const std::vector<std::string>& cifar10_files() {
  static const std::vector<std::string> files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                                 "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
  return files;
}

const std::vector<std::string>& cifar100_files() {
  static const std::vector<std::string> files = {"train.bin", "test.bin"};
  return files;
}

LabelledImages read_cifar10(const DatasetLocation& location) {
  return read(location, cifar10_files(), kCifar10Labels,
              {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"});
}

LabelledImages read_cifar100(const DatasetLocation& location) {
  return read(location, cifar100_files(), kCifar100Labels, cifar100_classes());
}

}  // namespace batchplus
