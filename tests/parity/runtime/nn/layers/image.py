"""Layers about images."""

from tests.parity.runtime.nn.layers import cases_of, make

case = cases_of(__name__)
# MindSpore's fail in PyNative mode, and print their window number by number
BLUR = {"graph": True, "weights": False, "grads": False, "whole": False, "tolerance": 1e-4}

A, B = make(2, 3, 16, 16, low=0, high=1), make(2, 3, 16, 16, low=0, high=1, seed=1)
case("ImageGradients", [make(2, 3, 4, 5)])
case("ImageGradients", [make(1, 1, 2, 2, dtype="int32", low=0, high=9)], options={"grads": False})
case("ImageGradients", [make(3, 4)])
case("SSIM", [A, B], options=BLUR)
case(
    "SSIM", [A * 255, B * 255], max_val=255.0, filter_size=7, filter_sigma=1.0, k1=0.02, k2=0.05, options=BLUR
)
case("SSIM", [A, B], max_val=0.0)
case("SSIM", [A, B], filter_size=0)
case("SSIM", [A[:, :, :8], B[:, :, :8]])
case("SSIM", [A, B[:1]])
C, D = make(1, 2, 48, 48, low=0, high=1), make(1, 2, 48, 48, low=0, high=1, seed=1)
case("MSSSIM", [C, D], power_factors=(0.0448, 0.2856, 0.3001), filter_size=5, options=BLUR)
case("MSSSIM", [C, D], power_factors=(0.5, 0.5), options=BLUR)
case("PSNR", [A, B], options=BLUR)
case("PSNR", [A, B], max_val=255.0, options=BLUR)
case("PSNR", [A, B], max_val=-1.0)
case("PSNR", [A, B[:1]])
case("CentralCrop", [make(4, 3, 8, 9)], 0.5)
case("CentralCrop", [make(3, 7, 9)], central_fraction=0.4)
case("CentralCrop", [make(3, 7, 9)], central_fraction=1.0)
case("CentralCrop", [make(3, 7, 9)], central_fraction=0.0)
case("CentralCrop", [make(7, 9)], central_fraction=0.5)
case("CentralCrop", [make(7, 9)], central_fraction="a")
case("PixelShuffle", [make(2, 12, 3, 2)], 2)
case("PixelShuffle", [make(2, 9, 3, 2)], 2)
case("PixelShuffle", [make(2, 9, 3, 2)], 0)
case("PixelUnshuffle", [make(2, 3, 4, 6)], 2)
case("PixelUnshuffle", [make(2, 3, 5, 6)], 2)
case("ChannelShuffle", [make(2, 6, 3, 2)], 2)
case("ChannelShuffle", [make(2, 6, 3, 2)], "a")
