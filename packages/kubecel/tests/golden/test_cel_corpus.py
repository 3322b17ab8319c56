"""The expressions of kro's own examples: each compiles, depends on what kro says, and fails as kro says on no data."""

from __future__ import annotations

from kubecel import environments
from kubecel.types import DYN
from packages.kubecel.tests.golden.test_cel_exprs import difference
from tests.golden.reading import golden_rows


def test_expressions_of_examples_have_the_dependencies_and_error_class_that_kro_reports() -> None:
    base = environments.kro()
    differences = {}
    for row in golden_rows("cel_corpus.jsonl"):
        environment = base.extend(variables=dict.fromkeys(row["deps"], DYN))
        report = difference(environment, {name: {} for name in row["deps"]}, row)
        if report is not None:
            differences[row["id"]] = report
    assert not differences, "\n".join(f"{name}: {report}" for name, report in differences.items())
