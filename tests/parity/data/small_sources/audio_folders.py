"""Tiny data sets in the layout of the real ones: audio. See folders.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.parity.data.small_sources.tiny import sph, text, wav


def cmu_arctic(root: Path) -> None:
    for name in ("aew", "slt"):
        folder = root / f"cmu_us_{name}_arctic"
        stems = ["arctic_a0002", "arctic_a0001", "arctic_b0539"]
        for seed, stem in enumerate(stems):
            wav(folder / "wav" / f"{stem}.wav", seed + len(name))
        text(folder / "etc" / "txt.done.data", *[f'( {s} "Words of {s}, said by {name}." )' for s in stems])


def gtzan(root: Path) -> None:
    for seed, name in enumerate(["blues.00001", "blues.00000", "rock.00003", "disco.00349"]):
        genre = name.split(".")[0]
        wav(root / genre / f"{name}.wav", seed, rate=22050)
    # one of each list that the usages filter by
    for seed, name in enumerate(["blues.00093", "disco.00347", "rock.00010"]):
        wav(root / name.split(".")[0] / f"{name}.wav", seed + 30, rate=22050)


def libri_tts(root: Path) -> None:
    for part, speaker in (("dev-clean", 116), ("train-clean-100", 19)):
        for chapter in (288046, 288045):
            folder = root / part / str(speaker) / str(chapter)
            lines = []
            for number in (2, 1):
                stem = f"{speaker}_{chapter}_{number:06d}_000000"
                wav(folder / f"{stem}.wav", number + chapter + speaker, rate=24000)
                lines.append(f"{stem}\tOriginal, {number} of {chapter}.\tNormalized, {number}.")
            text(folder / f"{speaker}_{chapter}.trans.tsv", *lines)


def lj_speech(root: Path) -> None:
    stems = ["LJ001-0002", "LJ001-0001", "LJ010-0007"]
    for seed, stem in enumerate(stems):
        wav(root / "wavs" / f"{stem}.wav", seed, rate=22050)
    text(root / "metadata.csv", *[f"{s}|Said in {s}, 1831|Said in {s}, eighteen thirty-one" for s in stems])


def speech_commands(root: Path) -> None:
    names = ["dog/b433eff_nohash_1", "dog/5a33edf_nohash_0", "cat/0a7c2a8d_nohash_0", "cat/ffff_nohash_12"]
    for seed, name in enumerate(names):
        wav(root / f"{name}.wav", seed)
    wav(root / "_background_noise_" / "pink_noise.wav", 9)
    text(root / "testing_list.txt", "dog/b433eff_nohash_1.wav")
    text(root / "validation_list.txt", "cat/0a7c2a8d_nohash_0.wav")


def _talk(folder: Path, name: str, seed: int) -> None:
    sph(folder / "sph" / f"{name}.sph", seed)
    lines = [
        f"{name} 1 {name} 0.0 0.05 <o,f0,male> first words of {name}",
        f"{name} 1 inter_segment_gap 0.05 0.1 <o,,unknown> ignore_time_segment_in_scoring",
        f"{name} 1 S{seed} 0.1 0.2 <o,f0,male> and the last, {seed}",
    ]
    text(folder / "stm" / f"{name}.stm", *lines)


def tedlium(root: Path) -> None:
    for seed, (part, name) in enumerate(
        [("train", "Zed_2001"), ("train", "Al_2009"), ("test", "Bo_2010"), ("dev", "Cy_1")]
    ):
        _talk(root / part, name, seed)


def tedlium3(root: Path) -> None:
    for seed, name in enumerate(["Zed_2001", "Al_2009"]):
        _talk(root / "data", name, seed)


def yes_no(root: Path) -> None:
    for seed, name in enumerate(["1_1_0_0_1_1_0_0", "0_0_0_1_0_1_1_0", "1_0_0_0_0_0_0_1"]):
        wav(root / f"{name}.wav", seed, rate=8000)


R = {"dataset_dir": "{root}"}


def _of(name: str, maker: Any, *variants: dict[str, Any]) -> list[tuple[str, Any, dict[str, Any]]]:
    return [(name, maker, R | more) for more in variants]


CASES: list[tuple[str, Any, dict[str, Any]]] = [
    *_of("CMUArctic", cmu_arctic, {}, {"name": "slt"}),
    *_of("GTZAN", gtzan, {}, {"usage": "train"}, {"usage": "valid"}, {"usage": "test"}),
    *_of("LibriTTS", libri_tts, {}, {"usage": "dev-clean"}),
    *_of("LJSpeech", lj_speech, {}),
    *_of("SpeechCommands", speech_commands, {}, {"usage": "train"}, {"usage": "test"}, {"usage": "valid"}),
    *_of("Tedlium", tedlium, {"release": "release1"}, {"release": "release2", "usage": "train"}),
    *_of("Tedlium", tedlium3, {"release": "release3"}),
    *_of("YesNo", yes_no, {}),
]
