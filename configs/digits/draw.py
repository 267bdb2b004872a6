"""Draws the digits: the fonts, the distortions, the held-out sets and PGM files.

train.py and check.py share this file, so that the pictures a check re-makes
are the pictures the training script meant. Everything random comes from a
seeded generator.
"""

import math
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont, ImageOps

SIDE = 28
FONT_ROOT = Path("/usr/share/fonts")

# Debian package -> font files below FONT_ROOT. The two tables share no type
# family: a held-out digit has a shape the network was never shown.
TRAINING_FONTS = {
    "fonts-dejavu-core": [
        f"truetype/dejavu/DejaVu{face}.ttf"
        for face in ("Sans", "Sans-Bold", "SansMono", "SansMono-Bold", "Serif", "Serif-Bold")
    ],
    "fonts-dejavu-extra": [
        f"truetype/dejavu/DejaVu{face}.ttf"
        for face in ("Sans-ExtraLight", "Sans-Oblique", "SansCondensed", "Serif-Italic",
                     "SerifCondensed-Bold")
    ],
    "fonts-liberation": [
        f"truetype/liberation/Liberation{face}.ttf"
        for face in ("Sans-Regular", "Sans-Bold", "Sans-Italic", "SansNarrow-Regular",
                     "SansNarrow-Bold", "Serif-Regular", "Serif-Bold", "Serif-Italic",
                     "Mono-Regular", "Mono-Bold")
    ],
    "fonts-freefont-ttf": [
        f"truetype/freefont/Free{face}.ttf"
        for face in ("Sans", "SansBold", "Serif", "SerifBold", "SerifItalic", "Mono", "MonoBold")
    ],
    "fonts-lato": [
        f"truetype/lato/Lato-{face}.ttf"
        for face in ("Light", "Regular", "Italic", "Bold", "Black")
    ],
    "fonts-open-sans": [
        f"truetype/open-sans/OpenSans-{face}.ttf"
        for face in ("Light", "Regular", "Italic", "Bold", "ExtraBold", "CondBold")
    ],
    "fonts-linuxlibertine": [
        f"opentype/linux-libertine/Lin{face}.otf"
        for face in ("Libertine_R", "Libertine_RB", "Libertine_RI", "Biolinum_R", "Biolinum_RB")
    ],
    "fonts-crosextra-caladea": [
        f"truetype/crosextra/Caladea-{face}.ttf" for face in ("Regular", "Bold", "Italic")
    ],
    "fonts-cabin": [
        f"opentype/cabin/Cabin-{face}.otf" for face in ("Regular", "Bold", "Italic")
    ],
}
HELD_OUT_FONTS = {
    "fonts-cantarell": [
        f"opentype/cantarell/Cantarell-{face}.otf" for face in ("Light", "Regular", "Bold")
    ],
    "fonts-roboto-unhinted": [
        "truetype/roboto/unhinted/RobotoTTF/Roboto-Regular.ttf",
        "truetype/roboto/unhinted/RobotoTTF/Roboto-Bold.ttf",
        "truetype/roboto/unhinted/RobotoTTF/Roboto-Italic.ttf",
        "truetype/roboto/unhinted/RobotoCondensed-Regular.ttf",
    ],
    "fonts-sil-gentium-basic": [
        f"truetype/gentium-basic/GenBas{face}.ttf" for face in ("R", "B", "I")
    ],
    "fonts-inconsolata": ["truetype/inconsolata/Inconsolata.otf"],
}

HELD_OUT_SEED = 20_002
HELD_OUT_COUNT = 4_000
SHIPPED_SEED = 30_003

# Glyphs are kept this tall, and pictures are composed this many times too
# large before they are averaged down: a smooth edge costs nothing later.
GLYPH_HEIGHT = 96
OVERSAMPLE = 4


class MissingFonts(Exception):
    """Some font file is not installed; names the Debian packages that hold it."""


def load_glyphs(fonts):
    """Rasterises every digit of every font in the table: a list of ten-glyph lists.

    A glyph is cropped to its ink and brought to one height, so that size and
    place are the distortion's to choose and not the type designer's.
    """
    missing = [package for package, files in fonts.items()
               if not all((FONT_ROOT / name).is_file() for name in files)]
    if missing:
        raise MissingFonts("apt-get install " + " ".join(missing))

    def glyph(font, digit):
        canvas = Image.new("L", (400, 400))
        ImageDraw.Draw(canvas).text((100, 80), str(digit), fill=255, font=font)
        ink = canvas.crop(canvas.getbbox())
        width = max(1, round(ink.width * GLYPH_HEIGHT / ink.height))
        # The empty rim lets bilinear sampling fade the outline out, not cut it.
        return ImageOps.expand(ink.resize((width, GLYPH_HEIGHT), Image.Resampling.BOX), 2)

    faces = []
    for name in (name for files in fonts.values() for name in files):
        # The basic layout engine is always there; Raqm is a build option.
        font = ImageFont.truetype(str(FONT_ROOT / name), 160,
                                  layout_engine=ImageFont.Layout.BASIC)
        faces.append([glyph(font, digit) for digit in range(10)])
    return faces


