"""Samples: sizes by hand, the same rows whatever the order, and an independent drawing to compare with."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from signpost_kit.benchmark.lists import Sample, select
from signpost_kit.benchmark.lists.places import countries_at, country_code
from signpost_kit.benchmark.lists.sampling import draw, hash_ids, ranks, stratum_size
from signpost_kit.errors import ConfigError

SIZES = {"CN": 2500, "FR": 1000, "KE": 12, "PE": 4}


def street_list(tmp_path, *, shuffle: int | None = None, extra: int = 0, name: str = "sv.csv"):
    """A list of panoramas in provinces of several countries; the country's column is left blank in a few rows."""
    rows = []
    for country, size in SIZES.items():
        for i in range(size):
            province = f"{country}-{i % 3}" if i % 50 else ""
            rows.append(f"{country.lower()}{i:05d},{country},{province},{10 + i * 0.01:.4f},{20 + i * 0.01:.4f}")
    rows += [f"new{i},FR,FR-1,48.{i:04d},2.5" for i in range(extra)]
    if shuffle is not None:
        random.Random(shuffle).shuffle(rows)
    path = tmp_path / name
    path.write_text("panoid,country,province,wgs_lat,wgs_lon\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize(
    ("rows", "share", "at_least", "expected"),
    [(2500, 0.01, 10, 25), (1000, 0.01, 10, 10), (1049, 0.01, 10, 10), (1050, 0.01, 10, 11), (12, 0.01, 10, 10),
     (4, 0.01, 10, 4), (0, 0.01, 10, 0), (7, 1.0, 1, 7), (5, 0.5, 1, 3)],
)  # fmt: skip
def test_stratum_sizes_by_hand(rows, share, at_least, expected):
    assert stratum_size(rows, share, at_least) == expected


def test_sizes_per_country_and_the_report(tmp_path):
    selection = select(street_list(tmp_path), sample=Sample("country"), exchanged=False)
    drawn = Counter(row.country for row in selection.rows())
    assert drawn == {"CN": 25, "FR": 10, "KE": 10, "PE": 4}
    frame = selection.report.strata_frame()
    assert frame.values.tolist() == [["CN", 2500, 25], ["FR", 1000, 10], ["KE", 12, 10], ["PE", 4, 4]]


def test_provinces_stay_apart_by_country_and_a_blank_one_is_its_own(tmp_path):
    selection = select(street_list(tmp_path), sample=Sample("province", share=0.1, at_least=2), exchanged=False)
    by_name = {name: (rows, drawn) for name, rows, drawn in selection.report.strata}
    assert by_name["CN/"] == (50, 5)
    assert by_name["CN/CN-1"] == (817, 82)
    assert by_name["PE/PE-1"] == (1, 1)
    assert sum(rows for rows, _ in by_name.values()) == sum(SIZES.values())


def test_the_order_of_the_rows_changes_nothing(tmp_path):
    plain = select(street_list(tmp_path), sample=Sample("country"), exchanged=False)
    mixed = select(
        street_list(tmp_path, shuffle=3, name="b.csv"), sample=Sample("country"), exchanged=False, chunk_rows=100
    )
    ids = [row.id for row in plain.rows()]
    assert ids == [row.id for row in mixed.rows()]
    assert len(set(ids)) == 49
    few = [row.id for row in select(plain.layout.path, sample=Sample("country"), exchanged=False, limit=20).rows()]
    assert len(few) == 20
    assert set(few) < set(ids)


def test_new_rows_of_one_country_leave_the_others_alone(tmp_path):
    sample = Sample("country")
    before = {
        r.id for r in select(street_list(tmp_path), sample=sample, exchanged=False).rows() if r.country != "FR"
    }
    grown = select(street_list(tmp_path, extra=500, name="b.csv"), sample=sample, exchanged=False)
    assert {row.id for row in grown.rows() if row.country != "FR"} == before


def test_another_seed_draws_other_rows_and_a_larger_share_only_adds(tmp_path):
    path = street_list(tmp_path)

    def ids(**options):
        return {row.id for row in select(path, sample=Sample("country", **options), exchanged=False).rows()}

    assert ids() == ids(seed=42)
    assert len(ids() & ids(seed=43)) < 25
    assert ids() < ids(share=0.05)


