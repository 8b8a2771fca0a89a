"""What Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ...host.operations import OPERATIONS
from ...runtime.health_metrics import HealthMetrics
from ...runtime_status import RuntimeStatus

__all__ = ["UPLOAD", "Metrics"]

BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
"""Upper bounds in seconds."""

UPLOAD = ("memory_import_admin", "upload")
"""The door for files, which is no operation."""


class _State(Collector):
    """Values that are read from the memory when they are asked for."""

    def __init__(self) -> None:
        self.families: list[Metric] = []

    def collect(self) -> Iterable[Metric]:
        return self.families


class Metrics:
    """Calls are counted as they happen; the memory's own figures are taken when they are rendered."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._state = _State()
        self._registry.register(self._state)
        ProcessCollector(registry=self._registry)
        labels = ["component", "action"]
        self._calls = Counter("amemorix_calls", "Calls answered.", [*labels, "outcome"], registry=self._registry)
        self._refused = Counter(
            "amemorix_refused", "Calls without the right token, or from elsewhere.", ["reason"], registry=self._registry
        )
        self._seconds = Histogram(
            "amemorix_call_seconds", "Time to answer.", labels, registry=self._registry, buckets=BUCKETS
        )

    def refused(self, reason: str) -> None:
        self._refused.labels(reason).inc()

    def count(self, component: str, action: str, outcome: str, seconds: float) -> None:
        """Note a call under names that no caller can make up."""
        self._calls.labels(component, action, outcome).inc()
        self._seconds.labels(component, action).observe(seconds)

    def count_operation(self, component: str, action: Any, outcome: str, seconds: float) -> None:
        """Note a call under the present names of its operation; one that there is not counts as `unknown`."""
        known = OPERATIONS.named(component, action)
        names = known or (component if component in OPERATIONS.components() else "unknown", "unknown")
        self.count(*names, outcome, seconds)

    def render(self, health: tuple[dict[str, Any], RuntimeStatus, HealthMetrics] | None, damage_met: int) -> bytes:
        """The text format; without health (the memory is not ready, or its rows cannot be read), calls and process only."""
        damaged = bool(damage_met) if health is None else health[2].damaged
        families = self._state.families = [
            _gauge("amemorix_ready", "1 if calls are answered.", health is not None),
            _gauge("amemorix_database_damaged", "1 if the last integrity check or a call since found damage.", damaged),
            CounterMetricFamily("amemorix_database_damage_met", "Calls that met a damaged page.", value=damage_met),
        ]
        if health is not None:
            stored, status, metrics = health
            vectors, chat = stored["embedding"], stored["chat"]
            asked: dict[str, dict[str, int]] = chat["tasks"]
            calls, failures = ({(task,): one[key] for task, one in asked.items()} for key in ("calls", "failures"))
            kinds = {"prompt": "prompt_tokens", "completion": "completion_tokens"}
            tokens = {(task, kind): one[key] for task, one in asked.items() for kind, key in kinds.items()}
            families += [
                _gauge("amemorix_paragraphs", "Live paragraphs.", stored["paragraphs"]),
                _gauge("amemorix_embeddings_pending", "Paragraphs without a vector.", vectors["pending"]),
                _gauge("amemorix_embeddings_failed", "Paragraphs whose embedding failed.", vectors["failed"]),
                _gauges("amemorix_projection_lag", "Changes not taken up yet.", "projection", stored["lag"]),
                _counters("amemorix_chat_calls", "Questions to the chat model.", ("task",), calls),
                _counters("amemorix_chat_failures", "Questions without a usable answer.", ("task",), failures),
                _counters("amemorix_chat_tokens", "Tokens used.", ("task", "kind"), tokens),
                _gauge("amemorix_chat_tokens_today", "Tokens used since midnight UTC.", chat["tokens_today"]),
                _gauges("amemorix_import_tasks", "Imports by state.", "status", metrics.imports),
                _gauges("amemorix_derive_tasks_failed", "Deriving that was given up.", "kind", metrics.failed_work),
                _gauge("amemorix_disk_free_bytes", "Room on the disk of the data directory.", metrics.disk_free),
                CounterMetricFamily("amemorix_reloads", "Configurations applied.", value=status.reloads),
                CounterMetricFamily("amemorix_reloads_refused", "Configurations refused.", value=status.refused),
            ]
            if metrics.check_age is not None:
                age = "Since the last integrity check; absent without one."
                families.append(_gauge("amemorix_integrity_check_age_seconds", age, metrics.check_age))
            if metrics.backup_age is not None:
                age = "Since the last good backup; absent without one."
                families.append(_gauge("amemorix_backup_age_seconds", age, metrics.backup_age))
        return generate_latest(self._registry)


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=float(value))


def _gauges(name: str, meaning: str, label: str, values: Mapping[str, int]) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _counters(name: str, meaning: str, labels: Sequence[str], values: Mapping[tuple[str, ...], int]) -> Metric:
    family = CounterMetricFamily(name, meaning, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family
