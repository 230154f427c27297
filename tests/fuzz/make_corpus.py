"""Makes the seeds of the fuzz targets: small valid files of every kind that a parser reads, and wrong ones that
reach its checks. Also the dictionary of config keys.

    /usr/bin/python3 tests/fuzz/make_corpus.py
"""

import gzip
import hashlib
import io
import json
import math
import pathlib
import re
import shutil
import struct
import tarfile
import zipfile
import zlib

here = pathlib.Path(__file__).parent
root = here.parent.parent


def write(target, seeds):
    folder = here / "corpus" / target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in seeds.items():
        (folder / name).write_bytes(content)


def compress(content):
    return gzip.compress(content, mtime=0)


# CIFAR: a byte for the layout, then records.

def cifar():
    ten = b"\x00"
    hundred = b"\x01"
    pixels = bytes(3072)
    return {
        "cifar10": ten + b"\x03" + pixels,
        "cifar10_two": ten + b"\x00" + pixels + b"\x09" + pixels,
        "cifar100": hundred + b"\x13\x63" + pixels,
        "label_out_of_range": ten + b"\x0a" + pixels,
        "coarse_label_out_of_range": hundred + b"\x14\x00" + pixels,
        "truncated": ten + b"\x00" + pixels[:100],
        "empty": ten,
    }


# idx: the size of the first file in two bytes, then both.

def idx_file(shape, values, kind=0x08):
    return struct.pack(f">HBB{len(shape)}I", 0, kind, len(shape), *shape) + values


def idx():
    def pair(images, labels):
        return struct.pack("<H", len(images)) + images + labels

    images = idx_file((2, 3, 3), bytes(range(18)))
    labels = idx_file((2,), b"\x01\x09")
    halves = compress(images[:20]) + compress(images[20:])
    return {
        "plain": pair(images, labels),
        "gzip": pair(compress(images), compress(labels)),
        "gzip_images": pair(compress(images), labels),
        "gzip_members": pair(halves, labels),
        "gzip_truncated": pair(compress(images)[:-9], labels),
        "gzip_bomb": pair(compress(idx_file((1, 256, 256), bytes(1 << 16))), idx_file((1,), b"\x00")),
        "label_out_of_range": pair(images, idx_file((2,), b"\x01\x0a")),
        "other_number": pair(images, idx_file((3,), b"\x01\x01\x01")),
        "floats": pair(idx_file((2, 3, 3), bytes(72), kind=0x0D), labels),
        "huge": pair(idx_file((0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF), b""), labels),
        "zero": pair(idx_file((0, 3, 3), b""), idx_file((0,), b"")),
        "too_long": pair(images + b"\x00", labels),
    }


# MATLAB 5: header, then elements of a tag (type, bytes) and data padded to eight bytes.

INT8, UINT8, INT32, UINT32, DOUBLE, MATRIX, COMPRESSED = 1, 2, 5, 6, 9, 14, 15
CELL_CLASS, STRUCT_CLASS, CHAR_CLASS, SPARSE_CLASS, DOUBLE_CLASS, UINT8_CLASS = 1, 2, 4, 5, 6, 9


class Mat:
    def __init__(self, order="<"):
        self.order = order

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def element(self, kind, data):
        return self.pack("II", kind, len(data)) + data + bytes(-len(data) % 8)

    def small_element(self, kind, data):
        return self.pack("I", len(data) << 16 | kind) + data.ljust(4, b"\x00")

    def matrix(self, name, dimensions, data, kind=UINT8, array_class=UINT8_CLASS, flags=0, small=True):
        named = self.small_element if small and len(name) <= 4 else self.element
        values = self.small_element if small and 0 < len(data) <= 4 else self.element
        return self.element(MATRIX, b"".join([
            self.element(UINT32, self.pack("II", flags << 8 | array_class, 0)),
            self.element(INT32, self.pack(f"{len(dimensions)}i", *dimensions)),
            named(INT8, name),
            values(kind, data),
        ]))

    def compressed(self, matrix):
        packed = zlib.compress(matrix, 9)
        return self.pack("II", COMPRESSED, len(packed)) + packed

    def header(self, version=0x0100):
        return b"MATLAB 5.0 MAT-file".ljust(116) + bytes(8) + self.pack("HH", version, 0x4D49)

    def file(self, *elements, version=0x0100):
        return self.header(version) + b"".join(elements)

    def x(self, n):
        return self.matrix(b"X", (32, 32, 3, n), bytes(3072 * n))

    def y(self, n):
        return self.matrix(b"y", (n, 1), bytes([10, 1, 2, 3][:n]))


