"""The rows and pages of ./dev bench exact: what needs neither peers nor a measurement."""

from tools.bench import exact_page, exact_rows
from tools.soak import exact as soak

REPORT = {
    "title": "1M × 128, batch 1,000, one thread", "batch": 1000, "aims": {"best peer": 12, "AMX peak": 50},
    "best_peer": "faiss flat", "ratios": {"best peer": {"median": 11.9, "low": 11.2, "high": 12.4}},
    "yardstick": {"name": "AMX peak", "unit": "Gop/s", "limit": 5000.0, "percent": 51.0},
    "contestants": {
        "vectis": {"ms": 250.0, "per_second": 4000.0, "rounds": 9, "recall": 1.0, "differences": 0, "kernel": "amx-int8",
                   "bytes_per_vector": 144, "reranked_per_query": 43.2},
        "faiss flat": {"ms": 3000.0, "per_second": 333.3, "rounds": 9, "recall": 0.9998, "differences": 2},
        "usearch exact": {"ms": 30000.0, "per_second": 33.3, "rounds": 1, "recall": 1.0, "differences": 0},
    },
}


def test_a_table_says_who_met_what():
    text = exact_page.table([REPORT])
    assert "11.9 × faiss flat (11.2 to 12.4)" in text
    assert "≥ 12 × best peer: not met; ≥ 50 % AMX peak: met" in text
    assert "51 % of AMX peak (5,000 Gop/s)" in text
    assert "usearch exact (once)" in text
    ours = next(line for line in text.splitlines() if "vectis" in line)
    assert "equal" in ours


def test_a_wrong_id_of_ours_is_counted():
    wrong = {**REPORT, "contestants": {**REPORT["contestants"]}}
    wrong["contestants"]["vectis"] = {**wrong["contestants"]["vectis"], "differences": 3}
    text = exact_page.table([wrong])
    assert "3 differences" in text
    assert "equal" not in text


def test_quick_rows_are_a_tenth_and_keep_their_aims():
    quick = exact_rows.chosen([], quick=True, rounds=None)
    assert {row.rows for row in quick} == {exact_rows.MILLION // 10}
    assert {row.dim for row in quick} == {128}
    full = {row.key: row.aims for row in exact_rows.ROWS}
    assert all(row.aims == full[row.key] for row in quick)
    assert exact_rows.chosen(["single"], quick=False, rounds=2)[0].rounds == 2


def test_every_row_is_a_cell_of_the_soak():
    assert {row.key for row in exact_rows.ROWS} <= set(soak.MEASUREMENTS)
