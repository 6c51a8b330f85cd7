"""What DatasetCache and `cache=` say about wrong arguments; tests/parity/data/cache asks what a server answers."""

from tests.parity.case import Case, each

OWN = "without a session it is a cache of this process"

CASES = [
    *each(
        "cache.session_id",
        "ds.DatasetCache({}).session_id",
        "'1'; 1.5; True; -1; 0; 2**32; 2**32-1; np.int64(3)",
    ),
    Case("cache.session_id=None", "ds.DatasetCache(None).session_id", better=OWN, want=None),
    Case("cache.session_id left out", "ds.DatasetCache().session_id", better=OWN, want=None),
    *each("cache.size", "ds.DatasetCache(1, size={}).size", "'1'; 1.5; True; None; 0; 10"),
    *each("cache.size", "ds.DatasetCache(1, size={}).size", "-1; 2**64", words=("Input size",)),
    *each("cache.spilling", "ds.DatasetCache(1, spilling={}).spilling", "1; None; 'x'; True"),
    *each("cache.hostname", "ds.DatasetCache(1, hostname={}).hostname", "3; b'x'; None; '127.0.0.1'"),
    *each(
        "cache.port",
        "ds.DatasetCache(1, port={}).port",
        "'1'; 1.5; True; -1; 80; 1024; 1025; 65535; 65536; None",
    ),
    *each(
        "cache.num_connections",
        "ds.DatasetCache(1, num_connections={}).num_connections",
        "'1'; 1.5; True; 0; -1; 2**31; 2**31-1; None",
    ),
    *each(
        "cache.prefetch_size",
        "ds.DatasetCache(1, prefetch_size={}).prefetch_size",
        "'1'; 1.5; True; 0; -1; 2**31; 2**31-1; None",
    ),
    *each("map.cache", "num().map(abs, cache={})", "1; 'x'"),
    *each("random.cache", "ds.RandomDataset(3, cache={})", "1; 'x'"),
    *each("images.cache", "ds.ImageFolderDataset(str(folder), cache={})", "1; 'x'"),
]