def mat():
    m = Mat()
    big = Mat(">")
    packed = m.compressed
    seeds = {
        "plain": m.file(m.x(1), m.y(1)),
        "plain_big_endian": big.file(big.x(1), big.y(1)),
        "compressed": m.file(packed(m.x(2)), packed(m.y(2))),
        "compressed_big_endian": big.file(big.compressed(big.x(2)), big.compressed(big.y(2))),
        "compressed_x": m.file(packed(m.x(1)), m.y(1)),
        "y_first": m.file(packed(m.y(2)), packed(m.x(2))),
        "three_extents": m.file(packed(m.matrix(b"X", (32, 32, 3), bytes(3072))), m.y(1)),
        "long_tags": m.file(packed(m.x(1)), m.matrix(b"y", (1, 1), b"\x0a", small=False)),
        "double_labels": m.file(
            packed(m.x(2)), m.matrix(b"y", (2, 1), m.pack("2d", 10, 3), DOUBLE, DOUBLE_CLASS)),
        "double_labels_as_bytes": m.file(
            packed(m.x(2)), m.matrix(b"y", (2, 1), b"\x0a\x03", UINT8, DOUBLE_CLASS)),
        "double_labels_compressed": m.file(
            packed(m.x(2)), packed(m.matrix(b"y", (2, 1), m.pack("2d", 10, 3), DOUBLE, DOUBLE_CLASS))),
        "label_out_of_range": m.file(packed(m.x(1)), m.matrix(b"y", (1, 1), b"\x0b")),
        "label_not_a_number": m.file(
            packed(m.x(1)), m.matrix(b"y", (1, 1), m.pack("d", float("nan")), DOUBLE, DOUBLE_CLASS)),
        "other_variable": m.file(packed(m.matrix(b"other", (1, 1), b"\x01")), packed(m.x(1)), m.y(1)),
        "no_labels": m.file(packed(m.x(1))),
        "no_elements": m.file(),
        "version_7_3": m.file(version=0x0200),
        "header_only_half": m.header()[:64],
        # Claims that the data does not bear out.
        "data_too_short": m.file(m.matrix(b"X", (32, 32, 3, 1), bytes(8)), m.y(1)),
        "data_too_short_compressed": m.file(packed(m.matrix(b"X", (32, 32, 3, 1), bytes(8))), m.y(1)),
        "data_too_long": m.file(packed(m.matrix(b"X", (32, 32, 3, 1), bytes(4096))), m.y(1)),
        "too_many_images": m.file(packed(m.matrix(b"X", (32, 32, 3, 0x7FFFFFFF), bytes(64))), m.y(1)),
        "negative_extent": m.file(packed(m.matrix(b"X", (32, 32, 3, -1), bytes(64))), m.y(1)),
        "overflowing_extents": m.file(packed(m.matrix(b"X", (65536,) * 4, bytes(64))), m.y(1)),
        "many_extents": m.file(packed(m.matrix(b"X", (1,) * 64, b"\x00")), m.y(1)),
        "data_of_doubles": m.file(packed(m.matrix(b"X", (32, 32, 3, 1), bytes(24576), DOUBLE)), m.y(1)),
        "data_of_unknown_type": m.file(packed(m.matrix(b"X", (32, 32, 3, 1), bytes(3072), 77)), m.y(1)),
        "complex": m.file(packed(m.matrix(b"X", (32, 32, 3, 1), bytes(3072), flags=8)), m.y(1)),
        "logical": m.file(packed(m.matrix(b"X", (32, 32, 3, 1), bytes(3072), flags=2)), m.y(1)),
        "text": m.file(packed(m.matrix(b"X", (1, 3), b"abc", 1, CHAR_CLASS)), m.y(1)),
        "sparse": m.file(packed(m.matrix(b"X", (2, 2), bytes(8), INT32, SPARSE_CLASS)), m.y(1)),
        "cells": m.file(packed(m.matrix(b"X", (2, 1), m.y(1) + m.y(1), MATRIX, CELL_CLASS)), m.y(1)),
        "structure": m.file(packed(m.matrix(b"X", (1, 1), m.pack("I", 8), INT32, STRUCT_CLASS)), m.y(1)),
        "element_too_long": m.file(m.pack("II", MATRIX, 0x7FFFFFFF) + m.x(1)[8:], m.y(1)),
        "compressed_too_long": m.file(m.pack("II", COMPRESSED, 0x7FFFFFFF) + packed(m.x(1))[8:]),
        "compressed_in_compressed": m.file(packed(packed(m.x(1))), m.y(1)),
        "compressed_truncated": m.file(packed(m.y(1)), packed(m.x(1)))[:-12],
        "compressed_without_check": m.file(packed(m.y(1)), packed(m.x(1)))[:-2],
        "compressed_noise": m.file(m.pack("II", COMPRESSED, 16) + b"\x78\x9c" + b"\xff" * 14),
        "unknown_element": m.file(m.element(99, bytes(16)), packed(m.x(1)), m.y(1)),
        "long_name": m.file(packed(m.matrix(b"n" * 300, (1, 1), b"\x01")), packed(m.x(1)), m.y(1)),
    }
    deep = b"\x01"
    for _ in range(64):
        deep = m.matrix(b"", (1, 1), deep, MATRIX, CELL_CLASS)
    seeds["deep_cells"] = m.file(packed(deep), packed(m.x(1)), m.y(1))
    return seeds