def place(glyph, height, degrees=0.0, slant=0.0, stretch=1.0, dx=0.0, dy=0.0):
    """Puts the glyph's middle at the picture's middle plus (dx, dy), distorted.

    `height` is in pixels of the final picture. The result is still OVERSAMPLE
    times too large.
    """
    scale = OVERSAMPLE * height / GLYPH_HEIGHT
    turn = math.radians(degrees)
    cos, sin = math.cos(turn), math.sin(turn)
    # Glyph to picture is rotation * slant * scale; PIL wants picture to glyph.
    a, b = scale * stretch * cos, scale * (slant * cos - sin)
    c, d = scale * stretch * sin, scale * (slant * sin + cos)
    det = a * d - b * c
    ia, ib, ic, id_ = d / det, -b / det, -c / det, a / det
    side = SIDE * OVERSAMPLE
    mid_x, mid_y = side / 2 + dx * OVERSAMPLE, side / 2 + dy * OVERSAMPLE
    data = (ia, ib, glyph.width / 2 - ia * mid_x - ib * mid_y,
            ic, id_, glyph.height / 2 - ic * mid_x - id_ * mid_y)
    return glyph.transform((side, side), Image.Transform.AFFINE, data,
                           resample=Image.Resampling.BILINEAR)


def clean(glyph):
    """The digit as printed: upright, centred, full ink on an empty ground."""
    return np.asarray(place(glyph, 20.0).reduce(OVERSAMPLE))


def distorted(glyph, rng):
    """The digit shifted, turned, slanted, scaled, thickened or thinned, and noisy."""
    picture = place(glyph, height=rng.uniform(15.0, 22.0), degrees=rng.uniform(-15.0, 15.0),
                    slant=rng.uniform(-0.2, 0.2), stretch=rng.uniform(0.8, 1.25),
                    dx=rng.uniform(-3.0, 3.0), dy=rng.uniform(-3.0, 3.0))
    weight = rng.integers(4)
    if weight == 0:
        picture = picture.filter(ImageFilter.MaxFilter(3))
    elif weight == 1:
        # Half of the thinning only: a hairline must not vanish.
        picture = ImageChops.blend(picture, picture.filter(ImageFilter.MinFilter(3)), 0.5)
    picture = picture.reduce(OVERSAMPLE)
    if rng.integers(2):
        picture = picture.filter(ImageFilter.GaussianBlur(rng.uniform(0.3, 0.8)))
    pixels = np.asarray(picture, dtype=np.float64) * rng.uniform(0.6, 1.0)
    pixels += rng.normal(0.0, rng.uniform(0.0, 25.0), pixels.shape)
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


def draw_set(fonts, count, seed):
    """`count` distorted digits, fonts and digits drawn evenly: (pixels u8, labels)."""
    faces = load_glyphs(fonts)
    rng = np.random.default_rng(seed)
    pixels = np.empty((count, SIDE, SIDE), dtype=np.uint8)
    labels = np.arange(count) % 10
    for index, digit in enumerate(labels):
        face = faces[rng.integers(len(faces))]
        pixels[index] = distorted(face[digit], rng)
    return pixels, labels


def held_out_set():
    """The large set, from fonts training never saw, that the accuracy is quoted on."""
    return draw_set(HELD_OUT_FONTS, HELD_OUT_COUNT, HELD_OUT_SEED)


def shipped_images():
    """The pictures in images/: file name -> pixels, one clean and one distorted per digit.

    Clean ones and distorted ones walk through the held-out faces in turn, so
    that the handful shows every family.
    """
    faces = load_glyphs(HELD_OUT_FONTS)
    rng = np.random.default_rng(SHIPPED_SEED)
    images = {}
    for number in range(20):
        digit = number // 2
        glyph = faces[number * 3 % len(faces)][digit]
        pixels = clean(glyph) if number % 2 == 0 else distorted(glyph, rng)
        images[f"{number:02}_{digit}.pgm"] = pixels
    return images


def as_input(pixels):
    """Grey bytes [n, 28, 28] as the model's input: float32 [n, 1, 28, 28] in 0..1."""
    return (pixels.astype(np.float32) / np.float32(255.0))[:, np.newaxis]


def pgm_bytes(pixels):
    """An 8-bit picture as a binary PGM file."""
    height, width = pixels.shape
    return b"P5\n%d %d\n255\n" % (width, height) + pixels.tobytes()


def read_pgm(path):
    """Reads back the output of pgm_bytes: no comments, one line per header field."""
    magic, size, top, pixels = path.read_bytes().split(b"\n", maxsplit=3)
    if magic != b"P5" or top != b"255":
        raise ValueError(f"{path.name} is not an 8-bit binary PGM")
    width, height = map(int, size.split())
    return np.frombuffer(pixels, dtype=np.uint8).reshape(height, width)
