"""Which tests `make test` runs, and which only `make test-rest`.

The product's own tests run in `make test`, but for slow ones, and of those that are played on a whole cluster a sample
(`PLAYED`). What stands below them as a test bed (the embedded API server, the simulated clouds, the
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
WHOLE = {
    "crash": ("tests/crash", "tests/reliability", "tests/security/test_s05_dangling_names.py"),
    "conformance": ("tests/conformance",),
}
"""What other targets run as a whole: `make test` has a sample of it, and `make test-rest` nothing."""
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
"""Where each case of a test is a cluster of its own: `make test` runs one case of every third test of a file, `make test-rest`
the others, or `make crash` (`WHOLE`)."""

SLOW = frozenset(
    {
        "tests/security/test_s21_installation.py",
        "tests/security/test_s24_webhooks.py",
        "tests/unit/cli/test_roles.py",
        "tests/docs/test_demo.py",
        "tests/docs/test_import.py",
        "tests/docs/test_sessions.py",
        "tests/docs/test_tutorial.py",
        "tests/unit/test_results.py",
    }
)
"""Files of the product that are left to continuous integration: they wait in real time, for processes and Leases."""

SLOW_TESTS = {
    "tests/bridge/test_ack_mode.py": ("test_gold_created_deleted_and_created_again_ten_times",),
    "tests/bridge/test_domains.py": ("test_gold_created_deleted_and_created_again_ten_times",),
    "tests/chaos/test_harness.py": ("test_harness_finds_the_mistake",),
    "tests/chaos/test_regressions.py": ("test_sequence_of_tenants_breaks_no_law",),
    "tests/composition/definitions/test_acceptance.py": (
        "test_definition_at_rest_costs_no_write_and_a_restart_none_either",
    ),
    "tests/composition/instances/test_reverted.py": (
        "test_child_that_is_reverted_is_applied_seldom_and_the_condition_names_who_reverts_it",
    ),
    "tests/conformance/test_informers.py": ("test_informer_outlives_the_definition_of_its_kind",),
    "tests/conformance/test_leadership.py": ("test_leadership_is_acquired_renewed_released_and_passed_on",),
    "tests/crash/test_bridge.py": ("test_bridge_rests_for_a_day",),
    "tests/crash/test_harness.py": (
        "test_failure_names_all_that_it_takes_to_repeat_it",
        "test_harness_finds_the_mistake_behind_a_fault",
        "test_harness_finds_the_mistake_behind_two_faults",
    ),
    "tests/crash/test_instances.py": ("test_instances_rest_for_a_day",),
    "tests/crash/test_routes.py": ("test_routes_rest_for_a_day",),
    "tests/crash/test_tenants.py": ("test_tenants_rest_for_a_day",),
    "tests/importing/test_rights.py": ("test_import_needs_no_right_to_write",),
    "tests/importing/test_round_trip.py": (
        "test_import_of_a_fleet_is_adopted_with_marks_only",
        "test_what_was_imported_is_deleted_with_its_objects",
    ),
    "tests/importing/test_tenants.py": (
        "test_import_costs_one_call_per_tenant_and_one_listing_of_everything_else",
    ),
    "tests/package/test_release.py": ("test_archives_of_a_copy_with_other_times_are_equal",),
    "tests/package/test_wheels.py": (
        "test_local_kit_gives_pytest_its_fixture",
        "test_operator_works_with_its_locked_requirements_alone",
        "test_plan_evaluates_rules_without_the_local_kit",
        "test_plan_works_without_the_local_kit",
    ),
    "tests/platform/test_examples.py": (
        "test_examples_become_active_and_go_without_a_trace",
        "test_instances_at_rest_cost_no_write_anywhere",
    ),
    "tests/platform/test_lambda_service.py": (
        "test_change_in_aws_reaches_the_object_of_the_user",
        "test_domain_is_added_renamed_and_removed",
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
    "tests/reliability/test_day.py": (
        "test_day_ends_as_declared_and_quiet",
        "test_day_is_the_same_twice",
    ),
    "tests/reliability/test_r05_start_states.py": ("test_any_start_state_ends_as_declared_and_rests",),
    "tests/reliability/test_r10_route_drift.py": (
        "test_drift_of_routes_is_left_as_it_is_and_known",
        "test_drift_of_routes_is_repaired_within_an_interval",
    ),
    "tests/reliability/test_r11_route_disappearance.py": (
        "test_namespaces_that_are_not_watched_any_more_keep_everything",
        "test_routes_that_the_server_does_not_show_are_not_gone",
        "test_things_that_cloudflare_does_not_show_are_not_gone",
    ),
    "tests/reliability/test_r13_route_writers.py": ("test_racing_writers_of_a_tunnel_never_lose_our_rules",),
    "tests/reliability/test_r14_bridge.py": ("test_domain_of_another_cluster_is_left_alone",),
    "tests/reliability/test_r15_route_outages.py": ("test_outage_is_said_and_made_up_for_without_a_burst",),
    "tests/reliability/test_r17_failover.py": (
        "test_clocks_at_other_rates_keep_leaders_apart",
        "test_frozen_leader_is_replaced_in_time_and_does_nothing_when_it_wakes_up",
        "test_leader_that_is_cut_off_stops_before_another_one_starts",
    ),
    "tests/reliability/test_r20_generated_specs.py": ("test_every_spec_ends_well_or_says_why_not",),
    "tests/reliability/test_r23_poison.py": ("test_objects_that_always_fail_do_not_slow_others_down",),
    "tests/reliability/test_r28_upgrade.py": (
        "test_fields_of_a_later_version_are_kept_and_cause_no_write",
        "test_formats_are_those_of_the_golden_file",
        "test_objects_of_an_earlier_version_are_served_without_a_cloud_write",
    ),
    "tests/reliability/test_r30_event_loop.py": ("test_no_callback_takes_long",),
    "tests/reliability/test_r30_instances.py": (
        "test_budget_of_a_pass_is_spent_in_turns",
        "test_conditions_of_inclusion_are_evaluated_in_turns",
        "test_conditions_of_readiness_are_evaluated_in_turns",
        "test_large_collections_are_rendered_and_compared_in_turns",
        "test_status_is_built_in_turns",
    ),
    "tests/reliability/test_r32_replay.py": ("test_run_is_repeated_in_another_process",),
    "tests/security/test_s02_hostnames.py": ("test_policy_keeps_every_variant_out",),
    "tests/security/test_s02_routes.py": ("test_names_around_it_take_nothing_from_it",),
    "tests/security/test_s10_scope.py": ("test_operator_reads_no_namespace_that_was_not_chosen",),
    "tests/security/test_s11_forged_status.py": (
        "test_deletion_by_a_forged_status_removes_what_was_ones_own",
    ),
    "tests/security/test_s20_stolen_token.py": (
        "test_tenant_whose_secret_may_not_be_read_names_the_remedy_and_goes_on_with_it",
    ),
    "tests/security/test_s25_metrics_and_health.py": ("test_health_tells_no_names_to_anybody",),
    "tests/security/test_s26_noisy_tenant.py": ("test_noisy_namespace_does_not_slow_others_down",),
    "tests/security/test_s28_lease.py": (
        "test_attack_on_the_lease_makes_nothing_twice_and_the_work_goes_on",
        "test_claim_of_a_long_term_is_believed_for_an_hour_at_most",
    ),
    "tests/security/test_s30_supply_chain.py": ("test_distribution_with_another_hash_is_not_installed",),
    "tests/security/test_s33_namespace_deletion.py": (
        "test_composed_service_goes_with_its_namespace_without_a_trace",
        "test_namespace_is_let_go_after_the_timeout_and_the_clean_up_is_made_up_for",
    ),
    "tests/security/test_s34_rollback.py": (
        "test_addition_of_a_later_version_is_nothing_to_correct",
        "test_format_of_a_later_version_is_a_reason_to_do_nothing",
    ),
    "tests/tenants/test_certificate_domains.py": (
        "test_request_that_cloudfront_makes_nothing_of_is_not_repeated",
    ),
    "tests/tenants/test_denials.py": (
        "test_denied_read_costs_thirty_tenants_what_it_costs_one",
        "test_missing_rights_that_are_granted_are_used_within_minutes",
    ),
    "tests/tenants/test_dns.py": ("test_records_are_written_after_an_outage_of_a_day",),
    "tests/tenants/test_outages.py": (
        "test_fleet_in_an_outage_is_written_once_each",
        "test_object_goes_on_within_minutes_after_half_a_day",
    ),
    "tests/tenants/test_quiet.py": (
        "test_calls_do_not_grow_with_the_number_of_tenants",
        "test_managed_certificate_costs_four_calls_and_a_share_of_the_listings",
    ),
    "tests/tenants/test_zones.py": ("test_zones_of_objects_that_are_gone_cost_nothing",),
    "tests/unit/benchmarks/test_bridge.py": ("test_full_policy_takes_sixty_two_calls_and_a_resync_one",),
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
    "tests/unit/cli/test_reaching.py": ("test_operator_that_waits_says_so_and_stops_when_asked",),
    "tests/unit/cli/test_run.py": (
        "test_address_that_is_taken_is_told_in_one_line",
        "test_operator_makes_a_tenant_ready_and_leaves_when_asked",
        "test_operator_without_its_definitions_names_the_remedy_and_waits",
        "test_profile_that_does_not_exist_is_told_in_one_line",
    ),
    "tests/unit/cli/test_story.py": (
        "test_story_of_a_route_is_told_with_what_happened_at_cloudflare",
        "test_story_of_ten_lines_is_told_with_what_is_in_both_clouds",
        "test_story_of_the_quickstart_is_told_to_its_end",
    ),
    "tests/unit/cli/test_up.py": (
        "test_up_interrupted_while_it_waits_says_so",
        "test_up_keeps_a_simulated_cloud_and_leaves_when_all_is_ready",
        "test_up_killed_at_any_moment_goes_on_with_the_same_aws",
        "test_up_names_a_data_directory_that_is_in_use",
        "test_up_names_a_port_that_is_taken",
        "test_up_stays_until_it_is_stopped",
        "test_up_with_authentication_lets_nobody_in_without_credentials",
        "test_up_works_whatever_is_configured_for_the_real_aws",
        "test_up_works_with_authentication_on",
    ),
    "tests/unit/cli/test_up_commands.py": (
        "test_commands_work_as_they_are_printed",
        "test_path_that_needs_quotes_has_them_however_long_it_is",
        "test_second_server_takes_nothing_from_the_first",
        "test_stand_in_does_what_the_program_does",
    ),
    "tests/unit/cli/test_zero_trust.py": (
        "test_change_of_a_route_changes_its_policy_in_place_and_disabling_withdraws_it",
        "test_deleted_route_leaves_nothing_behind",
        "test_examples_become_ready_and_are_published_as_they_say",
        "test_plan_of_an_orphaned_route_names_what_is_kept_and_plans_no_deletion",
        "test_plan_of_what_runs_is_settled_and_shows_drift",
    ),
    "tests/unit/cloud/aws/test_models.py": ("test_small_models_lead_to_the_same_endpoint_everywhere",),
    "tests/unit/controllers/composition/test_graph.py": ("test_random_graphs_compile_to_their_dependencies",),
    "tests/unit/controllers/zerotrust/test_protection.py": (
        "test_cases_of_the_properties_are_of_all_kinds",
        "test_route_with_access_lets_somebody_in_and_not_everybody_unasked",
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
    "tests/unit/kube/test_errors.py": ("test_any_answer_makes_an_error",),
    "tests/unit/kube/test_kept_errors.py": ("test_transport_that_fails_keeps_nobody_who_used_it",),
    "tests/unit/kube/test_lease_failover.py": ("test_never_two_leaders_whatever_happens",),
    "tests/unit/kube/test_watch_histories.py": ("test_store_and_handlers_end_in_the_truth",),
    "tests/unit/runtime/test_write_laws.py": (
        "test_pass_writes_its_object_at_most_once_whatever_the_reconciler_does",
    ),
    "tests/unit/schema/test_schema_formats.py": ("test_formats_take_linear_time",),
    "tests/zerotrust/test_route_dependencies.py": (
        "test_list_of_a_template_is_written_seldom_while_routes_come",
    ),
    "tests/zerotrust/test_route_repairs.py": (
        "test_settled_fleet_writes_nothing_on_restart",
        "test_token_is_looked_at_before_it_expires",
        "test_token_is_rotated_at_its_interval_and_by_request",
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
    """`product` is what `make test` runs, `rest` everything else that no other target runs."""

    PRODUCT = "product"
    REST = "rest"


def suite_of(path: Path) -> Suite | None:
    """The suite that a file of tests belongs to, if any; of one that is `divided` only some cases."""
    within = _within(path)
    if within.is_relative_to(ELSEWHERE):
        return None
    is_bed = any(within.is_relative_to(bed) for bed in BEDS)
    is_left_out = (is_bed and str(within) not in SAMPLE) or str(within) in SLOW
    if not is_left_out:
        return Suite.PRODUCT
    return None if _is_run_elsewhere(path) else Suite.REST


def is_divided(path: Path) -> bool:
    """Whether both suites have cases of the file."""
    return str(_within(path)) in SLOW_TESTS or _is_played(path)


def cases_of(suite: Suite, path: Path, names: Sequence[str]) -> frozenset[str]:
    """The cases that a suite has of a divided file, given the names of all, such as `test_outage[throttled]`."""
    if suite is Suite.REST and _is_run_elsewhere(path):
        return frozenset()
    by_test: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        by_test[name.partition("[")[0]].append(name)
    slow = SLOW_TESTS.get(str(_within(path)), ())
    quick = [cases for test, cases in by_test.items() if test not in slow]
    if _is_played(path):
        quick = [cases[:1] for cases in quick[::3]]
    sample = frozenset(name for cases in quick for name in cases)
    return sample if suite is Suite.PRODUCT else frozenset(names) - sample


def _is_run_elsewhere(path: Path) -> bool:
    return any(_within(path).is_relative_to(place) for places in WHOLE.values() for place in places)


def _is_played(path: Path) -> bool:
    within = _within(path)
    return str(within) not in SLOW and any(within.is_relative_to(folder) for folder in PLAYED)


def _within(path: Path) -> PurePosixPath:
    return PurePosixPath(path.relative_to(ROOT).as_posix())