# tar, as Python writes it, without the padding to ten kilobytes.

def tar_of(entries, form=tarfile.USTAR_FORMAT):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form) as archive:
        for name, content, changes in entries:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in changes.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue().rstrip(b"\x00").ljust(512, b"\x00") + bytes(1024)


def tar():
    one = ("cifar-10-batches-bin/data_batch_1.bin", b"one" * 10, {})
    two = ("cifar-10-batches-bin/test_batch.bin", b"two", {})
    plain = tar_of([one, two])
    long_name = ("x" * 120 + "/data_batch_1.bin", b"long", {})
    return {
        "ustar": plain,
        "ustar_gzip": compress(plain),
        "gzip_truncated": compress(plain)[:-20],
        "truncated": plain[:700],
        "folder_first": tar_of([("cifar-10-batches-bin", b"", {"type": tarfile.DIRTYPE}), one, two]),
        "gnu_long_name": tar_of([long_name, two], tarfile.GNU_FORMAT),
        "pax_long_name": tar_of([long_name, two], tarfile.PAX_FORMAT),
        "pax_size": tar_of([(one[0], one[1], {"pax_headers": {"size": "99999999999", "comment": "x"}}), two],
                           tarfile.PAX_FORMAT),
        "symbolic_link": tar_of([("data_batch_1.bin", b"", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}),
                                 two]),
        "hard_link": tar_of([("data_batch_1.bin", b"", {"type": tarfile.LNKTYPE, "linkname": "test_batch.bin"}),
                             two]),
        "sparse": tar_of([("data_batch_1.bin", b"", {"type": tarfile.GNUTYPE_SPARSE}), two], tarfile.GNU_FORMAT),
        "climbing": tar_of([("../../data_batch_1.bin", b"a", {}), ("/test_batch.bin", b"b", {})]),
        "twice": tar_of([one, one, two]),
        "only_one": tar_of([one]),
        "bomb": compress(tar_of([("data_batch_1.bin", bytes(1 << 16), {}), two])),
    }


# PNG: signature, then chunks of length, type, data and CRC.

