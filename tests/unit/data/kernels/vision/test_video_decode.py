"""Videos: parts by time, sound, single frames, files that are damaged, hostile or too large."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from fractions import Fraction

import av
import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace._src.core import settings
from millrace._src.core.errors import DataError
from tests.parity.data.vision.inputs import FILES
from tests.parity.data.vision.make_videos import picture, write

# lossless, so that every frame can be told from the others
EXACT = {"codec": "ffv1", "pixels": "bgr0"}


@pytest.fixture
def clip(tmp_path):
    """A lossless video of 12 frames, 10 a second, with a ramp as sound."""
    path = tmp_path / "clip.mkv"
    write(path, 12, rate=10, sound="pcm_s16le", channels="mono", pieces=13, **EXACT)
    return str(path)


def shown(frames: np.ndarray, size: tuple[int, int] = (32, 48)) -> list[int]:
    """Which frames of the scene these are."""
    scene = [picture(i, *size) for i in range(40)]
    return [next(i for i, one in enumerate(scene) if np.array_equal(one, frame)) for frame in frames]


def test_frames_sound_and_rates(clip):
    video, audio, rates = vision.read_video(clip)
    assert shown(video) == list(range(12))
    np.testing.assert_array_equal(audio, np.arange(13000, dtype=np.int16)[None])
    assert rates == {"video_fps": 10.0, "audio_fps": 16000}
    again = vision.DecodeVideo()(np.fromfile(clip, np.uint8))
    np.testing.assert_array_equal(again[0], video)
    np.testing.assert_array_equal(again[1], audio)


@pytest.mark.parametrize(
    ("span", "frames"),
    [
        ((0, 0), [0]),
        ((100, 300), [1, 2, 3]),
        ((101, 300.4), [2, 3]),
        ((100.5, 99 + 1.5), []),
        ((1100,), [11]),
        ((5000, None), []),
        ((Fraction(1, 10), Fraction(3, 10), "sec"), [1, 2, 3]),
        ((0.16, 0.349, "sec"), [2, 3]),
        ((0, float("inf"), "sec"), list(range(12))),
    ],
)
def test_the_part_between_two_times(clip, span, frames):
    video, audio, _ = vision.read_video(clip, *span)
    assert shown(video) == frames
    assert video.shape[1:] == (32, 48, 3)
    # the sound's share of the whole is the frames' share
    share = 13000 / 12
    if frames:
        begin = int(frames[0] * share + 0.5)
        wanted = np.arange(13000, dtype=np.int16)[begin : begin + int(len(frames) * share + 0.5)]
        np.testing.assert_array_equal(audio[0], wanted)
    assert audio.shape == (1, int(len(frames) * share + 0.5))


def test_uneven_times_and_seconds(tmp_path):
    path = str(tmp_path / "uneven.mkv")
    write(path, 6, rate=10, time=lambda i: 3 + i * i, **EXACT)
    assert vision.read_video_timestamps(path) == ([300, 400, 700, 1200, 1900, 2800], 10.0)
    assert vision.read_video_timestamps(path, "sec")[0] == [0.3, 0.4, 0.7, 1.2, 1.9, 2.8]
    assert shown(vision.read_video(path, 0.4, 1.2, "sec")[0]) == [1, 2, 3]


@pytest.mark.parametrize(
    ("codec", "name"), [("mpeg4", "a.mp4"), ("mpeg4", "a.avi"), ("libx264", "b.mp4"), ("mjpeg", "a.mov")]
)
@pytest.mark.parametrize("size", [(32, 48), (34, 50)])
def test_formats_and_sizes(tmp_path, codec, name, size):
    path = str(tmp_path / name)
    write(path, 5, codec, size, "yuvj420p" if codec == "mjpeg" else "yuv420p")
    video, audio, rates = vision.read_video(path)
    assert (video.shape, video.dtype, audio.shape, audio.dtype) == (
        (5, *size, 3),
        np.uint8,
        (1, 0),
        np.float32,
    )
    assert rates == {"video_fps": 25.0}
    wanted = np.stack([picture(i, *size) for i in range(5)])
    assert np.abs(video.astype(int) - wanted).mean() < 25  # colour is stored at half the size


def test_packed_channels_are_taken_apart(tmp_path):
    path = str(tmp_path / "stereo.avi")
    write(path, 2, sound="pcm_s16le", pieces=3)
    audio = vision.read_video(path)[1]
    ramp = np.arange(3000, dtype=np.int16)
    np.testing.assert_array_equal(audio, np.stack([ramp, -ramp]))


def test_a_title_that_is_no_utf_8_keeps_nobody_from_the_frames(tmp_path):
    path = tmp_path / "titled.mkv"
    with av.open(str(path), "w") as out:
        out.metadata["title"] = "here stands the title"
        stream = out.add_stream("ffv1", rate=10)
        stream.width, stream.height, stream.pix_fmt = 48, 32, "bgr0"
        for packet in (
            stream.encode(av.VideoFrame.from_ndarray(picture(0, 32, 48), "rgb24")),
            stream.encode(),
        ):
            out.mux(packet)
    written = path.read_bytes()
    assert b"here stands" in written
    path.write_bytes(written.replace(b"here stands", b"h\xe9re st\xff\xfes"))
    assert shown(vision.read_video(str(path))[0]) == [0]


def test_sound_alone_and_nothing_at_all(tmp_path):
    video, audio, rates = vision.read_video(str(FILES / "sound.mp4"))
    # 8000 samples in packets of 1024; from FFmpeg 9 on, what fills up the last packet is left out
    samples = 8000 if av.library_versions["libavcodec"] >= (63,) else 8192
    assert (video.shape, audio.shape, rates) == ((0, 1, 1, 3), (2, samples), {"audio_fps": 16000})
    assert vision.read_video_timestamps(str(FILES / "sound.mp4")) == ([], None)
    with pytest.raises(DataError, match=r"sound\.mp4 has no video"):
        vision.VideoDecoder(str(FILES / "sound.mp4"))


@pytest.mark.parametrize("name", ["between.mp4", "bare.h264", "late.mkv", "plain.mp4", "mono.avi"])
def test_single_frames_are_those_of_the_whole(name):
    path = str(FILES / name)
    decoder = vision.VideoDecoder(path)
    whole = vision.read_video(path)[0]
    count = decoder.metadata["num_frames"]
    assert count == len(whole)
    for wanted in ([0], [count - 1], list(range(count)), [count - 1, 0, 2, 2], [3, 1]):
        np.testing.assert_array_equal(decoder.get_frames_at(wanted), whole[wanted])
    assert decoder.get_frames_at([]).shape == (0,)


def test_single_frames_far_apart_are_sought(tmp_path):
    path = str(tmp_path / "long.mp4")
    write(path, 90, "libx264", between=2, group=12)
    whole = vision.read_video(path)[0]
    np.testing.assert_array_equal(
        vision.VideoDecoder(path).get_frames_at([80, 5, 41, 42]), whole[[80, 5, 41, 42]]
    )


def test_metadata_of_a_decoder(clip):
    assert vision.VideoDecoder(clip).metadata == {
        "width": 48,
        "height": 32,
        "duration_seconds": 1.2,
        "num_frames": 12,
        "average_fps": 10.0,
    }


@pytest.mark.parametrize(
    ("indices", "error", "text"),
    [
        ("0", TypeError, "indices with value 0 is not of type"),
        ([0, 1.0], TypeError, r"indices\[1\] with value 1.0"),
        ([True], TypeError, r"indices\[0\] with value True"),
        ([0, 12], ValueError, r"frame index\[1\]=12 is not within the required interval of \[0, 12\)"),
        ([-1], ValueError, r"index\[0\]=-1"),
    ],
)
def test_frame_numbers_that_are_none(clip, indices, error, text):
    with pytest.raises(error, match=text):
        vision.VideoDecoder(clip).get_frames_at(indices)


def test_in_a_pipeline_any_workers_give_the_same(tmp_path):
    files = []
    for i in range(5):
        files.append(tmp_path / f"{i}.avi")
        write(files[-1], 2 + i, size=(16, 16), sound="pcm_s16le", channels="mono", pieces=1)

    def rows(**changes):
        with settings.override(**changes):
            data = ds.GeneratorDataset([(np.fromfile(f, np.uint8),) for f in files], ["data"], shuffle=False)
            data = data.map(vision.DecodeVideo(), "data", ["video", "audio"])
            return list(data.create_dict_iterator(1, output_numpy=True))

    one, many = rows(executor="inline"), rows(executor="threads", num_parallel_workers=3)
    assert [len(row["video"]) for row in one] == [2, 3, 4, 5, 6]
    for left, right in zip(one, many, strict=True):
        np.testing.assert_array_equal(left["video"], right["video"])
        np.testing.assert_array_equal(left["audio"], right["audio"])


# --- files that are not what they should be ----------------------------------------------------------------


def wrong_files(folder):
    whole = (FILES / "plain.mp4").read_bytes()
    lossless = (FILES / "odd.avi").read_bytes()
    return {
        "half.mp4": whole[: len(whole) // 2],
        "start.avi": lossless[:4000],
        "noise.mp4": (FILES / "noise.bin").read_bytes(),
        "text.mp4": b"hello\n",
        "empty.mp4": b"",
        "image.mp4": (FILES / "rgb.jpg").read_bytes(),
    }


@pytest.mark.parametrize("name", list(wrong_files(None)))
def test_wrong_files_are_named(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(wrong_files(tmp_path)[name])
    for call in (vision.read_video, vision.VideoDecoder):
        with pytest.raises(RuntimeError, match=name):
            call(str(path))
    with pytest.raises(RuntimeError, match="DecodeVideo"):
        vision.DecodeVideo()(np.fromfile(path, np.uint8))


def test_a_file_cut_in_the_middle_of_its_frames_is_an_error(tmp_path):
    path = tmp_path / "cut.avi"
    write(path, 8, "mjpeg", (64, 96), "yuvj420p")
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    with pytest.raises(DataError, match=r"cut\.avi.*cut short"):
        vision.read_video(str(path))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{0}\n#EXT-X-ENDLIST\n"),
        ("list.txt", "ffconcat version 1.0\nfile plain.mp4\n"),
        ("list.sdp", "v=0\nm=video 1 RTP/AVP 96\nc=IN IP4 127.0.0.1\na=rtpmap:96 H264/90000\n"),
    ],
)
def test_lists_of_other_files_and_addresses_are_not_followed(tmp_path, name, text):
    (tmp_path / "plain.mp4").write_bytes((FILES / "plain.mp4").read_bytes())
    path = tmp_path / name
    path.write_text(text.format(tmp_path / "plain.mp4"))
    with pytest.raises(DataError, match=name):
        vision.read_video(str(path))


def test_limits(clip):
    ds.config.set_max_image_pixels(32 * 48 - 1)
    for call in (vision.read_video, vision.read_video_timestamps, vision.VideoDecoder):
        with pytest.raises(DataError, match="set_max_image_pixels"):
            call(clip)
    ds.config.set_max_image_pixels(32 * 48)
    ds.config.set_max_video_bytes(32 * 48 * 3 * 3 + 26000)
    with pytest.raises(DataError, match=r"set_max_video_bytes"):
        vision.read_video(clip)
    assert len(vision.read_video(clip, 100, 300)[0]) == 3
    ds.config.set_max_video_bytes(None)
    ds.config.set_max_image_pixels(None)
    assert len(vision.read_video(clip)[0]) == 12


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain.mp4", "between.mp4", "mono.avi", "odd.avi", "late.mkv"])
def test_damage_anywhere_gives_a_result_or_an_error(tmp_path, name):
    """In a process of its own: FFmpeg is no Python, and would take the tests down with it."""
    code = """
        import sys, logging, numpy as np
        import millrace.dataset.vision as vision
        logging.disable(logging.CRITICAL)
        whole = np.fromfile(sys.argv[1], np.uint8)
        random = np.random.default_rng(5)
        for i in range(60):
            data = whole.copy()
            at = random.integers(0, len(data), 1 + i % 20)
            data[at] = random.integers(0, 256, len(at))
            if i % 3 == 0:
                data = data[: random.integers(1, len(data))]
            try:
                frames, sound = vision.DecodeVideo()(data)
                assert frames.dtype == np.uint8 and frames.ndim == 4 and sound.ndim == 2
            except RuntimeError as error:
                assert "DecodeVideo" in str(error)
        print("done")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(FILES / name)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stdout.strip() == "done", done.stderr[-2000:]


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ImportError, match=r"reading videos needs 'av'.*pip install 'av>=15'"):
        vision.read_video(str(FILES / "plain.mp4"))
