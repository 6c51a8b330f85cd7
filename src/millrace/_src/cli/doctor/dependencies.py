"""Check libraries: presence, version, and whether they load."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re
from collections.abc import Iterator

from millrace._src.core.optional import install_command
from millrace._src.core.torch_versions import BELOW, OLDEST, range_text, status_of

from .finding import Finding, Machine

__all__ = ["LIBRARIES", "extra_of", "newer_than", "version_of"]

# distribution -> its module and its purpose in Millrace. Required modules are imported to prove that they load;
# the others are only searched for, since some take seconds to import.
NEEDED = {
    "numpy": ("numpy", "arrays"),
    "opencv-python-headless": ("cv2", "image transforms"),
    "simplejpeg": ("simplejpeg", "JPEG files"),
    "pillow": ("PIL.Image", "Pillow images and rare formats"),
    "cloudpickle": ("cloudpickle", "your functions in worker processes"),
    "rich": ("rich", "tables and progress bars"),
    "fsspec": ("fsspec", "s3:// and other addresses"),
    "threadpoolctl": ("threadpoolctl", "thread limits"),
    "google-crc32c": ("google_crc32c", "checksums of TFRecord files"),
    "msgspec": ("msgspec", "JSON lines and annotations"),
}
EXTRAS = {
    "pyarrow": ("pyarrow", "Parquet files, faster typed CSV"),
    "obstore": ("obstore", "s3:// addresses"),
    "ray": ("ray", "pipelines on a Ray cluster"),
    "av": ("av", "video"),
    "soundfile": ("soundfile", "FLAC, OGG and other audio files"),
    "cryptography": ("cryptography", "encrypted record files"),
    "torch": ("torch", "PyTorch batches"),
    "jax": ("jax", "JAX batches"),
}
LIBRARIES = NEEDED | EXTRAS
# Four distributions of one library: two of them in one environment overwrite each other's files.
OPENCVS = (
    "opencv-python",
    "opencv-python-headless",
    "opencv-contrib-python",
    "opencv-contrib-python-headless",
)


def version_of(distribution: str) -> str | None:
    """The installed version, None when it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _list_requirements() -> list[tuple[str, str, str]]:
    """(distribution, minimum version, extra or "") from Millrace's metadata."""
    requirements = []
    for line in importlib.metadata.requires("millrace") or []:
        name = re.match(r"[\w.-]+", line)
        least = re.search(r">=([\w.]+)", line)
        extra = re.search(r"extra == ['\"](\w+)['\"]", line)
        if name:
            requirements.append((name[0].lower(), least[1] if least else "0", extra[1] if extra else ""))
    return requirements


def extra_of(distribution: str) -> str | None:
    """The extra that installs a library; of several, the smallest.

    >>> extra_of("pyarrow"), extra_of("numpy")
    ('parquet', None)
    """
    extras = [extra for _, _, extra in _list_requirements()]
    named = {extra for name, _, extra in _list_requirements() if name == distribution} - {"", "dev", "docs"}
    return min(named, key=lambda extra: (extras.count(extra), extra), default=None)


def _version_tuple(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3]]


def newer_than(distribution: str, version: str) -> str | None:
    """The minimum version, where the given version is older; else None.

    >>> newer_than("ray", "1.0"), newer_than("ray", "9.0")
    ('2.60', None)
    """
    least = next((least for name, least, _ in _list_requirements() if name == distribution), "0")
    return least if _version_tuple(version) < _version_tuple(least) else None


def needed(machine: Machine) -> Iterator[Finding]:
    least = {name: version for name, version, extra in _list_requirements() if not extra}
    fine = []
    for name, (module, purpose) in NEEDED.items():
        version = version_of(name) or (_another_opencv() if module == "cv2" else None)
        try:
            importlib.import_module(module)
        except Exception as error:  # a broken library may raise anything
            yield Finding(
                "problem",
                f"{name} {version or 'is missing'}: {error}",
                f"Millrace needs it for {purpose}",
                f"pip install --force-reinstall '{name}>={least.get(name, '0')}'",
            )
            continue
        if version is not None and _version_tuple(version) < _version_tuple(least.get(name, "0")):
            yield Finding(
                "problem",
                f"{name} {version} is older than {least[name]}",
                f"Millrace is not tested with it ({purpose})",
                f"pip install --upgrade '{name}>={least[name]}'",
            )
            continue
        fine.append(f"{name} {version or '(unknown version)'}")
    if fine:
        yield Finding("ok", ", ".join(fine))
    several = [name for name in OPENCVS if version_of(name)]
    if len(several) > 1:
        yield Finding(
            "warning",
            f"{' and '.join(several)} are installed together",
            "they are the same library and overwrite each other's files",
            f"pip uninstall -y {' '.join(several)} && pip install opencv-python-headless",
        )


def _another_opencv() -> str | None:
    return next((version for name in OPENCVS if (version := version_of(name))), None)


def jpeg(machine: Machine) -> Iterator[Finding]:
    try:
        import cv2
        import simplejpeg
    except ImportError:
        return  # reported by the check above
    # imported here: it needs OpenCV, which may be broken
    from millrace._src.data.kernels.vision.jpeg_region import library

    line = re.search(r"^\s*JPEG:\s*(.+)$", cv2.getBuildInformation(), re.MULTILINE)
    built = line[1].strip() if line else "unknown"
    parts = "simplejpeg" if library() is None else "the system's libturbojpeg"
    shown = (
        f"simplejpeg {version_of('simplejpeg') or simplejpeg.__name__} with its own libjpeg-turbo; partial decoding: "
        f"{parts}; OpenCV: {built}"
    )
    if "turbo" in built:
        yield Finding("ok", shown)
    else:
        yield Finding(
            "note",
            shown,
            "this OpenCV was built without libjpeg-turbo; JPEG files without support in simplejpeg decode slower",
            "pip install --force-reinstall opencv-python-headless",
        )


def pytorch(machine: Machine) -> Iterator[Finding]:
    """Check whether training and serving were tested with the installed PyTorch."""
    version = version_of("torch")
    if version is None:
        yield Finding("ok", f"not installed; training and serving are tested with {range_text()}")
        return
    status = status_of(version)
    if status == "tested":
        yield Finding("ok", f"PyTorch {version}, in the tested range {range_text()}")
        return
    yield Finding(
        "note" if status == "newer" else "warning",
        f"PyTorch {version} is {status} than the tested range {range_text()}",
        "pipelines work with it; training and serving may fail or give other results",
        f"pip install 'torch>={OLDEST},<{BELOW}'",
    )


def extras(machine: Machine) -> Iterator[Finding]:
    there = []
    absent: dict[str, list[str]] = {}
    for name, (module, purpose) in EXTRAS.items():
        version = version_of(name)
        if version is not None or importlib.util.find_spec(module) is not None:
            there.append(f"{name} {version or '(unknown version)'}")
        else:
            extra = extra_of(name)
            command = install_command(extra, name) if extra else f"pip install {name}"
            absent.setdefault(command, []).append(f"{name} ({purpose})")
    if there:
        yield Finding("ok", ", ".join(there))
    if absent:
        names = "; ".join(f"{', '.join(names)}: {command}" for command, names in absent.items())
        yield Finding("ok", f"not installed, needed only for the purposes in brackets: {names}")
