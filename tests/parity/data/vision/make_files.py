"""Write files/: one small image of each kind that Decode meets. Run once, by hand; the files are kept."""

from __future__ import annotations

import io

import cv2
import numpy as np
from PIL import Image

from tests.parity.data.vision.inputs import FILES, smooth, u8


def save(name: str, image: Image.Image, **options: object) -> None:
    image.save(FILES / name, **options)


def main() -> None:
    colour = Image.fromarray(smooth(37, 53))
    grey = Image.fromarray(smooth(37, 53, 1)[:, :, 0])
    alpha = Image.fromarray(np.dstack([smooth(37, 53), u8(37, 53, 1)]))
    save("rgb.jpg", colour, quality=85)
    save("rgb444.jpg", colour, quality=95, subsampling=0)
    save("rgb422.jpg", colour, quality=70, subsampling=1)
    save("progressive.jpg", colour, progressive=True)
    save("grey.jpg", grey)
    save("cmyk.jpg", colour.convert("CMYK"))
    inks = bytearray((FILES / "cmyk.jpg").read_bytes())
    # the last byte of the Adobe segment says how the inks are stored: 0 as they are, 2 as luminance and colour
    inks[inks.index(b"Adobe") + 11] = 2
    (FILES / "ycck.jpg").write_bytes(bytes(inks))
    save("tiny.jpg", Image.fromarray(u8(1, 1, 3)))
    exif = Image.Exif()
    exif[0x0112] = 6
    save("turned.jpg", colour, exif=exif)
    save("turned.png", colour, exif=exif)
    whole = (FILES / "rgb.jpg").read_bytes()
    (FILES / "truncated.jpg").write_bytes(whole[: len(whole) // 2])
    (FILES / "header_only.jpg").write_bytes(whole[:60])
    damaged = bytearray(whole)
    for i in range(len(damaged) // 2, len(damaged) // 2 + 40):
        damaged[i] = (i * 37) % 251
    (FILES / "damaged.jpg").write_bytes(bytes(damaged))
    (FILES / "trailing.jpg").write_bytes(whole + b"\0" * 20)
    save("rgb.png", colour)
    save("grey.png", grey)
    save("rgba.png", alpha)
    save("palette.png", colour.quantize(16))
    save("one_bit.png", grey.convert("1"))
    save("grey_alpha.png", alpha.convert("LA"))
    save("deep.png", Image.fromarray(smooth(37, 53, 1)[:, :, 0].astype(np.uint16) * 251))
    png = (FILES / "rgb.png").read_bytes()
    (FILES / "truncated.png").write_bytes(png[: len(png) // 2])
    save("rgb.bmp", colour)
    save("grey.bmp", grey)
    save("rgb.gif", colour.quantize(16))
    frames = [colour.quantize(16), colour.transpose(Image.Transpose.FLIP_LEFT_RIGHT).quantize(16)]
    frames[0].save(FILES / "animated.gif", save_all=True, append_images=frames[1:])
    save("rgb.tiff", colour)
    save("rgb.webp", colour, lossless=True)
    turned = colour.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    colour.save(FILES / "animated.png", save_all=True, append_images=[turned])
    cv2.imwrite(str(FILES / "deep_rgb.png"), smooth(37, 53).astype(np.uint16) * 251)
    save("deep.tiff", Image.fromarray(smooth(37, 53, 1)[:, :, 0].astype(np.uint16) * 251))
    (FILES / "empty.bin").write_bytes(b"")
    (FILES / "noise.bin").write_bytes(u8(200).tobytes())
    # a PNG header that promises 100,000 x 100,000 pixels
    buffer = io.BytesIO()
    colour.save(buffer, "png")
    bomb = bytearray(buffer.getvalue())
    bomb[16:24] = (100_000).to_bytes(4, "big") * 2
    import zlib

    bomb[29:33] = zlib.crc32(bytes(bomb[12:29])).to_bytes(4, "big")
    (FILES / "bomb.png").write_bytes(bytes(bomb))


if __name__ == "__main__":
    main()
