"""What is asked of the cache, by command and by script; {port}, {folder} and {session} are the run's own."""

from __future__ import annotations

from tests.parity.case import Case

ANY_OP = (
    "MindSpore refuses it; here any op but a random one may stand below, and one cache holds several trees"
)
FULL = "MindSpore ends the process when a cache with a size is full, and with such rows even when it is not"

# A line is the words after `dataset-cache`, with NAME=value before them for the environment. `(kill)` ends the
# server as a crash would, `(spill)` makes the folder {folder}.
SCENARIOS = {
    "no server": """
        --help

        -g -p {port}
        --generate_session -p {port}
        -d 5 -p {port}
        --list_sessions -p {port}
        --server_info -p {port}
        --stop -p {port}
        MS_CACHE_PORT={port} -g
        MS_CACHE_PORT=abc -g
        MS_CACHE_PORT=80 -g
        MS_CACHE_PORT=50990 -g -p {port}
    """,
    "wrong words": """
        --bogus
        bogus
        -z
        -h
        -p {port}
        --start --stop
        --start -g -p {port}
        -g -d 5
        -g -g
        --start -w 1 -w 2
        --start -p {port} -p {port}
        --start -p {port} extra
        --start --port={port}
        --start -p{port}
        -g 5 -p {port}
        --help extra
        --help -g
        --start --help
        --start -p
        --port
        --hostname
        --workers
        --spilldir
        --loglevel
        --memory_cap_ratio
        --shared_memory_size
        --destroy_session
        -d
        -d abc -p {port}
        -d 99999999999 -p {port}
    """,
    "wrong values": """
        --start -p abc
        --start -p 80
        --start -p 70000
        --start -p {port} -w 0
        --start -p {port} -w 1000
        --start -p {port} -w abc
        --start -p {port} -w 0x5
        --start -p {port} -l 9
        --start -p {port} -l -1
        --start -p {port} -l abc
        --start -p {port} -r 2
        --start -p {port} -r 0
        --start -p {port} -r abc
        --start -p {port} -m abc
        --start -p {port} -m 0
        --start -p {port} -h 10.1.2.3
        --start -p {port} -h localhost
        --start -p {port} -s {folder}/missing
        --start -p {port} -s relative/folder
        --list_sessions -p {port} -l 9
    """,
    "a life": """
        --start -p {port}
        --start -p {port}
        --list_sessions -p {port}
        --server_info -p {port}
        -g -p {port}
        --generate_session -p {port}
        --list_sessions -p {port}
        --server_info -p {port}
        MS_CACHE_PORT={port} --list_sessions
        MS_CACHE_PORT={port} MS_CACHE_HOST=127.0.0.1 --server_info
        -d {session} -p {port}
        -d {session} -p {port}
        -d 0 -p {port}
        -d -3 -p {port}
        --list_sessions -p {port}
        --stop -p {port}
        --stop -p {port}
    """,
    "every option": """
        (spill)
        --start -h 127.0.0.1 -p {port} -w 3 -s {folder} -l 2 -r 0.5 -m 1
        --server_info -p {port}
        --stop -p {port}
        --start --hostname 127.0.0.1 --port {port} --workers 2 --spilldir {folder} --loglevel 0 --memory_cap_ratio 1
        --server_info --port {port}
        --generate_session --port {port}
        --destroy_session {session} --port {port}
        --stop --port {port}
    """,
    "killed": """
        (spill)
        --start -p {port} -s {folder}
        -g -p {port}
        (kill)
        --list_sessions -p {port}
        --stop -p {port}
        --start -p {port}
        --list_sessions -p {port}
        (kill)
        --start -p {port} -s {folder}
        -g -p {port}
        --stop -p {port}
    """,
    "in use": """
        --start -p {port}
        -g -p {port}
        (rows)
        --list_sessions -p {port}
        --server_info -p {port}
        -d {session} -p {port}
        --list_sessions -p {port}
        --stop -p {port}
    """,
}