def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_file(colour, depth, interlace=0, extra=b"", size=(4, 4), data=None):
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    if data is None:
        width, height = size
        passes = [(width, height)]
        if interlace:
            steps = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
            passes = [(-(-(width - x) // dx), -(-(height - y) // dy)) for x, y, dx, dy in steps]
        row = lambda w: b"\x00" + bytes((w * channels * depth + 7) // 8)
        data = b"".join(row(w) * h for w, h in passes if w > 0 and h > 0)
    return b"".join([
        b"\x89PNG\r\n\x1a\n",
        png_chunk(b"IHDR", struct.pack(">IIBBBBB", *size, depth, colour, 0, 0, interlace)),
        extra,
        png_chunk(b"IDAT", zlib.compress(data, 9)),
        png_chunk(b"IEND", b""),
    ])


def png():
    palette = png_chunk(b"PLTE", bytes(range(48)))
    seeds = {}
    for colour, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}.items():
        for depth in depths:
            colours = png_chunk(b"PLTE", bytes(range(min(48, 3 << depth)))) if colour == 3 else b""
            for interlace in (0, 1):
                seeds[f"colour{colour}_depth{depth}_interlace{interlace}"] = png_file(
                    colour, depth, interlace, colours)
    seeds.update({
        "transparent_palette": png_file(3, 8, extra=palette + png_chunk(b"tRNS", bytes([0, 128, 255]))),
        "transparent_grey": png_file(0, 8, extra=png_chunk(b"tRNS", b"\x00\x00")),
        "transparent_colour": png_file(2, 8, extra=png_chunk(b"tRNS", bytes(6))),
        "gamma": png_file(6, 16, extra=png_chunk(b"gAMA", struct.pack(">I", 100000))),
        "rgb_space": png_file(2, 8, extra=png_chunk(b"sRGB", b"\x00")),
        "chromaticities": png_file(2, 8, extra=png_chunk(
            b"cHRM", struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000))),
        "profile": png_file(2, 8, extra=png_chunk(b"iCCP", b"p\x00\x00" + zlib.compress(bytes(200)))),
        "background": png_file(6, 8, extra=png_chunk(b"bKGD", bytes(6))),
        "text": png_file(2, 8, extra=png_chunk(b"zTXt", b"k\x00\x00" + zlib.compress(b"text" * 50))),
        "one_pixel": png_file(2, 8, size=(1, 1)),
        "data_too_short": png_file(2, 8, data=bytes(5)),
        "data_too_long": png_file(2, 8, data=bytes(500)),
        "filters": png_file(2, 8, data=b"".join(bytes([f]) + bytes(range(12)) for f in (1, 2, 3, 4))),
        "palette_missing": png_file(3, 8),
        "huge": png_file(2, 16, size=(0x7FFFFFFF, 0x7FFFFFFF), data=b""),
        "wide": png_file(0, 1, size=(80000, 1), data=bytes(1 + 10000)),
        "chunk_too_long": png_file(2, 8, extra=struct.pack(">I", 0x44520000) + b"sCAL" + bytes(20)),
        "truncated": png_file(2, 8)[:50],
    })
    return seeds


# State dicts: what torch.save wrote for the tests, their pickles alone, and pickles written by hand.

def integer(number):
    return b"J" + struct.pack("<i", number)


def unicode(text):
    return b"X" + struct.pack("<I", len(text)) + text


def pickled_storage(key=b"2", kind=b"FloatStorage", part=b""):
    return (b"(" + unicode(b"storage") + b"ctorch\n" + kind + b"\n" + unicode(key) + unicode(b"cpu") + integer(24) + part
            + b"tQ")


def numbers(values):
    return b"(" + b"".join(map(integer, values)) + b"t"


def pickled_tensor(key=b"2", kind=b"FloatStorage", offset=0, sizes=(2, 3), strides=(3, 1)):
    return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + pickled_storage(key, kind) + integer(offset) + numbers(sizes)
            + numbers(strides) + b"\x89}tR")


def old_tensor(part=b"N", offset=0):
    """As torch before 0.4 wrote it, in a part of a storage."""
    return (b"ctorch._utils\n_rebuild_tensor\n(" + pickled_storage(part=part) + integer(offset) + numbers((2,))
            + numbers((1,)) + b"tR")


def pickled_dict(*pairs):
    return b"}(" + b"".join(unicode(key) + value for key, value in pairs) + b"u"


def pickle(body):
    return b"\x80\x02" + body + b"."


def zip_of(entries, method=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return stream.getvalue()


def legacy_file(state, keys, storages):
    """As torch before 1.6 wrote it: magic number, version, machine, state dict, keys, storages of floats."""
    head = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19." + pickle(b"M\xe9\x03") + pickle(b"}")
    listed = pickle(b"](" + b"".join(map(unicode, keys)) + b"e")
    return head + state + listed + b"".join(struct.pack("<q", len(bytes_) // 4) + bytes_ for bytes_ in storages)


def state_dict():
    fixtures = root / "tests" / "fixtures"
    seeds = {}
    for name in ("views", "whole_model", "smallcnn_data_parallel"):
        content = (fixtures / f"{name}.pt").read_bytes()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entry = next(entry for entry in archive.namelist() if entry.endswith("data.pkl"))
            seeds[f"{name}_pickle"] = archive.read(entry)
        if len(content) < 2048:
            seeds[name] = content
    tensor = pickled_tensor()
    plain = pickle(pickled_dict((b"w", tensor)))
    kinds = (b"Double", b"Half", b"BFloat16", b"Long", b"Int", b"Short", b"Char", b"Byte", b"Bool", b"Complex")
    for kind in kinds:
        seeds[f"pickle_{kind.decode().lower()}"] = pickle(
            pickled_dict((b"w", pickled_tensor(kind=kind + b"Storage", sizes=(4,), strides=(1,)))))
    storage = pickled_tensor(sizes=(24,), strides=(1,))
    again = b"".join(unicode(b"%d" % i) + b"h\x00" for i in range(40))
    pair = b"](U\x01w" + old_tensor() + b"e"
    part = lambda first: b"(" + unicode(b"p") + first + integer(4) + b"t"
    maker = b"cmodule\n" + b"m" * 1500 + b"\n"
    text = unicode(b"t" * 1500)
    seeds.update({
        "pickle_plain": plain,
        "pickle_ordered": pickle(b"ccollections\nOrderedDict\n)R(" + unicode(b"w") + tensor + b"u"),
        "pickle_nested": pickle(pickled_dict((b"epoch", b"K\x03"), (b"state_dict", pickled_dict((b"w", tensor))))),
        "pickle_parameter": pickle(pickled_dict(
            (b"w", b"ctorch._utils\n_rebuild_parameter\n" + tensor + b"\x88}\x87R"))),
        "pickle_old_tensor": pickle(pickled_dict((b"state_dict", pickled_dict((b"module.w", old_tensor()))),
                                                 (b"best_prec1", b"G" + bytes(8)))),
        "pickle_old_parameter": pickle(pickled_dict(
            (b"w", b"ctorch.nn.parameter\nParameter\n" + old_tensor() + b"\x85R\x88\x89N\x87b"))),
        "pickle_old_variable": pickle(pickled_dict(
            (b"w", b"ctorch.autograd.variable\nVariable\n" + old_tensor() + b"\x85R\x88\x89N\x87b"))),
        "pickle_old_part": pickle(pickled_dict((b"w", old_tensor(part(integer(8)), 1)))),
        "pickle_old_part_beyond": pickle(pickled_dict((b"w", old_tensor(part(b"\x8a\x08" + b"\xff" * 7 + b"\x7f"), 1)))),
        "pickle_pairs": pickle(b"ccollections\nOrderedDict\n](" + pair + b"e\x85R}b"),
        "pickle_pairs_again": pickle(b"ccollections\nOrderedDict\nq\x00](" + b"K\x01" * 800 + b"e\x85q\x010" + b"(" + b"h\x00h\x01R" * 300 + b"t"),
        "pickle_long_maker": pickle(maker + b"q\x00)Rq\x010}(" + b"".join(b"U\x02%02dh\x01" % i for i in range(100)) + b"u"),
        "pickle_module": pickle(b"(" + unicode(b"module") + b"cm\nNet\n" + unicode(b"net.py") + unicode(b"") + b"tQ)\x81}b"),
        "pickle_setitem": pickle(b"}" + unicode(b"w") + tensor + b"s"),
        "pickle_scalar": pickle(pickled_dict((b"w", pickled_tensor(sizes=(), strides=())))),
        "pickle_empty": pickle(pickled_dict((b"w", pickled_tensor(b"0", sizes=(0, 5), strides=(5, 1))))),
        "pickle_broadcast": pickle(pickled_dict((b"w", pickled_tensor(sizes=(24,), strides=(0,))))),
        "pickle_beyond": pickle(pickled_dict((b"w", pickled_tensor(offset=23, sizes=(2,), strides=(1,))))),
        "pickle_negative": pickle(pickled_dict((b"w", pickled_tensor(offset=-1, sizes=(-1,), strides=(-1,))))),
        "pickle_overflow": pickle(pickled_dict((b"w", pickled_tensor(sizes=(2 ** 31 - 1,) * 3,
                                                                     strides=(2 ** 31 - 1,) * 3)))),
        "pickle_missing_storage": pickle(pickled_dict((b"w", pickled_tensor(b"9")))),
        "pickle_same_tensor": pickle(pickled_dict((b"w", storage + b"q\x00")) + b"(" + again + b"u"),
        "pickle_same_key": pickle(pickled_dict((b"w", tensor), (b"w", tensor), (b"w", tensor))),
        "pickle_same_text": pickle(b"(" + text + b"q\x00" + b"h\x00" * 1000 + b"t"),
        "pickle_many_dimensions": pickle(pickled_dict((b"w", pickled_tensor(sizes=(1,) * 70, strides=(1,) * 70)))),
        "pickle_numbers": pickle(b"(NK\x01M\x01\x02J\x01\x02\x03\x04\x8a\x00\x8a\x02\x00\x80\x8a\x08" + bytes(8) + b"G"
                                 + bytes(8) + b"\x88\x89U\x01a\x8c\x01b)]t"),
        "pickle_lists": pickle(b"](K\x01K\x02eK\x03a\x94" + b"h\x00\x85" + b"K\x01\x86" + b"NN\x87" + b"0}"),
        "pickle_cycle": pickle(b"}q\x00" + unicode(b"state_dict") + b"h\x00s"),
        "pickle_other_call": pickle(b"cos\nsystem\n(" + unicode(b"true") + b"tR"),
        "pickle_framed": b"\x80\x04\x95" + struct.pack("<Q", 3) + b"}\x94.",
        "pickle_marks": pickle(b"(((((tttt}0}"),
        "pickle_unknown_opcode": pickle(b"\xff"),
        "legacy_old_tensor": legacy_file(pickle(pickled_dict((b"w", old_tensor(part(integer(8)), 1)))), [b"2"], [bytes(96)]),
        "legacy_complex": legacy_file(pickle(pickled_dict((b"w", pickled_tensor(kind=b"ComplexFloatStorage")))), [b"2"],
                                      [bytes(96)]),
        "legacy": legacy_file(plain, [b"2"], [bytes(96)]),
        "legacy_short": legacy_file(plain, [b"2"], [bytes(96)])[:-20],
        "legacy_unknown_key": legacy_file(plain, [b"7"], [bytes(96)]),
        "legacy_same_key": legacy_file(plain + pickle(b"](" + unicode(b"k" * 1700) + b"q\x00" + b"h\x00" * 950 + b"e"),
                                       [], []),
        "zip_flat": zip_of([("data.pkl", plain), ("data/2", bytes(96))]),
        "zip_nested": zip_of([("archive/data.pkl", plain), ("archive/data/2", bytes(96)), ("archive/version", b"3\n")]),
        "zip_deflated": zip_of([("a/data.pkl", plain), ("a/data/2", bytes(96))], zipfile.ZIP_DEFLATED),
        "zip_bomb": zip_of([("a/data.pkl", plain), ("a/data/2", bytes(1 << 16))], zipfile.ZIP_DEFLATED),
        "zip_no_pickle": zip_of([("a/data/2", bytes(96))]),
        "zip_short_storage": zip_of([("a/data.pkl", plain), ("a/data/2", bytes(16))]),
        "zip_empty": zip_of([]),
        "zip_truncated": zip_of([("data.pkl", plain), ("data/2", bytes(96))])[:-30],
    })
    return seeds


# Checkpoints: state dicts with a text and a checksum over names, shapes and values.

def checkpoint_file(entries, checksum=None):
    if checksum is None:
        digest = hashlib.sha256()
        for name, shape, kind, values in entries:
            digest.update(name + b" [" + b",".join(b"%d" % size for size in shape) + b"] " + values)
        checksum = digest.hexdigest().encode()
    entries = entries + [(b"batchplus.sha256", (len(checksum),), b"Byte", checksum)]
    members = []
    files = []
    for i, (name, shape, kind, values) in enumerate(entries):
        strides = tuple(math.prod(shape[d + 1:]) for d in range(len(shape)))
        members.append((name, pickled_tensor(b"%d" % i, kind=kind + b"Storage", sizes=shape, strides=strides)))
        files.append((f"archive/data/{i}", values))
    return zip_of([("archive/data.pkl", pickle(pickled_dict(*members)))] + files)


def checkpoint():
    text = b'{"format_version":1,"train":{"epoch":2},"loss_sum":0.5,"config":"lr = 0.1\\n","records":"{}\\n"}'
    weight = (b"fc.weight", (2, 3), b"Float", struct.pack("<6f", *range(6)))
    state = (b"batchplus.state", (len(text),), b"Byte", text)
    not_json = (b"batchplus.state", (1,), b"Byte", b"{")
    whole = checkpoint_file([weight, state])
    return {
        "whole": whole,
        "truncated": whole[:-40],
        "wrong_checksum": checkpoint_file([weight, state], b"0" * 64),
        "short_checksum": checkpoint_file([weight, state], b""),
        "no_text": checkpoint_file([weight]),
        "not_json": checkpoint_file([weight, not_json]),
        "two_texts": checkpoint_file([state, weight, state]),
        "empty_tensor": checkpoint_file([(b"w", (0, 4), b"Float", b""), state]),
        "text_alone": text,
        "deep_text": b"[" * 2000,
        "numbers": b'{"a":1e999,"b":-0.0,"c":18446744073709551616,"d":1E-400}',
    }


# Run directories: status.json, config.toml, metrics.jsonl and provenance.json with zero bytes between them.

def run_directory():
    def status(content):
        return json.dumps(content, separators=(",", ":")).encode()

    # Numbers are written as the program writes them, so that the checksum is that of its own text.
    content = {"format_version": 2, "status": "done", "updated": "2026-01-31T12:00:00Z", "test_accuracy": 50.5}
    config = b"lr = 0.5\n"
    metrics = b'{"epoch":1,"test_accuracy":50.5}\n'
    content["config_sha256"] = hashlib.sha256(config).hexdigest()
    content["metrics_sha256"] = hashlib.sha256(metrics).hexdigest()
    whole = dict(content, checksum=hashlib.sha256(status(content)).hexdigest())
    old = status({"format_version": 1, "status": "done"})
    provenance = b'{"commit":"abc","threads":2}'
    seeds = {
        "whole": (status(whole), config, metrics, provenance),
        "old": (old, config, metrics, provenance),
        "wrong_checksum": (status(dict(whole, test_accuracy=99)), config, metrics, provenance),
        "other_config": (status(whole), b"lr = 0.6\n", metrics, provenance),
        "other_metrics": (status(whole), config, metrics * 2, provenance),
        "torn_line": (old, config, metrics + b'{"epoch":', provenance),
        "damaged_line": (old, config, b"{\n" + metrics, provenance),
        "future": (status({"format_version": 99, "status": "done"}), b"", b"", b""),
        "not_a_status": (b"[1]", b"", b"", b""),
        "word_missing": (b'{"format_version":1}', b"", b"", b""),
        "deep": (b'{"a":' * 500, b"", b"", b""),
    }
    return {name: b"\0".join(files) for name, files in seeds.items()}


# Event files: a tag, a text and numbers.

def event_file():
    return {
        "plain": b"\x05test/" + struct.pack("<3d", 1.5, -2.25, 1e300) + b"text",
        "empty": b"",
        "not_unicode": b"\x02\xff\xfe" + bytes(8),
        "not_finite": b"\x01a" + struct.pack("<2d", math.inf, math.nan),
    }


# TOML.

def config_keys():
    source = (root / "src" / "config" / "config_fields.cpp").read_text()
    return re.findall(r'"(\w+)",\s*&C::', source)


def toml():
    seeds = {
        "typical": 'dataset = "cifar10"\nmodel = "small-cnn"\nmethod = "bp-svrg"\nlr = 0.1\ninner_batch = 128\n'
                   'outer_batch = "2x"\nepochs = 30\nschedule = "step:0.4,0.6,0.8/10"\nweight_decay = 5e-4\n',
        "numbers": "lr = 1e-3\nmomentum = 0\nradius = 1_000.5\nseed = 0x7f\nepochs = 0b11\nouter_batch = 256\n"
                   "coefficient = 0.5\n",
        "limits": "lr = 1.7976931348623157e308\nweight_decay = 5e-324\nseed = 9223372036854775807\n",
        "not_finite": "lr = inf\n",
        "not_finite_text": "coefficient = nan\n",
        "text": 'out = "a\\tb\\n\\u00e9\\"\\\\"\ninit = \'literal\\\'\ndata_dir = """\nmany\nlines"""\n',
        "control_characters": 'out = "\\u0000\\u001f\\u007f"\n',
        "empty_text": 'method = ""\nout = ""\n',
        "comments": '# a comment\n\n  lr = 1 # another\r\nseed = 1\r\n',
        "choices": 'sampling = "epcoh"\n',
        "unknown_key": "weigth_decay = 1\n",
        "wrong_type": 'lr = "fast"\n',
        "table": "[train]\nlr = 1\n",
        "tables": "[[a.b]]\n[a.c]\nd.e = {f = [1, 2.0, 'x'], g = 1979-05-27T07:32:00Z}\n",
        "table_without_name": "[[ = 1\n",
        "letters": "lr = 0\u049e\u00e9\u0416\u2003\u3000\U0001f600\n",
        "dates": "epochs = 07:32:00\n",
        "deep": "lr = " + "[" * 300 + "\n",
        "deep_keys": "lr" + ".a" * 300 + " = 1\n",
        "twice": "lr = 1\nlr = 2\n",
        "empty": "",
        "mark": "\ufefflr = 1\n",
    }
    seeds = {name: content.encode() for name, content in seeds.items()}
    seeds["not_unicode"] = b'out = "\xff\xfe"\n'
    words = {"augment": "none", "sampling": "epoch", "snapshot_gradients": "cache", "kernels": "fast",
             "normalization": "batch", "metrics_batchnorm": "eval"}
    fractions = {"beta1", "beta2", "label_smoothing", "average"}
    numbers = {key: 0.5 if key in fractions else 1 for key in config_keys()}
    every_key = "".join(f'{key} = "{words[key]}"\n' if key in words else f"{key} = {number}\n"
                        for key, number in numbers.items())
    seeds["every_key"] = every_key.encode()
    return seeds


def toml_dictionary():
    others = ["true", "false", "inf", "nan", "0x", "0b", "0o", "e-4", " = ", '"""', "'''", "[[", "]]", "\\\\u0000",
              "1979-05-27T07:32:00Z", "auto", "none", "epoch", "cache", "2x", "linear:", "warmup:"]
    escaped = [word.replace('"', '\\"') for word in config_keys() + others]
    return "".join(f'"{word}"\n' for word in escaped)


if __name__ == "__main__":
    for target in (cifar, idx, mat, tar, png, state_dict, checkpoint, run_directory, event_file, toml):
        write(target.__name__, target())
    (here / "dictionaries" / "toml.dict").write_text(toml_dictionary())
