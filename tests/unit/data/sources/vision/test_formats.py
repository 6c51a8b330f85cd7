"""The readers of annotations, .mat and tar files against what they might meet outside."""

from __future__ import annotations

import io
import tarfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace._src.core.errors import FormatError
from millrace._src.data.formats.annotations import read_json, read_xml
from millrace._src.data.formats.column_readers import map_gray_bmp
from millrace._src.data.formats.mat import read_mat
from millrace._src.data.formats.tar import iter_members
from tests.parity.data.small_sources.tiny import Sparse, bmp, grey_bmp, mat, pixels


def variables():
    return {
        "x": np.arange(24, dtype=np.uint16).reshape(2, 3, 4),
        "s": {"a": np.eye(2), "cells": [np.array([[1]], np.int32), Sparse(np.diag([0.0, 2, 3]))]},
    }


def refuses_by_name(path, read):
    """Whatever is in the file: it is read, or refused by an error that names it; nothing else comes out."""
    error = None
    try:
        read(path)
    except FormatError as caught:
        error = caught
    assert error is None or str(path) in str(error)


@pytest.mark.parametrize("compress", [True, False])
def test_mat_gives_what_was_written(tmp_path, compress):
    values = read_mat(mat(tmp_path / "a.mat", compress, **variables()))
    assert np.array_equal(values["x"], variables()["x"])
    assert values["x"].dtype == np.uint16
    assert values["s"]["a"].tolist() == [[1, 0], [0, 1]]
    assert values["s"]["cells"][1].tolist() == [[0, 0, 0], [0, 2, 0], [0, 0, 3]]
    assert list(read_mat(tmp_path / "a.mat", ["x"])) == ["x"]


def test_mat_written_by_scipy(tmp_path):
    scipy_io = pytest.importorskip("scipy.io")
    sparse = pytest.importorskip("scipy.sparse")
    scipy_io.savemat(
        tmp_path / "a.mat",
        {"x": np.arange(6.0).reshape(2, 3), "t": "word", "s": {"k": sparse.csc_matrix(np.eye(3))}},
        do_compression=True,
    )
    values = read_mat(tmp_path / "a.mat")
    assert values["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert values["t"] == "word"
    assert values["s"]["k"].tolist() == np.eye(3).tolist()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(offset=st.integers(128, 1000), byte=st.integers(0, 255), cut=st.booleans())
def test_damaged_mat_is_refused_or_read(tmp_path, offset, byte, cut):
    path = mat(tmp_path / "a.mat", False, **variables())
    data = bytearray(path.read_bytes())
    offset = min(offset, len(data) - 1)
    data[offset] = byte
    path.write_bytes(bytes(data[:offset] if cut else data))
    refuses_by_name(path, read_mat)


def test_xml_expands_nothing(tmp_path):
    bomb = '<!DOCTYPE a [<!ENTITY x "xxxx"><!ENTITY y "&x;&x;">]><annotation>&y;</annotation>'
    for text in (bomb, "<a>" * 100 + "</a>" * 100, "<a><b></a>", ""):
        (tmp_path / "a.xml").write_text(text)
        with pytest.raises(FormatError, match=r"a\.xml"):
            read_xml(tmp_path / "a.xml")


def test_json_too_deep_is_refused(tmp_path):
    (tmp_path / "a.json").write_text("[" * 200_000)
    with pytest.raises(FormatError, match=r"a\.json"):
        read_json(tmp_path / "a.json")
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(FormatError, match="more than 1 bytes"):
        read_json(tmp_path / "a.json", max_bytes=1)


def archive(path, names, form=tarfile.GNU_FORMAT):
    with tarfile.open(path, "w", format=form) as tar:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(name.encode())
            tar.addfile(member, io.BytesIO(name.encode()))
    return path


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_tar_finds_what_tarfile_finds(tmp_path, form):
    names = ["a.txt", "b/" * 60 + "c.txt", "d" * 90 + ".txt"]
    if form != tarfile.USTAR_FORMAT:
        names += ["long" * 60 + ".txt", "ümlaut.txt"]
    path = archive(tmp_path / "a.tar", names, form)
    data = path.read_bytes()
    files = list(iter_members(path))
    assert [name for name, _, _ in files] == names
    assert all(data[at : at + size].decode() == name for name, at, size in files)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 3000), byte=st.integers(0, 255), cut=st.booleans())
def test_damaged_tar_is_refused_or_read(tmp_path, place, byte, cut):
    path = archive(tmp_path / "a.tar", ["a.txt", "long" * 60 + ".txt"])
    data = bytearray(path.read_bytes())
    data[place] = byte
    path.write_bytes(bytes(data[:place] if cut else data))
    refuses_by_name(path, lambda found: [offset + size for _, offset, size in iter_members(found)])


def test_grey_bmp(tmp_path):
    grey = pixels(3, 6, 7)[:, :, 0]
    (tmp_path / "a.bmp").write_bytes(grey_bmp(grey))
    assert np.array_equal(map_gray_bmp(str(tmp_path / "a.bmp")), grey)
    (tmp_path / "b.bmp").write_bytes(bmp(np.stack([grey] * 3, axis=2)))
    assert np.array_equal(map_gray_bmp(str(tmp_path / "b.bmp")), grey)
    for data in (b"BM", b"PK" * 40, grey_bmp(grey)[:-20]):
        (tmp_path / "c.bmp").write_bytes(data)
        with pytest.raises(FormatError, match=r"c\.bmp"):
            map_gray_bmp(str(tmp_path / "c.bmp"))
