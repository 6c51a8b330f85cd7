"""The attack of ``benchmarks.attack``, small and short: every honest response is right, and memory stays bounded."""

from benchmarks.attack import MEMORY, attack


def test_honest_clients_get_right_responses_under_attack():
    result = attack(hostile=6, honest=6, seconds=5.0)
    honest = result["honest"]
    assert honest.get("wrong", 0) == 0, honest
    assert honest["right"] > 0, honest
    assert not [name for name in honest if name.startswith("failed")], honest
    assert result["health"]["requests"] > 0
    assert result["health"]["failed"] == 0
    assert result["memory_mb"]["peak"] << 20 < MEMORY
    assert sum(result["hostile"].values()) > 0
