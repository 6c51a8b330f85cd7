"""Folders laid out as their publishers describe them, with the oddities of real downloads and of copies of them.

What is expected was asked of MindSpore 2.7.0 with the same folders, except where a line says otherwise.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.errors import FormatError, PlanError
from tests.parity.data.small_sources.tiny import grey_bmp, picture


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def column(data: Any, name: str) -> list[Any]:
    return [row[name].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


# --- LSUN: one download per scene and part, exported into folders of their names; nobody has all ten --------------


@pytest.fixture
def lsun(tmp_path: Path) -> Path:
    for scene in ("tower", "church_outdoor"):
        for part in ("train", "val"):
            for name in ("ff00.jpg", "0b11.jpg"):
                picture(tmp_path / f"{scene}_{part}" / name, 1)
    picture(tmp_path / "test" / "000f.jpg", 2)
    picture(tmp_path / "my_own_train" / "1.jpg", 3)
    return tmp_path


@pytest.mark.parametrize(
    ("usage", "labels", "classes"),
    [
        ("train", [0, 0, 1, 1], 2),
        ("valid", [0, 0, 1, 1], 2),
        ("all", [0, 0, 1, 1, 2, 2, 3, 3], 2),
        (None, [0, 0, 1, 1, 2, 2, 3, 3], 2),
    ],
)
def test_lsun_takes_the_scenes_that_are_there(
    lsun: Path, usage: Any, labels: list[int], classes: int
) -> None:
    data = ds.LSUNDataset(str(lsun), usage=usage, shuffle=False)
    assert column(data, "label") == labels
    assert data.num_classes() == classes


def test_lsun_a_class_that_is_asked_for_must_be_there(lsun: Path) -> None:
    assert column(ds.LSUNDataset(str(lsun), "train", classes=["tower"], shuffle=False), "label") == [0, 0]
    with pytest.raises(FormatError, match="kitchen_train"):
        ds.LSUNDataset(str(lsun), "train", classes=["tower", "kitchen"]).get_dataset_size()


def test_lsun_an_empty_folder_keeps_its_number(lsun: Path) -> None:
    (lsun / "bedroom_train").mkdir()
    assert column(ds.LSUNDataset(str(lsun), "train", shuffle=False), "label") == [1, 1, 2, 2]


def test_lsun_without_any_scene(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"none of the folders bedroom_train, bridge_train"):
        ds.LSUNDataset(str(tmp_path), "train").get_dataset_size()


# --- LFW: lists with tabs as published, with spaces as many copies have them --------------------------------------


@pytest.fixture(params=["\t", " ", "  \t ", "\t, CRLF"], ids=["tabs", "spaces", "both", "returns"])
def lfw(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    gap, end = (request.param[0], "\r\n") if "CRLF" in request.param else (request.param, "\n")

    def lines(*rows: str) -> str:
        return "".join(row.replace(" ", gap) + end for row in rows)

    people = {"Aaron_Eckhart": 1, "Abel_Pacheco": 4, "Zico": 3}
    for name, count in people.items():
        for number in range(1, count + 1):
            picture(tmp_path / "lfw_funneled" / name / f"{name}_{number:04d}.jpg", number)
    write(tmp_path / "lfw-names.txt", lines(*[f"{name} {count}" for name, count in people.items()]))
    write(tmp_path / "peopleDevTrain.txt", lines("2", "Abel_Pacheco 4", "Aaron_Eckhart 1"))
    write(tmp_path / "peopleDevTest.txt", lines("1", "Zico 3"))
    write(tmp_path / "people.txt", lines("2", "1", "Abel_Pacheco 4", "2", "Aaron_Eckhart 1", "Zico 3"))
    write(tmp_path / "pairs.txt", lines("2 1", "Abel_Pacheco 1 4", "Aaron_Eckhart 1 Zico 2", "Zico 1 3"))
    return tmp_path


def test_lfw_lists_split_on_any_white_space(lfw: Path) -> None:
    assert column(ds.LFWDataset(str(lfw), "people", "train", shuffle=False), "label") == [1, 1, 1, 1, 0]
    assert (
        column(ds.LFWDataset(str(lfw), "people", "10fold", shuffle=False), "label") == [1] * 4 + [0] + [2] * 3
    )
    assert column(ds.LFWDataset(str(lfw), "pairs", "10fold", shuffle=False), "label") == [1, 0, 1]


# --- CoNLL-2000: a word a line, fields by one space in the original; re-aligned copies have runs of them ----------


@pytest.mark.parametrize(
    "text",
    [
        "Confidence NN B-NP\nin IN B-PP\n. . O\n\nBut CC O\n\n",
        "Confidence  NN   B-NP\nin          IN  B-PP\n.           .   O\n\n\nBut CC O",
        " Confidence NN B-NP \nin IN B-PP\n. . O \n \nBut CC O\n",
        "Confidence NN B-NP\r\nin IN B-PP\r\n. . O\r\n\r\nBut CC O\r\n\r\n",
    ],
    ids=["as published", "aligned", "spaces at the ends", "returns"],
)
def test_conll_fields_are_parted_by_runs_of_spaces(tmp_path: Path, text: str) -> None:
    """MindSpore gives empty words here, or crashes; the lines say what is meant."""
    write(tmp_path / "train.txt", text)
    data = ds.CoNLL2000Dataset(str(tmp_path), "train", shuffle=False)
    assert column(data, "word") == [["Confidence", "in", "."], ["But"]]
    assert column(data, "chunk_tag") == [["B-NP", "B-PP", "O"], ["O"]]


# --- SBU: two lists of a million lines, photographs named after their addresses -----------------------------------


def test_sbu_names_and_captions(tmp_path: Path) -> None:
    addresses = [
        "http://static.flickr.com/2723/4385058960_b0f291553e.jpg",
        "http://static.flickr.com/3348/gone.jpg",
        "https://farm4.static.flickr.com/3348/3183472382_156bcbc461.jpg",  # other hosts: the path counts
    ]
    captions = [" man standing next to his motorcycle . ", "lost", "\tcow in  a field\t"]
    write(tmp_path / "SBU_captioned_photo_dataset_urls.txt", "\n".join(addresses) + "\n")
    write(tmp_path / "SBU_captioned_photo_dataset_captions.txt", "\n".join(captions) + "\n")
    for name in ("m_2723_4385058960_b0f291553e.jpg", "m_3348_3183472382_156bcbc461.jpg"):
        picture(tmp_path / "sbu_images" / name, 1)
    data = ds.SBUDataset(str(tmp_path), shuffle=False)
    # what stands before a caption is kept, spaces behind it are not: so does MindSpore
    assert column(data, "caption") == [" man standing next to his motorcycle .", "\tcow in  a field\t"]


# --- KITTI: label files of 15 fields; other data sets use the format with kinds of their own ----------------------


@pytest.mark.parametrize(
    ("files", "labels"),
    [
        ([["Van", "Car"], ["Pedestrian"]], [[[2], [0]], [[1]]]),
        ([["zebra", "Car"], ["Apple", "DontCare"]], [[[3], [1]], [[0], [2]]]),
        ([["Car", "Cyclist", "DontCare"], []], [[[0], [1], [2]], []]),
    ],
)
def test_kitti_kinds_are_those_in_the_files(tmp_path: Path, files: Any, labels: Any) -> None:
    line = "0.00 0 -1.59 586.42 199.76 662.87 266.02 1.36 1.69 3.38 0.28 2.08 17.74 -1.58"
    for number, class_names in enumerate(files):
        picture(tmp_path / "data_object_image_2/training/image_2" / f"{number:06d}.png", number)
        text = "".join(f"{class_name} {line}\n" for class_name in class_names)
        write(tmp_path / "data_object_label_2/training/label_2" / f"{number:06d}.txt", text)
    assert column(ds.KITTIDataset(str(tmp_path), "train", shuffle=False), "label") == labels


# --- PKSampler ----------------------------------------------------------------------------------------------------


def test_pk_sampler_on_fake_images() -> None:
    data = ds.FakeImageDataset(20, (2, 2, 3), 3, base_seed=1, sampler=ds.PKSampler(2))
    assert data.get_dataset_size() == 6
    assert column(data, "label") == [0, 0, 1, 1, 2, 2]


@pytest.fixture
def photo_tour(tmp_path: Path) -> str:
    folder = tmp_path / "liberty"
    folder.mkdir()
    sheet = np.repeat(np.arange(1024, dtype=np.uint8)[:, None] // 4, 1024, axis=1)
    (folder / "patches0000.bmp").write_bytes(grey_bmp(sheet))
    write(folder / "info.txt", "".join(f"{n // 3} 0\n" for n in range(9)))
    write(folder / "interest.txt", "0 0.5 0.5 1 2\n" * 9)
    write(folder / "m50_100000_100000_0.txt", "0 0 0 1 0 0 0\n0 0 0 5 1 0 0\n3 1 0 4 1 0 0\n1 0 0 8 2 0 0\n")
    return str(tmp_path)


@pytest.mark.parametrize("name", ["label", "matches"])
def test_pk_sampler_on_pairs_of_patches(photo_tour: str, name: str) -> None:
    sampler = ds.PKSampler(1, class_column=name)
    assert column(ds.PhotoTourDataset(photo_tour, "liberty", "test", sampler=sampler), "matches") == [0, 1]


def test_pk_sampler_on_patches_takes_the_points_of_the_scene(photo_tour: str) -> None:
    data = ds.PhotoTourDataset(photo_tour, "liberty", "train", sampler=ds.PKSampler(1))
    assert len(column(data, "image")) == 3
    source = data._source
    assert pickle.loads(pickle.dumps(source)).labels("label").tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    with settings.override(executor="processes", num_parallel_workers=2):
        assert len(column(data, "image")) == 3


# --- ImageFolder --------------------------------------------------------------------------------------------------


def test_a_flat_folder_of_images_is_told(tmp_path: Path) -> None:
    for name in ("b.jpg", "a.JPG"):
        picture(tmp_path / name, 1)
    with pytest.raises(
        PlanError, match=r"holds images itself \(a\.JPG and 1 more\), but class sub-folders are wanted"
    ):
        ds.ImageFolderDataset(str(tmp_path)).get_dataset_size()