# photos() is a source of six images in order; cache() a DatasetCache of a fresh session; stat(cache) its figures.
WITH_SERVER = [
    Case("source", "c = cache(); result = [count(photos(cache=c), 3), stat(c)[1:]]"),
    Case("map", "c = cache(); result = [count(photos().map(small, 'image', cache=c), 2), stat(c)[1:]]"),
    Case("text", "c = cache(); result = [count(lines(cache=c), 2), stat(c)[1:]]"),
    Case("shuffled", "count(photos(shuffle=True, cache=cache()), 2)"),
    Case("sharded", "count(photos(num_shards=2, shard_id=1, cache=cache()), 2)"),
    Case("then batch", "count(photos().map(small, 'image', cache=cache()).batch(2), 2)"),
    Case("then random", "count(photos().map(small, 'image', cache=cache()).map(flip, 'image'))"),
    Case(
        "two clients",
        "a, b = cache(), cache(); result = [count(photos(cache=a)), count(photos(cache=b)), stat(b)[1]]",
    ),
    Case("function", "count(photos().map(small, 'image').map(lambda x: x, 'image', cache=cache()))"),
    Case(
        "function below",
        "count(photos().map([small, lambda x: x], 'image').map(abs, 'label', cache=cache()))",
    ),
    Case("rename below", "count(photos().rename('image', 'x').map(small, 'x', cache=cache()))"),
    Case("stat before", "stat(cache())", better="nothing is kept yet: that is an answer", want=[0, 0, 0]),
    Case("stat attributes", "c = cache(); count(photos(cache=c)); result = attributes(c.get_stat())"),
    Case(
        "unknown session",
        "count(photos(cache=ds.DatasetCache(77, port=port)))",
        ("there is no session 77", "dataset-cache -g"),
    ),
    Case(
        "no spilling there",
        "count(photos(cache=cache(spilling=True)))",
        better="every server may spill",
        want=[6],
    ),
    Case(
        "random",
        "count(photos().map([small, flip], 'image', cache=cache()))",
        ("MapNode containing random operation is not supported as a descendant of cache", "Move"),
    ),
    Case(
        "random below",
        "count(photos().map([small, flip], 'image').map(cast, 'label', cache=cache()))",
        ("RandomHorizontalFlip samples new random numbers",),
        better="MindSpore freezes the first draw without a word",
        raises=(RuntimeError,),
    ),
    Case(
        "batch below",
        "count(photos().map(small, 'image').batch(2).map(cast, 'label', cache=cache()))",
        better=ANY_OP,
        want=[3],
    ),
    Case(
        "repeat below",
        "count(photos().repeat(2).map(small, 'image', cache=cache()))",
        better=ANY_OP,
        want=[12],
    ),
    Case("shuffle below", "count(photos().shuffle(4).map(small, 'image', cache=cache()))"),
    Case("take below", "count(photos().take(3).map(small, 'image', cache=cache()))", better=ANY_OP, want=[3]),
    Case("skip below", "count(photos().skip(3).map(small, 'image', cache=cache()))", better=ANY_OP, want=[3]),
    Case(
        "filter below",
        "count(photos().filter(lambda x: True, 'image').map(small, 'image', cache=cache()))",
        better=ANY_OP,
        want=[6],
    ),
    Case(
        "project below",
        "count(photos().project('image').map(small, 'image', cache=cache()))",
        better=ANY_OP,
        want=[6],
    ),
    Case(
        "concat below",
        "count((photos() + photos()).map(small, 'image', cache=cache()))",
        better=ANY_OP,
        want=[12],
    ),
    Case(
        "zip below",
        "count(ds.zip((photos(), lines())).map(small, 'image', cache=cache()))",
        better=ANY_OP,
        want=[3],
    ),
    Case(
        "two caches",
        "count(photos(cache=cache()).map(small, 'image', cache=cache()))",
        better=ANY_OP,
        want=[6],
    ),
    Case(
        "one cache, two trees",
        "c = cache(); result = count(ds.zip((photos(cache=c), lines(cache=c))))",
        better=ANY_OP,
        want=[3],
    ),
    Case(
        "generator below", "count(gen([(1,), (2,)]).map(cast, 'a', cache=cache()))", better=ANY_OP, want=[2]
    ),
    Case("generator", "gen([(1,), (2,)], cache=cache())", ("unexpected keyword argument 'cache'",)),
    Case("batch", "photos().batch(2, cache=cache())", ("unexpected keyword argument 'cache'",)),
    Case("size", "photos(cache=cache()).get_dataset_size()"),
    Case("serialize", "sorted(ds.serialize(photos(cache=cache()))['cache'])"),
    Case("deserialize", "count(ds.deserialize(ds.serialize(photos(cache=cache()))))"),
    Case("copied", "c = copy.deepcopy(cache()); result = [count(photos(cache=c)), c.size, c.port == port]"),
    Case(
        "attributes",
        "c = cache(size=3); result = [c.size, c.spilling, c.hostname, c.num_connections, c.prefetch_size]",
    ),
    Case("attribute names", "sorted(set(vars(cache())) & set(OPTIONS))"),
]

# the server may spill, rows are of 100 000 bytes
WITH_SPILLING = [
    Case("spills", "c = cache(size=1, spilling=True); result = [count(big(50, c), 2), stat(c)[2] > 0]"),
    Case(
        "fits",
        "c = cache(size=100); result = [count(big(50, c), 2), stat(c)[2]]",
        better=FULL,
        want=[[50, 50], 0],
    ),
    Case(
        "does not fit",
        "c = cache(size=1); result = [count(big(50, c), 2), stat(c)[1] < 50]",
        better=FULL,
        want=[[50, 50], True],
    ),
]

WITHOUT_SERVER = [
    Case(
        "iterate",
        "count(photos(cache=cache()))",
        ("no cache server is running at port", "dataset-cache --start"),
    ),
    Case("size", "photos(cache=cache()).get_dataset_size()"),
    Case("stat", "cache().get_stat()", ("no cache server is running at port",)),
]
