"""Tiny data sets in the layout of the real ones: vision. Each maker fills a folder; cases.py says who reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.parity.data.small_sources.tiny import Sparse, grey_bmp, idx, mat, picture, text


def image_folder(root: Path) -> None:
    for seed, name in enumerate(
        [
            "dog/b.jpg",
            "dog/a.JPG",
            "cat/10.png",
            "cat/9.png",
            "cat/x.bmp",
            "Zebra/z.jpeg",
            "cat/notes.txt",
            "cat/y.gif",
        ]
    ):
        picture(root / name, seed)
    picture(root / "loose.jpg", 21)
    (root / "empty").mkdir()


def mnist(root: Path, prefix: str = "", train: int = 3, test: int = 2) -> None:
    for seed, (part, count) in enumerate([("train", train), ("t10k", test)]):
        images = (np.arange(count * 784) * (3 + seed) % 256).astype(np.uint8).reshape(count, 28, 28)
        idx(root / f"{prefix}{part}-images-idx3-ubyte", images)
        idx(root / f"{prefix}{part}-labels-idx1-ubyte", (np.arange(count) + seed * 5).astype(np.uint8))


def emnist(root: Path) -> None:
    for seed, (part, count) in enumerate([("train", 3), ("test", 2)]):
        images = (np.arange(count * 784) * (5 + seed) % 256).astype(np.uint8).reshape(count, 28, 28)
        idx(root / f"emnist-letters-{part}-images-idx3-ubyte", images)
        idx(
            root / f"emnist-letters-{part}-labels-idx1-ubyte",
            (np.arange(count) + seed * 5 + 1).astype(np.uint8),
        )


def qmnist(root: Path) -> None:
    for seed, (part, count) in enumerate([("qmnist-train", 3), ("qmnist-test", 4), ("xnist", 2)]):
        images = (np.arange(count * 784) * (7 + seed) % 256).astype(np.uint8).reshape(count, 28, 28)
        idx(root / f"{part}-images-idx3-ubyte", images)
        labels = (np.arange(count * 8).reshape(count, 8) + seed).astype(np.int32)
        idx(root / f"{part}-labels-idx2-int", labels)


def _cifar(root: Path, name: str, count: int, labels: int, seed: int) -> None:
    rows = (np.arange(count * (labels + 3072)) * 3 + seed) % 256
    rows = rows.astype(np.uint8).reshape(count, labels + 3072)
    rows[:, :labels] = (np.arange(count * labels).reshape(count, labels) + seed) % 10
    (root / name).write_bytes(rows.tobytes())


def cifar10(root: Path) -> None:
    for number in range(1, 6):
        _cifar(root, f"data_batch_{number}.bin", 2, 1, number)
    _cifar(root, "test_batch.bin", 3, 1, 7)
    text(root / "batches.meta.txt", "airplane", "automobile")


def cifar100(root: Path) -> None:
    _cifar(root, "train.bin", 4, 2, 1)
    _cifar(root, "test.bin", 3, 2, 5)
    text(root / "fine_label_names.txt", "apple", "aquarium_fish")


def celeba(root: Path) -> None:
    names = [f"{i:06d}.{'png' if i == 3 else 'jpg'}" for i in range(1, 6)]
    for seed, name in enumerate(names):
        picture(root / name, seed)
    attributes = [f"Attr{i}" for i in range(40)]
    rows = [
        f"{name} " + " ".join(["1" if (seed + i) % 3 == 0 else "-1" for i in range(40)])
        for seed, name in enumerate(names)
    ]
    text(root / "list_attr_celeba.txt", str(len(names)), " ".join(attributes), *rows)
    text(root / "list_eval_partition.txt", *[f"{n} {p}" for n, p in zip(names, [0, 1, 0, 2, 0])])


def coco(root: Path) -> None:
    names = ["000000000285.jpg", "000000000074.jpg", "000000000529.jpg"]
    for seed, name in enumerate(names):
        picture(root / "train" / name, seed)
    images = [{"id": 30 - i, "file_name": n, "height": 4, "width": 5} for i, n in enumerate(names)]
    categories = [
        {"id": 1, "name": "person", "supercategory": "person"},
        {"id": 17, "name": "cat", "supercategory": "animal"},
        {"id": 3, "name": "car", "supercategory": "vehicle"},
    ]

    def box(number: int, image: int, category: int, crowd: int = 0) -> dict[str, Any]:
        return {
            "id": number, "image_id": image, "category_id": category, "iscrowd": crowd,
            "bbox": [number + 0.5, 2, 3.25, 4], "area": 6 + number,
            "segmentation": [[1.5, 2, 3, 4, 5, 6 + number], [7, 8, 9, 10]][: 1 + number % 2],
            "num_keypoints": number % 3, "keypoints": [number * k for k in range(51)],
        }  # fmt: skip

    boxes = [box(1, 30, 1), box(2, 28, 17, 1), box(3, 30, 3), box(4, 29, 3)]
    for one in boxes:
        if one["iscrowd"]:
            one["segmentation"] = {"counts": [3, 4, 5], "size": [4, 5]}
    text(
        root / "instances.json",
        json.dumps({"images": images, "annotations": boxes, "categories": categories}),
    )
    text(
        root / "keypoints.json",
        json.dumps({"images": images, "annotations": boxes, "categories": categories[:1]}),
    )
    panoptic = [
        {"image_id": image, "file_name": name.replace("jpg", "png"), "segments_info": [
            {"id": 5 + k, "category_id": category, "bbox": [1 + k, 2, 3, 4], "area": 12 + k, "iscrowd": k}
            for k, category in enumerate([1, 17])]}
        for image, name in zip((30, 29, 28), names)
    ]  # fmt: skip
    full = [c | {"isthing": 1} for c in categories]
    text(root / "panoptic.json", json.dumps({"images": images, "annotations": panoptic, "categories": full}))
    captions = [
        {"id": i, "image_id": n, "caption": f"caption {i} of {n}"} for i, n in enumerate([30, 29, 30, 28])
    ]
    text(root / "captions.json", json.dumps({"images": images, "annotations": captions}))


def voc(root: Path) -> None:
    names = ["2007_000032", "2007_000027", "2007_000033"]
    for seed, name in enumerate(names):
        picture(root / "JPEGImages" / f"{name}.jpg", seed)
        picture(root / "SegmentationClass" / f"{name}.png", seed + 10)
        objects = "".join(
            f"<object><name>{kind}</name><pose>Left</pose><truncated>{k}</truncated><difficult>{1 - k}</difficult>"
            f"<bndbox><xmin>{1 + seed}</xmin><ymin>{2 + k}</ymin><xmax>{4 + seed}</xmax><ymax>4</ymax></bndbox>"
            "</object>"
            for k, kind in enumerate(["train", "person", "aeroplane"][seed : seed + 2])
        )
        text(
            root / "Annotations" / f"{name}.xml",
            f"<annotation><folder>VOC</folder><filename>{name}.jpg</filename><size><width>5</width>"
            f"<height>4</height><depth>3</depth></size>{objects}</annotation>",
        )
    text(root / "ImageSets" / "Main" / "train.txt", *names)
    text(root / "ImageSets" / "Segmentation" / "train.txt", *names[:2])


def flowers(root: Path) -> None:
    for seed in range(1, 7):
        picture(root / "jpg" / f"image_{seed:05d}.jpg", seed)
        picture(root / "segmim" / f"segmim_{seed:05d}.jpg", seed + 50)
    mat(root / "imagelabels.mat", labels=np.array([[77, 5, 1, 102, 5, 9]], np.uint8))
    parts = {"trnid": [[6, 1]], "valid": [[2, 3]], "tstid": [[5, 4]]}
    mat(root / "setid.mat", **{name: np.array(rows, np.uint16) for name, rows in parts.items()})


def caltech101(root: Path) -> None:
    for seed, (name, count) in enumerate(
        [("Faces", 2), ("BACKGROUND_Google", 2), ("ant", 1), ("Leopards", 2)]
    ):
        for number in range(1, count + 1):
            picture(root / "101_ObjectCategories" / name / f"image_{number:04d}.jpg", seed * 10 + number)
            folder = {"Faces": "Faces_2"}.get(name, name)
            contour = np.arange(2.0 * (3 + number)).reshape(2, -1) + seed
            mat(
                root / "Annotations" / folder / f"annotation_{number:04d}.mat",
                box_coord=np.array([[1, 2, 3, 4]], np.uint16), obj_contour=contour,
            )  # fmt: skip


def caltech256(root: Path) -> None:
    names = ["002.american-flag/002_0002.jpg", "002.american-flag/002_0001.jpg", "001.ak47/001_0003.jpg"]
    for seed, name in enumerate([*names, "010.beer-mug/010_0001.jpg", "010.beer-mug/greg.txt"]):
        picture(root / name, seed)


def cityscapes(root: Path) -> None:
    seed = 0
    for quality, parts in (
        ("gtFine", ("train", "val", "test")),
        ("gtCoarse", ("train", "val", "train_extra")),
    ):
        for part in parts:
            for city in ("bochum", "aachen"):
                for number in range(2 if city == "bochum" else 1):
                    stem = f"{city}_{number:06d}_000019"
                    seed += 1
                    picture(root / "leftImg8bit" / part / city / f"{stem}_leftImg8bit.png", seed)
                    for task in ("instanceIds", "labelIds", "color"):
                        picture(
                            root / quality / part / city / f"{stem}_{quality}_{task}.png",
                            seed * 5 + len(task),
                        )
                    polygons = json.dumps(
                        {"imgHeight": 4, "objects": [{"label": city, "polygon": [[1, seed]]}]}
                    )
                    text(root / quality / part / city / f"{stem}_{quality}_polygons.json", polygons)


def div2k(root: Path) -> None:
    for base, (part, numbers) in enumerate([("train", (1, 2)), ("valid", (801, 802))]):
        for number in numbers:
            seed = number % 100 + base * 10
            picture(root / f"DIV2K_{part}_HR" / f"{number:04d}.png", seed, 8, 10)
            for kind in ("bicubic", "unknown"):
                for scale in (2, 3, 4):
                    name = f"{number:04d}x{scale}.png"
                    picture(root / f"DIV2K_{part}_LR_{kind}" / f"X{scale}" / name, seed + scale + len(kind))
            picture(root / f"DIV2K_{part}_LR_x8" / f"{number:04d}x8.png", seed + 60, 2, 3)
            for kind in ("mild", "wild", "difficult"):
                picture(root / f"DIV2K_{part}_LR_{kind}" / f"{number:04d}x4{kind[0]}.png", seed + 70)


def flickr(root: Path) -> None:
    lines = []
    for seed, name in enumerate(["2.jpg", "1.jpg", "3.jpg"]):
        picture(root / "images" / name, seed)
        lines += [f"{name}#{k}\tA {k}th caption of {name} ." for k in range(5)]
    text(root / "tokens.txt", *lines)


def food101(root: Path) -> None:
    for seed, name in enumerate(["waffles/12", "waffles/9", "apple_pie/100", "apple_pie/20", "cake/1"]):
        picture(root / "images" / f"{name}.jpg", seed)
    text(root / "meta" / "train.txt", "waffles/12", "apple_pie/20", "apple_pie/100")
    text(root / "meta" / "test.txt", "cake/1", "waffles/9")
    text(root / "meta" / "classes.txt", "apple_pie", "cake", "waffles")


def kitti(root: Path) -> None:
    for seed, name in enumerate(["000001", "000000", "000002"]):
        picture(root / "data_object_image_2" / "training" / "image_2" / f"{name}.png", seed)
        picture(root / "data_object_image_2" / "testing" / "image_2" / f"{name}.png", seed + 30)
        kinds = [
            ["Pedestrian", "Car", "Tram"],
            ["Truck", "Van", "Misc"],
            ["Cyclist", "Person_sitting", "DontCare"],
        ][seed]
        lines = [
            f"{kind} 0.{k}5 {k} -1.{seed} 1.5 {2 + k}.25 3 4 1.{k} 1.57 1.73 5.0 1.65 {7 + seed}.5 -0.{k}1"
            for k, kind in enumerate(kinds)
        ]
        text(root / "data_object_label_2" / "training" / "label_2" / f"{name}.txt", *lines)


def lfw(root: Path) -> None:
    people = {"Ann_Lee": 2, "Bo_Chan": 1, "Cy_Day": 3, "Zoe_Oz": 1}
    for folder in ("lfw", "lfw_funneled", "lfw-deepfunneled"):
        for seed, (name, count) in enumerate(people.items()):
            for number in range(1, count + 1):
                picture(root / folder / name / f"{name}_{number:04d}.jpg", seed * 10 + number + len(folder))
    text(root / "lfw-names.txt", *[f"{n}\t{c}" for n, c in people.items()])
    text(root / "peopleDevTrain.txt", "2", "Zoe_Oz\t1", "Cy_Day\t3")
    text(root / "peopleDevTest.txt", "2", "Ann_Lee\t2", "Bo_Chan\t1")
    text(root / "people.txt", "2", "1", "Ann_Lee\t2", "2", "Cy_Day\t3", "Bo_Chan\t1")
    text(root / "pairsDevTrain.txt", "1", "Ann_Lee\t1\t2", "Ann_Lee\t1\tBo_Chan\t1")
    text(root / "pairsDevTest.txt", "1", "Cy_Day\t1\t3", "Cy_Day\t2\tZoe_Oz\t1")
    text(
        root / "pairs.txt",
        "2\t1",
        "Ann_Lee\t1\t2",
        "Ann_Lee\t2\tCy_Day\t2",
        "Cy_Day\t2\t3",
        "Cy_Day\t1\tBo_Chan\t1",
    )


def lsun(root: Path) -> None:
    for seed, name in enumerate(
        ["classroom_train/2_1.jpg", "classroom_train/1_1.jpg", "bedroom_train/1_1.jpg"]
    ):
        picture(root / name, seed)
    names = "bedroom bridge church_outdoor classroom conference_room dining_room kitchen living_room restaurant tower"
    for seed, category in enumerate(names.split()):
        if category not in ("bedroom", "classroom"):
            picture(root / f"{category}_train" / "5.jpg", len(category) + 10)
        picture(root / f"{category}_val" / "7.jpg", seed + 40)
    picture(root / "test" / "9.jpg", 90)
    picture(root / "test" / "10.jpg", 91)


def omniglot(root: Path) -> None:
    for part in ("images_background", "images_evaluation"):
        for seed, name in enumerate(["Latin/character02", "Latin/character01", "Greek/character01"]):
            for number in (2, 1):
                picture(root / part / name / f"0{number}.png", seed * 10 + number + len(part))


def photo_tour(root: Path) -> None:
    folder = root / "liberty"
    folder.mkdir(parents=True)
    for number in range(2):
        canvas = (np.arange(1024 * 1024, dtype=np.int64) * (number * 2 + 3) // 64 % 256).astype(np.uint8)
        (folder / f"patches000{number}.bmp").write_bytes(grey_bmp(canvas.reshape(1024, 1024)))
    text(folder / "info.txt", *[f"{i // 2} 0" for i in range(260)])
    text(folder / "m50_100000_100000_0.txt", "0 0 0 1 0 0 0", "5 2 0 257 128 0 0", "258 129 0 259 129 0 0")


def places365(root: Path) -> None:
    text(root / "categories_places365.txt", "/a/airfield 0", "/a/airplane_cabin 1", "/b/bar 2")
    names = ["/b/bar/00000002.jpg", "/a/airfield/00000001.jpg", "/a/airplane_cabin/00000005.jpg"]
    text(root / "places365_train_standard.txt", *[f"{n} {c}" for n, c in zip(names, (2, 0, 1))])
    text(root / "places365_train_challenge.txt", *[f"{n} {c}" for n, c in zip(names[:2], (2, 0))])
    text(root / "places365_val.txt", "Places365_val_00000002.jpg 1", "Places365_val_00000001.jpg 2")
    for size in ("256", "large"):
        for seed, name in enumerate(names):
            for kind in ("standard", "challenge"):
                picture(root / f"data_{size}_{kind}{name}", seed + len(size) + len(kind) * 5)
        for number in (1, 2):
            picture(root / f"val_{size}" / f"Places365_val_0000000{number}.jpg", number + 80)


def rendered_sst2(root: Path) -> None:
    for part in ("train", "test", "valid"):
        for seed, name in enumerate(["positive/0002.png", "positive/0001.png", "negative/0001.png"]):
            picture(root / part / name, seed + len(part) * 5)


def sbd(root: Path) -> None:
    names = ["2008_000008", "2008_000002", "2008_000051"]
    for seed, name in enumerate(names):
        picture(root / "img" / f"{name}.jpg", seed)
        edges = [(np.arange(20).reshape(4, 5) % (k + 2) == seed).astype(float) for k in range(20)]
        body = {
            "Boundaries": [Sparse(edge) for edge in edges],
            "Segmentation": ((np.arange(20) + seed) % 21).astype(np.uint8).reshape(4, 5),
            "CategoriesPresent": np.array([[1, 2 + seed]], np.uint8),
        }
        mat(root / "cls" / f"{name}.mat", GTcls=body)
    text(root / "train.txt", *names[:2])
    text(root / "val.txt", names[2])
    text(root / "train_noval.txt", names[1])


def sbu(root: Path) -> None:
    stems = ["2_22_b", "1_11_a", "3_33_gone", "4_44_d"]
    urls = [f"http://static.flickr.com/{s.split('_', 1)[0]}/{s.split('_', 1)[1]}.jpg" for s in stems]
    for seed, stem in enumerate(stems):
        if "gone" not in stem:
            picture(root / "sbu_images" / f"m_{stem}.jpg", seed)
    text(root / "SBU_captioned_photo_dataset_urls.txt", *urls)
    text(root / "SBU_captioned_photo_dataset_captions.txt", *[f"caption of {s} ." for s in stems])


def semeion(root: Path) -> None:
    rows = []
    for number in range(4):
        bits = " ".join(f"{(i * (number + 3)) % 2:.4f}" for i in range(256))
        rows.append(bits + " " + " ".join("1" if k == (number * 3) % 10 else "0" for k in range(10)) + " ")
    text(root / "semeion.data", *rows)


def stl10(root: Path) -> None:
    for seed, (part, count) in enumerate([("train", 2), ("test", 2), ("unlabeled", 3)]):
        images = (np.arange(count * 3 * 96 * 96, dtype=np.int64) * (3 + seed) // 7 % 256).astype(np.uint8)
        (root / f"{part}_X.bin").write_bytes(images.tobytes())
        if part != "unlabeled":
            (root / f"{part}_y.bin").write_bytes(bytes(range(1 + seed, 1 + seed + count)))


def sun397(root: Path) -> None:
    text(root / "ClassName.txt", "/a/abbey", "/a/apartment_building/outdoor", "/b/balcony/interior")
    for seed, name in enumerate(["a/abbey/sun_b", "a/abbey/sun_a", "b/balcony/interior/sun_z",
                                 "a/apartment_building/outdoor/sun_k"]):  # fmt: skip
        picture(root / f"{name}.jpg", seed)


def svhn(root: Path) -> None:
    for seed, (part, count) in enumerate([("train", 3), ("test", 2), ("extra", 2)]):
        images = (np.arange(32 * 32 * 3 * count, dtype=np.int64) * (seed + 3) // 5 % 256).astype(np.uint8)
        labels = ((np.arange(count) + 9 + seed) % 10 + 1).astype(np.uint8).reshape(count, 1)
        mat(root / f"{part}_32x32.mat", X=images.reshape(32, 32, 3, count), y=labels)


def usps(root: Path) -> None:
    for seed, (name, count) in enumerate([("usps", 3), ("usps.t", 2)]):
        lines = [
            f"{(number + seed) % 10 + 1} "
            + " ".join(f"{i + 1}:{((i * (number + 2)) % 201 - 100) / 100:.6g}" for i in range(256))
            + " "
            for number in range(count)
        ]
        text(root / name, *lines)


def wider_face(root: Path) -> None:
    for part, start in (("train", 0), ("val", 20)):
        lines = []
        for seed, (name, boxes) in enumerate([("1--Handshaking/1_b.jpg", 2), ("0--Parade/0_a.jpg", 1)]):
            picture(root / f"WIDER_{part}" / "images" / name, start + seed)
            lines += [name, str(boxes)]
            lines += [f"{449 + k} {330 + start} 122 149 {k} 0 1 0 {seed} 0 " for k in range(boxes)]
        text(root / "wider_face_split" / f"wider_face_{part}_bbx_gt.txt", *lines)
    names = ["0--Parade/0_t2.jpg", "0--Parade/0_t1.jpg"]
    for seed, name in enumerate(names):
        picture(root / "WIDER_test" / "images" / name, 40 + seed)
    text(root / "wider_face_split" / "wider_face_test_filelist.txt", *names)
