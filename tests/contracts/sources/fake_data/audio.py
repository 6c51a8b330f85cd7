"""The audio data sets."""

from __future__ import annotations

from .damage import cut, empty, gone, put, words
from .recorded import fake

TRANSCRIPT = "dev-clean/116/288045/116_288045.trans.tsv"
ARCTIC = "cmu_us_aew_arctic/wav/arctic_a0001.wav"

FAKES = {
    "CMUArcticDataset": fake(
        "CMUArctic()",
        cut(ARCTIC, "row: 1", "cut short"),
        gone(ARCTIC),
        empty("cmu_us_aew_arctic/etc/txt.done.data"),
    ),
    "GTZANDataset": fake(
        "GTZAN()", words("rock/rock.00003.wav"), cut("rock/rock.00003.wav"), order=[0, 2, 1, 4, 3, 6, 5]
    ),
    "LibriTTSDataset": fake(
        "LibriTTS(usage=dev-clean)", words(TRANSCRIPT, "line 1"), gone(TRANSCRIPT), order=[2, 3, 0, 1]
    ),
    "LJSpeechDataset": fake(
        "LJSpeech()", words("metadata.csv", "line 1"), gone("metadata.csv"), empty("metadata.csv")
    ),
    "SpeechCommandsDataset": fake(
        "SpeechCommands()", words("cat/ffff_nohash_12.wav"), empty("cat/ffff_nohash_12.wav")
    ),
    "SpeechCommandsDataset: train": fake(
        "SpeechCommands(usage=train)", gone("validation_list.txt"), put("testing_list.txt", b"\0\n", "line 1")
    ),
    "TedliumDataset": fake(
        "Tedlium(release=release1)",
        cut("dev/sph/Cy_1.sph"),
        words("dev/sph/Cy_1.sph"),
        gone("dev/sph/Cy_1.sph"),
        differs="waveform",
    ),
    "YesNoDataset": fake(
        "YesNo()", cut("0_0_0_1_0_1_1_0.wav", "row"), words("0_0_0_1_0_1_1_0.wav"), order=[1, 0, 2]
    ),
}
