"""Small sets of every kind that the command takes."""

import pytest

from millrace._src.cli.quickstart.synthetic_images import write_image


@pytest.fixture(scope="session")
def images(tmp_path_factory):
    """Twelve images in folders two deep."""
    root = tmp_path_factory.mktemp("bench") / "photos"
    for number in range(12):
        write_image(root / "some", number)
    return root


@pytest.fixture(scope="session")
def jpegs(images):
    return [path.read_bytes() for path in sorted(images.rglob("*.jpg"))]
