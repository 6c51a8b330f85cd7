"""``OBSMindDataset``: MindRecord files in object storage."""

from __future__ import annotations

from typing import Annotated, Any

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.io.remote import RemotePath, is_remote, remote_exists
from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.pipeline.serialization import can_rebuild
from millrace._src.data.pipeline.source_dataset import SourceDataset

from .base.file_sampler import FileSampler
from .base.sampler_arguments import check_shard_options
from .mindrecord import MindRecordSource, shuffle_mode

__all__ = ["OBSMindDataset", "sync_wait_for_dataset"]


class _Server:
    def check(self, name: str, value: str) -> None:
        if not value.startswith(("http://", "https://")):
            raise ArgumentValueError(
                f"{name} should be a str that starts with http:// or https://, but got {value}."
            )


class _Addresses:
    def check(self, name: str, value: list[Any]) -> None:
        for item in value:
            if not isinstance(item, str):
                raise ArgumentTypeError(
                    f"Item of dataset files is not of type [{str}], but got {type(item)}."
                )
            if not is_remote(item):
                raise ArgumentValueError(
                    f"{name}: {item!r} is not an address such as s3://bucket/key; MindDataset reads local files"
                )
        if not value:
            raise ArgumentValueError(f"{name} is empty: name at least one MindRecord file")


@public("dataset")
class OBSMindDataset(SourceDataset):
    """Rows of MindRecord files in object storage: OBS, MinIO, S3, or any address that fsspec knows.

    ``server``, ``ak`` and ``sk`` (endpoint, access key, secret key) go to the ``s3://`` driver: install it with
    ``pip install obstore``. Rows are fetched on demand, so nodes need not synchronize: ``sync_obs_path`` is
    accepted and not used. Each of ``num_shards`` shards reads a contiguous range of rows, all of equal length; with
    ``shard_equal_rows=False`` it reads every ``num_shards``-th file. :class:`MindDataset` reads the same addresses with
    keys from the environment.

    >>> import millrace.dataset as ds
    >>> from millrace.mindrecord import FileWriter
    >>> writer = FileWriter("memory://bucket/n.mindrecord")
    >>> _ = writer.add_schema({"n": {"type": "int32"}})
    >>> _ = writer.write_raw_data([{"n": n} for n in range(5)])
    >>> _ = writer.commit()
    >>> data = ds.OBSMindDataset(
    ...     ["memory://bucket/n.mindrecord"],
    ...     "https://127.0.0.1:9000",
    ...     "key",
    ...     "secret",
    ...     "memory://sync",
    ...     shuffle=False,
    ... )
    >>> [row["n"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    [0, 1, 2, 3, 4]
    """

    @checked
    def __init__(
        self,
        dataset_files: Annotated[list[Any], _Addresses()],
        server: Annotated[str, _Server()],
        ak: str,
        sk: str,
        sync_obs_path: str,
        columns_list: list[Any] | None = None,
        shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        shard_equal_rows: bool = True,
    ) -> None:
        mode = shuffle_mode(shuffle)
        check_shard_options(num_shards, shard_id)
        files = [RemotePath(address, _options(address, server, ak, sk)) for address in dataset_files]
        for file in files:
            if not remote_exists(file):
                raise ArgumentValueError(
                    f"The file {file} does not exist or permission denied! (server: {server})"
                )
        source = MindRecordSource(files, None, name=type(self).__name__)
        if columns_list:
            if not set(columns_list) <= set(source.columns):
                raise ArgumentValueError(
                    f"columns_list: {columns_list} can not found in MindRecord fields: {source.columns}"
                )
            source.columns = list(columns_list)
        sampler = FileSampler(
            _Sizes(source), mode, None, num_shards or 1, shard_id or 0, by_files=not shard_equal_rows
        )
        self._init_source(source, sampler, None)


class _Sizes:
    """File sizes for the sampler, without the access keys: samplers are printed."""

    def __init__(self, source: MindRecordSource) -> None:
        self._sizes, self._row_bytes = list(source.sizes), source.row_bytes

    def sizes(self) -> list[int]:
        return self._sizes

    def row_bytes(self) -> int:
        return self._row_bytes


def _options(address: str, server: str, ak: str, sk: str) -> dict[str, Any]:
    if not address.startswith(("s3://", "s3a://")):
        return {}
    return {"key": ak, "secret": sk, "client_kwargs": {"endpoint_url": server}}


def _refuse(saved: dict[str, Any]) -> OBSMindDataset:
    raise PlanError(
        "an OBSMindDataset cannot be rebuilt from JSON, which never holds its keys: create it again, or use "
        "MindDataset with keys from the environment"
    )


can_rebuild(OBSMindDataset, _refuse)


@public("dataset")
@checked
def sync_wait_for_dataset(rank_id: int, rank_size: int, current_epoch: int) -> None:
    """Return at once. MindSpore waits here until all devices have downloaded the files; Millrace reads on demand.

    >>> sync_wait_for_dataset(0, 8, 1)
    """
    if not 0 <= rank_id < rank_size:
        raise ArgumentValueError(f"rank_id must lie in [0, rank_size), but got {rank_id} of {rank_size}")
    if current_epoch < 0:
        raise ArgumentValueError(f"current_epoch cannot be negative, but got {current_epoch}")
