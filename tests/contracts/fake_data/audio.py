"""The audio data sets."""

from __future__ import annotations

from .recorded import fake

TRANSCRIPT = "dev-clean/116/288045/116_288045.trans.tsv"

FAKES = {
    "CMUArcticDataset": fake("CMUArctic()", "cmu_us_aew_arctic/wav/arctic_a0001.wav", "cut"),
    "GTZANDataset": fake("GTZAN()", "rock/rock.00003.wav", "text", order=[0, 2, 1, 4, 3, 6, 5]),
    "LibriTTSDataset": fake("LibriTTS(usage=dev-clean)", TRANSCRIPT, "text", order=[2, 3, 0, 1]),
    "LJSpeechDataset": fake("LJSpeech()", "metadata.csv", "text"),
    "SpeechCommandsDataset": fake("SpeechCommands()", "cat/ffff_nohash_12.wav", "text"),
    "SpeechCommandsDataset: train": fake("SpeechCommands(usage=train)", "validation_list.txt"),
    "TedliumDataset": fake("Tedlium(release=release1)", "dev/sph/Cy_1.sph", "cut", differs="waveform"),
    "YesNoDataset": fake("YesNo()", "0_0_0_1_0_1_1_0.wav", "cut", order=[1, 0, 2]),
}  # fmt: skip
