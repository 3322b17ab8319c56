"""Which tests `make test` runs, and which only `make test-all`.

The product's own tests run in `make test`, but for slow ones, and of the tables that are played on a whole cluster the
first case. What stands below them as a test bed (the embedded API server, the simulated clouds, the
expression engine) has exhaustive tables of its own; a change to the product passes a sample of those, and continuous
integration all of them. `pytest` without `--suite` runs whatever it is asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
BEDS = ("packages", "tests/conformance")
"""Where the exhaustive tests are."""
ELSEWHERE = "tests/web"
"""What neither suite has: `make web-test` runs it, which needs a browser."""
SAMPLE = frozenset(
    {
        "packages/kubecel/tests/test_evaluation.py",
        "packages/kubecel/tests/test_expressions_of_rules.py",
        "packages/kubecel/tests/test_limits.py",
        "packages/kubecel/tests/test_readme.py",
        "packages/kubesim/tests/aws/test_boto3.py",
        "packages/kubesim/tests/cloudflare/test_sdk.py",
        "packages/kubesim/tests/plane/test_concurrent_writes.py",
        "packages/kubesim/tests/plane/test_crd_controller.py",
        "packages/kubesim/tests/plane/test_garbage.py",
        "packages/kubesim/tests/plane/test_plane.py",
        "packages/kubesim/tests/test_serving.py",
        "packages/kubesim/tests/test_virtual.py",
        "tests/conformance/test_informers.py",
        "tests/conformance/test_leadership.py",
        "tests/conformance/test_manager.py",
        "tests/conformance/test_our_definitions.py",
    }
)
"""Of these the files that show that the bed stands, and those that show the operator on it."""


PLAYED = (
    "tests/bridge",
    "tests/composition",
    "tests/importing",
    "tests/platform",
    "tests/recovery",
    "tests/reliability",
    "tests/security",
    "tests/tenants",
    "tests/zerotrust",
    "tests/zerotrust_worker",
)
"""Where each case of a test is a cluster of its own: `make test` runs one case of each test, `make test-rest` the others."""

SLOW = frozenset(
    {
        "tests/security/test_s21_installation.py",
        "tests/security/test_s24_webhooks.py",
        "tests/unit/cli/test_roles.py",
        "tests/unit/docs/test_tutorial.py",
    }
)
"""Files of the product that are left to continuous integration: they wait in real time, for processes and Leases."""

SLOW_TESTS = {
    "tests/bridge/test_ack_mode.py": ("test_gold_created_deleted_and_created_again_ten_times",),
    "tests/composition/definitions/test_acceptance.py": (
        "test_definition_at_rest_costs_no_write_and_a_restart_none_either",
    ),
    "tests/composition/instances/test_reverted.py": (
        "test_child_that_is_reverted_is_applied_seldom_and_the_condition_names_who_reverts_it",
    ),
    "tests/conformance/test_informers.py": ("test_informer_outlives_the_definition_of_its_kind",),
    "tests/conformance/test_leadership.py": ("test_leadership_is_acquired_renewed_released_and_passed_on",),
    "tests/crash/test_bridge.py": ("test_bridge_rests_for_a_day",),
    "tests/crash/test_routes.py": ("test_routes_rest_for_a_day",),
    "tests/crash/test_tenants.py": ("test_tenants_rest_for_a_day",),
    "tests/importing/test_page.py": ("test_page_shows_what_happens",),
    "tests/importing/test_round_trip.py": (
        "test_import_of_a_fleet_is_adopted_with_marks_only",
        "test_what_was_imported_is_deleted_with_its_objects",
    ),
    "tests/importing/test_rights.py": ("test_import_needs_no_right_to_write",),
    "tests/importing/test_tenants.py": (
        "test_import_costs_one_call_per_tenant_and_one_listing_of_everything_else",
    ),
    "tests/package/test_release.py": ("test_archives_of_a_copy_with_other_times_are_equal",),
    "tests/package/test_wheels.py": (
        "test_operator_works_with_its_locked_requirements_alone",
        "test_plan_evaluates_rules_without_the_local_kit",
        "test_local_kit_gives_pytest_its_fixture",
        "test_plan_works_without_the_local_kit",
    ),
    "tests/reliability/test_day.py": (
        "test_day_ends_as_declared_and_quiet",
        "test_day_is_the_same_twice",
    ),
    "tests/reliability/test_r10_route_drift.py": (
        "test_drift_of_routes_is_left_as_it_is_and_known",
        "test_drift_of_routes_is_repaired_within_an_interval",
    ),
    "tests/reliability/test_r11_route_disappearance.py": (
        "test_things_that_cloudflare_does_not_show_are_not_gone",
    ),
    "tests/recovery/test_lost_cluster.py": (
        "test_copies_in_a_second_live_cluster_can_be_deleted_without_harm",
        "test_fleet_of_fifty_objects_is_recovered_and_can_be_deleted",
        "test_marks_of_a_third_cluster_stay_foreign",
        "test_objects_of_a_lost_cluster_are_recovered_by_one_flag",
        "test_objects_of_other_names_inherit_nothing",
        "test_objects_that_are_restored_with_status_and_finalizers_are_recovered",
        "test_objects_with_new_uids_in_a_cluster_of_the_same_id_are_recovered_by_the_flag",
        "test_routes_are_recovered_by_the_tag_of_the_lost_cluster",
        "test_states_that_are_restored_before_their_routes_withdraw_nothing",
    ),
    "tests/reliability/test_r28_upgrade.py": (
        "test_fields_of_a_later_version_are_kept_and_cause_no_write",
        "test_objects_of_an_earlier_version_are_served_without_a_cloud_write",
    ),
    "tests/reliability/test_r23_poison.py": ("test_objects_that_always_fail_do_not_slow_others_down",),
    "tests/reliability/test_r30_instances.py": (
        "test_budget_of_a_pass_is_spent_in_turns",
        "test_conditions_of_inclusion_are_evaluated_in_turns",
        "test_large_collections_are_rendered_and_compared_in_turns",
    ),
    "tests/reliability/test_r32_replay.py": ("test_run_is_repeated_in_another_process",),
    "tests/security/test_s11_forged_status.py": (
        "test_deletion_by_a_forged_status_removes_what_was_ones_own",
    ),
    "tests/security/test_s20_stolen_token.py": (
        "test_tenant_whose_secret_may_not_be_read_names_the_remedy_and_goes_on_with_it",
    ),
    "tests/security/test_s25_metrics_and_health.py": ("test_health_tells_no_names_to_anybody",),
    "tests/security/test_s30_supply_chain.py": ("test_distribution_with_another_hash_is_not_installed",),
    "tests/security/test_s33_namespace_deletion.py": (
        "test_composed_service_goes_with_its_namespace_without_a_trace",
        "test_namespace_is_let_go_after_the_timeout_and_the_clean_up_is_made_up_for",
    ),
    "tests/tenants/test_dns.py": ("test_records_are_written_after_an_outage_of_a_day",),
    "tests/tenants/test_outages.py": (
        "test_fleet_in_an_outage_is_written_once_each",
        "test_object_goes_on_within_minutes_after_half_a_day",
    ),
    "tests/tenants/test_zones.py": ("test_zones_of_objects_that_are_gone_cost_nothing",),
    "tests/unit/benchmarks/test_cloudfront.py": (
        "test_operator_that_is_measured_has_no_simulator_in_memory",
    ),
    "tests/unit/benchmarks/test_composition.py": (
        "test_operator_that_is_measured_has_neither_a_simulator_nor_the_aws_sdk_in_memory",
    ),
    "tests/unit/cli/test_apart.py": ("test_operator_in_processes_of_its_own_keeps_the_cluster_of_another",),
    "tests/unit/cli/test_assembly.py": (
        "test_zone_of_the_shared_account_is_released_when_no_object_needs_it",
    ),
    "tests/unit/cli/test_diff.py": ("test_cluster_that_does_not_answer_is_an_error",),
    "tests/unit/cli/test_platform.py": ("test_examples_of_the_platform_become_ready_on_the_embedded_server",),
    "tests/unit/cli/test_run.py": (
        "test_operator_makes_a_tenant_ready_and_leaves_when_asked",
        "test_operator_without_its_definitions_names_the_remedy_and_waits",
    ),
    "tests/unit/cli/test_story.py": (
        "test_story_of_a_route_is_told_with_what_happened_at_cloudflare",
        "test_story_of_ten_lines_is_told_with_what_is_in_both_clouds",
        "test_story_of_the_quickstart_is_told_to_its_end",
    ),
    "tests/unit/cli/test_up.py": (
        "test_up_killed_at_any_moment_goes_on_with_the_same_aws",
        "test_up_works_whatever_is_configured_for_the_real_aws",
        "test_up_works_with_authentication_on",
    ),
    "tests/unit/cli/test_up_commands.py": (
        "test_second_server_takes_nothing_from_the_first",
        "test_stand_in_does_what_the_program_does",
    ),
    "tests/unit/cli/test_zero_trust.py": (
        "test_change_of_a_route_changes_its_policy_in_place_and_disabling_withdraws_it",
        "test_deleted_route_leaves_nothing_behind",
        "test_plan_of_an_orphaned_route_names_what_is_kept_and_plans_no_deletion",
        "test_plan_of_what_runs_is_settled_and_shows_drift",
    ),
    "tests/unit/diagnosis/test_doctor.py": (
        "test_clock_that_is_off_is_told_with_both_clouds_and_cluster",
        "test_cluster_that_does_not_answer_leaves_the_clouds_to_be_checked",
        "test_endpoint_that_cannot_be_reached_is_told_with_the_step_that_failed",
        "test_failures_in_the_cluster_are_named_with_their_remedies",
        "test_installation_in_order_has_no_failure",
    ),
    "tests/unit/diagnosis/test_explain.py": (
        "test_instance_is_followed_to_the_resource_that_blocks_it",
        "test_kinds_and_objects_that_are_not_there_are_named",
        "test_object_that_nobody_looks_after_says_who_should",
        "test_tenant_without_credentials_says_so",
        "test_tenant_without_its_tunnel_says_which",
    ),
    "tests/unit/diagnosis/test_listing.py": (
        "test_events_are_told_in_the_order_of_time",
        "test_objects_of_all_kinds_are_in_one_table",
    ),
    "tests/unit/kube/test_lease_failover.py": ("test_never_two_leaders_whatever_happens",),
    "tests/unit/runtime/test_write_laws.py": (
        "test_pass_writes_its_object_at_most_once_whatever_the_reconciler_does",
    ),
    "tests/zerotrust/test_route_repairs.py": (
        "test_settled_fleet_writes_nothing_on_restart",
        "test_token_that_the_worker_does_not_refresh_is_asked_for_once_a_day",
    ),
    "tests/zerotrust_worker/test_drift.py": ("test_token_that_expires_soon_is_no_drift",),
    "tests/zerotrust_worker/test_economy.py": (
        "test_fleet_with_access_takes_little_more_than_one_call_for_each_route",
        "test_fleet_without_access_is_written_in_batches",
    ),
    "tests/zerotrust_worker/test_service_tokens.py": (
        "test_programs_that_have_lost_credentials_work_until_the_grace_period_ends",
        "test_token_is_refreshed_before_it_expires",
    ),
}
"""Tests that take more than three seconds, or of which similar ones run: left to continuous integration as well."""


class Suite(StrEnum):
    """`product` is what `make test` runs, `rest` everything else, so that each test is in one of them."""

    PRODUCT = "product"
    REST = "rest"


def suite_of(path: Path) -> Suite | None:
    """The suite that a file of tests belongs to, if any; of one that is `divided` only some cases."""
    within = _within(path)
    if within.is_relative_to(ELSEWHERE):
        return None
    is_bed = any(within.is_relative_to(bed) for bed in BEDS)
    is_left_out = (is_bed and str(within) not in SAMPLE) or str(within) in SLOW
    return Suite.REST if is_left_out else Suite.PRODUCT


def is_divided(path: Path) -> bool:
    """Whether both suites have cases of the file."""
    return str(_within(path)) in SLOW_TESTS or _is_played(path)


def cases_of(suite: Suite, path: Path, names: Sequence[str]) -> frozenset[str]:
    """The cases that a suite has of a divided file, given the names of all, such as `test_outage[throttled]`."""
    by_test: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        by_test[name.partition("[")[0]].append(name)
    slow = SLOW_TESTS.get(str(_within(path)), ())
    quick = [cases for test, cases in by_test.items() if test not in slow]
    sample = frozenset(name for cases in quick for name in (cases[:1] if _is_played(path) else cases))
    return sample if suite is Suite.PRODUCT else frozenset(names) - sample


def _is_played(path: Path) -> bool:
    within = _within(path)
    return str(within) not in SLOW and any(within.is_relative_to(folder) for folder in PLAYED)


def _within(path: Path) -> PurePosixPath:
    return PurePosixPath(path.relative_to(ROOT).as_posix())