def test_the_draw_against_a_plain_one():
    rng = np.random.default_rng(5)
    strata = rng.integers(0, 9, 4000)
    rank = rng.integers(0, 2**63, 4000).astype(np.uint64)
    chosen = draw(strata, rank, share=0.03, at_least=4)
    for stratum in range(9):
        members = sorted((int(rank[i]), i) for i in range(4000) if strata[i] == stratum)
        expected = {i for _, i in members[: max(4, int(len(members) * 0.03 + 0.5))]}
        assert set(np.flatnonzero(chosen & (strata == stratum))) == expected


def test_draws_are_even():
    """Each of 40 ids is drawn about equally often over 2,000 seeds (half of them: 1,000, sd 22)."""
    hashes = hash_ids([f"img_{i}" for i in range(40)])
    counts = sum(
        draw(np.zeros(40, int), ranks(hashes, seed), share=0.5, at_least=1).astype(int) for seed in range(2000)
    )
    assert counts.sum() == 40_000
    assert abs(counts - 1000).max() < 100


def siphash(data: bytes, key: bytes) -> int:
    """SipHash-2-4 as its authors define it (Aumasson and Bernstein 2012), step by step."""
    mask = 2**64 - 1
    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def turn(x: int, bits: int) -> int:
        return (x << bits | x >> (64 - bits)) & mask

    def rounds(n: int) -> None:
        for _ in range(n):
            v[0], v[2] = (v[0] + v[1]) & mask, (v[2] + v[3]) & mask
            v[1], v[3] = turn(v[1], 13) ^ v[0], turn(v[3], 16) ^ v[2]
            v[0] = turn(v[0], 32)
            v[2], v[0] = (v[2] + v[1]) & mask, (v[0] + v[3]) & mask
            v[1], v[3] = turn(v[1], 17) ^ v[2], turn(v[3], 21) ^ v[0]
            v[2] = turn(v[2], 32)

    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) % 256])
    for i in range(0, len(padded), 8):
        word = int.from_bytes(padded[i : i + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def finished(x: int) -> int:
    """The finaliser of SplitMix64 (Steele and others 2014)."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def test_hashes_are_siphash_and_never_change():
    """Else every published sample would change with a library."""
    ids = ["a", "45/77/3228511372.jpg", "é", "1000269685_e60e9cdfb4_1125_14788399@N00.jpg"]
    assert siphash(bytes(range(15)), bytes(range(16))) == 0xA129CA6149BE45E5  # the paper's own test value
    assert hash_ids(ids).tolist() == [finished(siphash(ident.encode(), b"signpost_kit.ids")) for ident in ids]
    assert ranks(hash_ids(["a"]), 42).tolist() == [4697662248429143165]  # of this project's first version


def test_countries_from_positions_where_the_list_has_none(tmp_path):
    rows = [
        "a,48.85,2.35",
        "b,-33.87,151.21",
        "c,21.03,105.85",
        "d,35.68,139.69",
        "e,-48.9,-123.4",
        "f,-16.5,179.99",
    ]
    path = tmp_path / "l.csv"
    path.write_text("id,lat,lon\n" + "\n".join(rows) + "\n")
    selection = select(path, sample=Sample("country", at_least=1))
    assert {row.id: row.country for row in selection.rows()} == {
        "a": "FR", "b": "AU", "c": "VN", "d": "JP", "e": "", "f": "FJ",
    }  # fmt: skip
    assert "(none)" in set(selection.report.strata_frame()["stratum"])  # the middle of the Pacific
    assert countries_at(np.array([]), np.array([])).tolist() == []


@pytest.mark.parametrize(
    ("text", "code"),
    [("CN", "CN"), ("chn", "CN"), ("China", "CN"), ("Deutschland", "DE"), ("uk", "GB"), ("", ""), ("Atlantis", "")],
)
def test_countries_however_they_are_written(text, code):
    assert country_code(text) == code


def test_what_cannot_be_drawn_is_refused(tmp_path):
    path = tmp_path / "l.csv"
    path.write_text("id,lat,lon\na,48.85,2.35\n")
    with pytest.raises(ConfigError, match="no column for the province"):
        select(path, sample=Sample("province"))
    with pytest.raises(ConfigError, match="share=0"):
        select(path, sample=Sample("country", share=0))
    with pytest.raises(ConfigError, match="limit=0"):
        select(path, limit=0)
