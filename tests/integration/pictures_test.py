#!/usr/bin/env python3
"""Pictures as inputs, files of other types, and the classes with the largest values. Pictures are written and resized by
Pillow, as the reference. Exits 77, with the reason, where numpy or Pillow is not installed.

  pictures_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import re
import struct
import sys
import unittest

try:
    import numpy as np
    from PIL import Image, ImageOps
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import cli_test
import onnx_bytes

DIGITS = cli_test.ROOT / "configs" / "digits"
LABELS = "zero one two three four five six seven eight nine".split()
ONNX_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "float16": 10, "int64": 7}


class Pictures(cli_test.Cli):
    def identity(self, shape, dtype="float32"):
        """y = x + 0, of this type and shape, so that the output shows the input."""
        zero = onnx_bytes.integer_tensor(ONNX_TYPES[dtype], np.zeros(1, dtype).tobytes(), (1,), "zero")
        return self.file(f"{dtype}.onnx", onnx_bytes.model(
            [onnx_bytes.node("Add", ["x", "zero"], ["y"])],
            [onnx_bytes.value_info("x", shape, ONNX_TYPES[dtype])],
            [onnx_bytes.value_info("y", shape, ONNX_TYPES[dtype])], initializers=[zero], opset=14))  # fmt: skip

    def picture(self, name, image, **options):
        image.save(self.scratch / name, **options)
        return self.scratch / name

    def photo(self, width, height):
        """Smooth, with edges, of three different channels."""
        y, x = np.mgrid[0:height, 0:width]
        red = 127 + 120 * np.sin(x / 7.0) * np.cos(y / 5.0)
        green, blue = 255 * (x > width / 3), 255 * y / height
        return Image.fromarray(np.stack([red, green, blue], -1).astype(np.uint8), "RGB")

    def tensor_of(self, model, *arguments):
        run = cli_test.deputy("run", model, "--output-dir", self.scratch / "out", *arguments)
        self.check(run, 0)
        return np.load(self.scratch / "out" / "y.npy"), run

    def classes(self, *arguments):
        run = cli_test.deputy("run", DIGITS / "digits.onnx", "--labels", self.labels(), *arguments)
        self.check(run, 0)
        return re.findall(r"(?m)^  (?:logits|\S+) +(?:\d+ +)?1 +\d+ +\S+ +(\w+)$", run.stdout)

    def labels(self, labels=LABELS):
        return self.file("labels.txt", "\n".join(labels) + "\n")


class Digits(Pictures):
    FORMATS = ("png", "jpg", "ppm")

    def test_ADrawnPictureIsClassifiedAlikeFromEachFormat(self):
        for number in range(20):
            digit = number // 2
            drawn = Image.open(DIGITS / "images" / f"{number:02}_{digit}.pgm")
            for suffix in self.FORMATS:
                with self.subTest(number=number, suffix=suffix):
                    path = self.picture(f"{number}.{suffix}", drawn.convert("RGB"))
                    found = self.classes("--input", f"image={path}", "--scale", "1/255", "--top", "1")
                    self.assertEqual(found, [LABELS[digit]])

    def test_ALargeOneIsBroughtToTheSizeOfTheInput(self):
        drawn = Image.open(DIGITS / "images" / "10_5.pgm").resize((280, 280), Image.BICUBIC)
        for suffix in self.FORMATS:
            path = self.picture(f"five.{suffix}", drawn)
            self.assertEqual(self.classes("--input", f"image={path}", "--scale", "1/255", "--top", "1"), ["five"])

    def test_SeveralPicturesAreOneBatch(self):
        arguments = []
        for number, suffix in ((4, "png"), (10, "jpg"), (16, "ppm")):
            drawn = Image.open(DIGITS / "images" / f"{number:02}_{number // 2}.pgm")
            arguments += ["--input", f"image={self.picture(f'{number}.{suffix}', drawn)}"]
        self.assertEqual(self.classes(*arguments, "--scale", "1/255", "--top", "1"), ["two", "five", "eight"])

    def test_OtherCountsOfLabelsAreTwo(self):
        five = DIGITS / "images" / "10_5.pgm"
        for labels in (LABELS[:9], LABELS + ["ten"]):
            run = cli_test.deputy("run", DIGITS / "digits.onnx", "--input", f"image={five}", "--top", "1", "--labels",
                                  self.labels(labels))  # fmt: skip
            self.check(run, 2, rf"labels.txt has {len(labels)} labels, output '\w+' has 10 classes")

    def test_LabelsWithoutTopAndMissingLabelsAreTwo(self):
        self.check(cli_test.deputy("run", DIGITS / "digits.onnx", "--labels", self.labels()), 2, "--top")
        self.check(cli_test.deputy("run", DIGITS / "digits.onnx", "--top", "1", "--labels", "/nowhere"), 2, "nowhere")

    def test_SoftmaxIsAppliedOnRequest(self):
        five = ("run", DIGITS / "digits.onnx", "--input", f"image={DIGITS / 'images' / '10_5.pgm'}", "--scale", "1/255",
                "--top", "10")  # fmt: skip
        values = [float(value) for value in re.findall(r"(?m)^  \S+ +\d+ +\d+ +(\S+)$",
                                                       cli_test.deputy(*five, "--softmax").stdout)]  # fmt: skip
        self.assertEqual(len(values), 10)
        self.assertEqual(values, sorted(values, reverse=True))
        self.assertAlmostEqual(sum(values), 1, places=2)


class Tensors(Pictures):
    def test_ModesOfResizeAgreeWithPillow(self):
        size = (48, 32)
        references = {
            "stretch": lambda image: image.resize(size, Image.BILINEAR),
            "letterbox": lambda image: ImageOps.pad(image, size, Image.BILINEAR),
            "crop": lambda image: ImageOps.fit(image, size, Image.BILINEAR),
        }
        for source in ((200, 150), (20, 16), (96, 64), (90, 300)):
            image = self.photo(*source)
            path = self.picture("photo.png", image)
            for mode, reference in references.items():
                with self.subTest(source=source, mode=mode):
                    got, _ = self.tensor_of(self.identity((1, 3, 32, 48)), "--input", f"x={path}", "--resize", mode)
                    want = np.asarray(reference(image), np.float32).transpose(2, 0, 1)[None]
                    if mode == "crop":  # Pillow rounds the part of the source to whole pixels at its edges
                        self.assertLessEqual(np.abs(got - want).mean(), 1)
                    else:
                        self.assertLessEqual(np.abs(got - want).max(), 1)

    def test_MeanAndScaleAreThoseOfTheFormula(self):
        image = self.photo(8, 6)
        path = self.picture("photo.ppm", image)
        got, _ = self.tensor_of(self.identity((1, 3, 6, 8)), "--input", f"x={path}", "--mean", "123.675,116.28,103.53",
                                "--scale", "1/58.395,1/57.12,1/57.375")  # fmt: skip
        want = (np.asarray(image, np.float64) - [123.675, 116.28, 103.53]) / [58.395, 57.12, 57.375]
        np.testing.assert_allclose(got[0], want.transpose(2, 0, 1), rtol=1e-6, atol=1e-6)

    def test_TypesAndLayouts(self):
        image = self.photo(8, 6)
        path = self.picture("photo.png", image)
        pixels = np.asarray(image)
        got, _ = self.tensor_of(self.identity((1, 6, 8, 3), "uint8"), "--input", f"x={path}")
        np.testing.assert_array_equal(got, pixels[None])
        got, _ = self.tensor_of(self.identity((6, 8, 3), "int8"), "--input", f"x={path}", "--mean", "128")
        np.testing.assert_array_equal(got, (pixels.astype(int) - 128).astype(np.int8))
        got, _ = self.tensor_of(self.identity((3, 6, 8), "float16"), "--input", f"x={path}", "--scale", "1/255")
        np.testing.assert_array_equal(got, (pixels / 255.0).astype(np.float16).transpose(2, 0, 1))
        got, _ = self.tensor_of(self.identity((1, 3, 6, 8)), "--input", f"x={path}", "--channels", "bgr")
        np.testing.assert_array_equal(got, pixels[:, :, ::-1].transpose(2, 0, 1)[None])
        got, _ = self.tensor_of(self.identity((1, 1, 6, 8)), "--input", f"x={path}")
        self.assertLessEqual(np.abs(got[0, 0] - np.asarray(image.convert("L"), np.float32)).max(), 1)

    def test_OpenHeightAndWidthAreThePicturesOrThoseOfTheShape(self):
        path = self.picture("photo.png", self.photo(8, 6))
        model = self.identity(("n", 3, "h", "w"))
        self.assertEqual(self.tensor_of(model, "--input", f"x={path}")[0].shape, (1, 3, 6, 8))
        got, run = self.tensor_of(model, "--input", f"x={path}", "--shape", "x=1x3x12x4")
        self.assertEqual(got.shape, (1, 3, 12, 4))
        self.assertRegex(run.stdout, r"photo\.png, 8x6 stretched to 4x12")

    def test_AFixedSizeIsChangedByTheShape(self):
        path = self.picture("photo.png", self.photo(8, 6))
        got, _ = self.tensor_of(self.identity((1, 3, 6, 8)), "--input", f"x={path}", "--shape", "x=1x3x3x4")
        self.assertEqual(got.shape, (1, 3, 3, 4))

    def test_AnAmbiguousShapeIsTwoAndNamesTheFlag(self):
        path = self.picture("photo.png", self.photo(8, 6))
        model = self.identity((1, 3, 6, 3))
        self.check(cli_test.deputy("run", model, "--input", f"x={path}"), 2, "--layout NCHW")
        self.assertEqual(self.tensor_of(model, "--input", f"x={path}", "--layout", "NCHW")[0].shape, (1, 3, 6, 3))

    def test_OrientationOfExifIsAppliedAsByPillow(self):
        image = self.photo(16, 8)
        for suffix in ("jpg", "png"):
            for orientation in range(1, 9):
                with self.subTest(suffix=suffix, orientation=orientation):
                    exif = Image.Exif()
                    exif[0x0112] = orientation
                    path = self.picture(f"turned.{suffix}", image, exif=exif.tobytes())
                    want = np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB"), np.float32)
                    got, _ = self.tensor_of(self.identity(("n", 3, "h", "w")), "--input", f"x={path}")
                    self.assertEqual(got.shape[2:], want.shape[:2])
                    self.assertLessEqual(np.abs(got[0].transpose(1, 2, 0) - want).max(), 2)

    def test_KindsOfPngAreReadAsByPillow(self):
        image = self.photo(16, 8)
        alpha = image.copy()
        alpha.putalpha(Image.fromarray(np.arange(128, dtype=np.uint8).reshape(8, 16)))
        for name, kind in (("palette", image.convert("P")), ("grey", image.convert("L")), ("bits", image.convert("1")),
                           ("alpha", alpha), ("grey_alpha", alpha.convert("LA"))):
            with self.subTest(name):
                path = self.picture(f"{name}.png", kind)
                got, _ = self.tensor_of(self.identity((1, 3, 8, 16)), "--input", f"x={path}")
                want = np.asarray(kind.convert("RGB"), np.float32)
                self.assertLessEqual(np.abs(got[0].transpose(1, 2, 0) - want).max(), 1)

    def test_OtherFilesAreTwoAndSaidToBeNoPictures(self):
        model = self.identity((1, 3, 6, 8))
        whole = self.picture("photo.jpg", self.photo(80, 60)).read_bytes()
        for name, content in (("a.webp", b"RIFF\0\0\0\0WEBP"), ("b.png", b"not a picture"), ("c.jpg", whole[:700]),
                              ("empty.ppm", b"")):  # fmt: skip
            with self.subTest(name):
                self.check(cli_test.deputy("run", model, "--input", f"x={self.file(name, content)}"), 2, name)
        self.check(cli_test.deputy("run", model, "--input", f"x={self.scratch / 'absent.png'}"), 2, "absent.png")
        self.check(cli_test.deputy("run", model, "--mean", "1"), 2, "--mean")

    def test_BenchAndVerifyTakePicturesToo(self):
        path, model = self.picture("photo.png", self.photo(8, 6)), self.identity((1, 3, 6, 8))
        self.check(cli_test.deputy("bench", model, "--input", f"x={path}", "--runs", "1"), 0)
        self.check(cli_test.deputy("bench", model, "--input", f"x={path}", "--runs", "1", "--layout", "NHWC"), 2, "NHWC|channels")


class OtherTypes(Pictures):
    def test_AnotherTypeIsTwoWithoutTheFlagAndConvertedWithIt(self):
        values = np.array([[1.4, 2.5, 3.5], [-7, 255, 1e3]])
        np.save(self.scratch / "x.npy", values)
        model = self.identity((2, 3))
        self.check(cli_test.deputy("run", model, "--input", f"x={self.scratch / 'x.npy'}"), 2, "float64", "--convert-inputs")
        got, _ = self.tensor_of(model, "--input", f"x={self.scratch / 'x.npy'}", "--convert-inputs")
        np.testing.assert_array_equal(got, values.astype(np.float32))

    def test_IntegersAreRoundedAndMustBeInRange(self):
        model = self.identity((3,), "int8")
        np.save(self.scratch / "x.npy", np.array([1.5, -2.5, 127.4], np.float32))
        got, _ = self.tensor_of(model, "--input", f"x={self.scratch / 'x.npy'}", "--convert-inputs")
        np.testing.assert_array_equal(got, np.array([2, -2, 127], np.int8))
        np.save(self.scratch / "x.npy", np.array([1, 2, 300], np.int64))
        self.check(cli_test.deputy("run", model, "--input", f"x={self.scratch / 'x.npy'}", "--convert-inputs"), 2,
                   "element 2 is 300")  # fmt: skip

    def test_ProtobufFilesAreConvertedToo(self):
        path = self.file("x.pb", onnx_bytes.integer_tensor(7, struct.pack("<2q", 5, -6), (2,)))
        got, _ = self.tensor_of(self.identity((2,)), "--input", f"x={path}", "--convert-inputs")
        np.testing.assert_array_equal(got, np.array([5, -6], np.float32))

    def test_AnotherShapeIsStillTwo(self):
        np.save(self.scratch / "x.npy", np.zeros((3, 2)))
        self.check(cli_test.deputy("run", self.identity((2, 3)), "--input", f"x={self.scratch / 'x.npy'}", "--convert-inputs"),
                   2, r"\[3,2\]")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    arguments, rest = parser.parse_known_args()
    cli_test.DEPUTY = arguments.deputy
    unittest.main(argv=sys.argv[:1] + rest)
