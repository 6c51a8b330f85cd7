# ruff: noqa: E501
"""Videos; F is the folder of the files."""

from __future__ import annotations

from tests.parity.calls import Case, each

_FILES = "plain.mp4 between.mp4 mono.avi odd.avi late.mkv sound.mp4 bare.h264 cut.mp4 noise.bin empty.bin"
# (start, end) in the units of each file
_SPANS = {
    "plain.mp4": "0, 0;0, 512;512, 1536;768, 1536;2560;4608, 4608;99999;2304.5, 3328.5;0, 0.04, 'sec';0.05, 0.13, 'sec';0.1, None, 'sec'",
    "between.mp4": "0, 512;2560, 5120;9000",
    "mono.avi": "0, 0;1, 1;1, 3;2.5, 4.5;3, 4;6;0.14, 0.36, 'sec';5, 5, 'sec'",
    "late.mkv": "0, 300;360, 560;0.2, 0.24, 'sec'",
    "sound.mp4": "3, 5;0.1, 0.2, 'sec'",
}


def _called(text: str) -> list[Case]:
    return each(f"lambda _: {text}", "int0")


CASES = [
    *each("V.DecodeVideo()", f"{_FILES} flat float32 rgb text"),
    *[case for name in _FILES.split() for case in _called(f"V.read_video(F + '{name}')")],
    *[
        case
        for name, spans in _SPANS.items()
        for span in spans.split(";")
        for case in _called(f"V.read_video(F + '{name}', {span})")
    ],
    *[case for name in _FILES.split() for case in _called(f"V.read_video_timestamps(F + '{name}')")],
    *_called("V.read_video_timestamps(F + 'mono.avi', 'sec')"),
    *[
        case
        for name in _FILES.split()
        for case in _called(f"sorted(V.VideoDecoder(F + '{name}').metadata.items())")
    ],
    *[
        case
        for arguments in [
            "3",
            "F + 'plain.mp4', '0'",
            "F + 'plain.mp4', -1",
            "F + 'plain.mp4', 0, '3'",
            "F + 'plain.mp4', 5, 3",
            "F + 'plain.mp4', 0, None, 3",
            "F + 'plain.mp4', 0, None, 'min'",
            "F + 'nothing.mp4'",
            "F",
            "''",
        ]
        for case in _called(f"V.read_video({arguments})")
    ],
    *[
        case
        for arguments in ["3", "F + 'plain.mp4', 3", "F + 'plain.mp4', 'min'", "F + 'nothing.mp4'", "F", "''"]
        for case in _called(f"V.read_video_timestamps({arguments})")
    ],
    *[case for argument in ("3", "F + 'nothing.mp4'") for case in _called(f"V.VideoDecoder({argument})")],
]
