"""Timing in rounds: who runs when, and the arithmetic against numpy."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from benchmarks.measuring.rounds import Contender, difference, measure, summary


def counting(names: str) -> tuple[list[Contender], list[str]]:
    order: list[str] = []

    def contender(name: str) -> Contender:
        def time_ms() -> float:
            order.append(name)
            return float(len(order))

        return Contender(name, time_ms)

    return [contender(name) for name in names], order


def test_everybody_runs_once_per_round() -> None:
    contenders, order = counting("abc")
    measure(contenders, 6, warm_up=2)
    rounds = ["".join(order[i : i + 3]) for i in range(0, len(order), 3)]
    assert len(rounds) == 8
    assert {"".join(sorted(one)) for one in rounds} == {"abc"}
    assert all(len(contender.samples) == 6 for contender in contenders)


def test_samples_do_not_keep_what_was_timed_alive() -> None:
    """Else a run over many networks keeps all of their sessions."""

    class Session:
        def run(self) -> None: ...

    session = Session()
    lives = weakref.ref(session)
    contender = Contender.of("a", session.run)
    measure([contender], 2)
    kept = contender.without_work()
    del session, contender
    assert lives() is None
    assert len(kept.samples) == 2
    with pytest.raises(RuntimeError, match="done"):
        kept.time_ms()


def test_nobody_always_follows_the_same() -> None:
    contenders, order = counting("abc")
    measure(contenders, 6, warm_up=0)
    before_b = {order[i - 1] for i, name in enumerate(order) if name == "b" and i % 3}
    first = {order[i] for i in range(0, len(order), 3)}
    assert before_b == {"a", "c"}
    assert first == {"a", "b", "c"}


def test_warm_up_and_earlier_samples_do_not_count() -> None:
    contenders, _ = counting("ab")
    measure(contenders, 3, warm_up=1)
    measure(contenders, 4, warm_up=2)
    assert [len(contender.samples) for contender in contenders] == [4, 4]
    assert min(contenders[0].samples + contenders[1].samples) > 8 + 4


def test_work_is_timed_in_milliseconds() -> None:
    """Against the same clock read around it."""
    import time

    contender = Contender.of("sleep", lambda: time.sleep(0.02), "wall")
    started = time.perf_counter()
    took = contender.time_ms()
    assert 20 <= took <= 1e3 * (time.perf_counter() - started)
    assert Contender.of("sleep", lambda: time.sleep(0.02), "cpu").time_ms() < 20


def test_difference_is_paired() -> None:
    """A common drift, far larger than the difference, must not hide the difference."""
    random = np.random.default_rng(0)
    drift, cost = np.linspace(10, 50, 100), random.normal(0.5, 0.05, 100)
    plain = Contender("plain", float, drift.tolist())
    grafted = Contender("grafted", float, (drift + cost).tolist())
    found = difference(plain, grafted)
    percent = 100 / np.median(drift)
    assert found["median_ms"] == pytest.approx(np.median(cost))
    assert found["percent"] == pytest.approx(percent * np.median(cost))
    assert found["quartiles_percent"] == pytest.approx(percent * np.percentile(cost, (25, 75)))
    low, high = found["interval_percent"]
    assert low < found["percent"] < high


def test_difference_in_percent_of_a_third() -> None:
    plain, one, two = (Contender(str(ms), float, [ms] * 5) for ms in (100.0, 110.0, 112.0))
    assert difference(one, two, whole=plain)["percent"] == pytest.approx(2)


def test_summary_is_numpys() -> None:
    values = np.random.default_rng(0).gamma(2, 5, 50)
    first, median, third = np.percentile(values, (25, 50, 75))
    assert summary(Contender("x", float, values.tolist())) == pytest.approx(
        {"median_ms": median, "p25_ms": first, "p75_ms": third}
    )
