"""Manifests of the described operator are accepted as they are, and its OperatorConfig examples work with the whole operator."""

from __future__ import annotations

from copy import deepcopy

import pytest
import yaml

from edgekeeper.controllers.zerotrust.operator_config import KIND as OPERATOR_CONFIG
from edgekeeper.controllers.zerotrust.route_index import TASK, TEMPLATE, TENANT
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.errors import InvalidError
from edgekeeper.kube.kinds import DEPLOYMENT, Key, Kind
from edgekeeper.lifecycle.module import CommonOptions
from kubesim.virtual import virtual_time
from tests.zerotrust.acceptance_world import CLUSTER, HOME, cluster, running
from tests.zerotrust.operator_scene import MANAGER

SAMPLES = """
apiVersion: cfzt.cloudflare.com/v1alpha1
kind: CloudflareZeroTrustTenant
metadata: {name: prod-tenant, namespace: default}
spec:
  accountId: 0123456789abcdef0123456789abcdef
  tunnelId: 01234567-89ab-cdef-0123-456789abcdef
  zoneId: fedcba9876543210fedcba9876543210
  credentialRef: {name: cloudflare-api-token, key: token}
  logLevel: INFO
  defaults:
    sessionDuration: 24h
    originService: ""
    httpHostHeader: ""
    httpRedirect: true
    originTLS:
      noTLSVerify: false
      originServerName: ""
      caPool: ""
      tlsTimeout: 10
      http2Origin: false
      matchSNIToHost: false
---
apiVersion: cfzt.cloudflare.com/v1alpha1
kind: CloudflareZeroTrustTemplate
metadata: {name: protected-adauth, namespace: default}
spec:
  tenantRef: prod-tenant
  originService:
    url: https://traefik.traefik.svc.cluster.local:443
    httpRedirect: true
    originTLS:
      noTLSVerify: true
      originServerName: "{{ hostname }}"
      caPool: ""
      tlsTimeout: 10
      http2Origin: false
      matchSNIToHost: false
  accessApplication:
    enabled: true
    sessionDuration: 24h
    existingPolicyNames: [Allow AD users]
    autoRedirectToIdentity: false
    enableBindingCookie: false
    httpOnlyCookieAttribute: true
    sameSiteCookieAttribute: lax
    logoUrl: ""
    skipInterstitial: false
    appLauncherVisible: true
    serviceAuth401Redirect: false
    customDenyMessage: ""
    customDenyUrl: ""
    customNonIdentityDenyUrl: ""
    allowEmails: []
    allowGroups: []
  serviceToken: {enabled: false, duration: 8760h}
---
apiVersion: cfzt.cloudflare.com/v1alpha1
kind: CloudflareZeroTrustTemplate
metadata: {name: by-id, namespace: default}
spec:
  accessApplication:
    enabled: true
    existingPolicyIds: [11111111-2222-3333-4444-555555555555]
---
apiVersion: cfzt.cloudflare.com/v1alpha1
kind: CloudflareZeroTrustTemplate
metadata: {name: internal-dnsonly, namespace: default}
spec:
  tenantRef: prod-tenant
  dnsOnly:
    enabled: true
    proxied: false
    ttl: 120
    staticIp: ""
    ingressServiceRef: {name: traefik, namespace: traefik}
---
apiVersion: cfzt.cloudflare.com/v1alpha1
kind: CloudflareZeroTrustOperatorConfig
metadata: {name: operator-config-full, namespace: default}
spec:
  replicas: 1
  resources:
    requests: {cpu: 100m, memory: 256Mi}
    limits: {cpu: 500m, memory: 512Mi}
  affinity:
    nodeAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 1
          preference:
            matchExpressions: [{key: zone, operator: In, values: [a]}]
  nodeSelector: {kubernetes.io/os: linux}
  tolerations: [{key: dedicated, operator: Exists}]
  imagePullPolicy: Always
  environmentVariables: {pollIntervalSeconds: 60, logLevel: INFO, watchNamespaces: ""}
  priorityClassName: system-cluster-critical
  podAnnotations: {prometheus.io/scrape: "true"}
  podLabels: {team: edge}
---
apiVersion: cfzt.cloudflare.com/v1alpha1
kind: CloudflareTask
metadata: {name: cfzt-default-myapp, namespace: default}
spec:
  httprouteRef: {name: myapp, namespace: default, uid: 11111111-2222-3333-4444-555555555555}
  tenantRef: {name: prod-tenant, namespace: default}
  credentialSecretRef: {name: cloudflare-api-token, namespace: default, key: token}
  hostname: myapp.example.com
  accountId: 0123456789abcdef0123456789abcdef
  tunnelId: 01234567-89ab-cdef-0123-456789abcdef
  zoneId: ""
  operations:
    tunnelRoute: {enabled: true, originService: "http://traefik.traefik.svc:80", httpRedirect: true}
    cnameDns: {enabled: true}
    accessApp: {enabled: true, sessionDuration: 24h, allowEmails: [a@example.com]}
    serviceToken: {enabled: true, duration: 8760h, secretNamespace: default}
    dnsRecord: {enabled: false, proxied: false, ttl: 120}
  existingIds: {hostnameRouteId: "", accessAppId: "", serviceTokenId: ""}
"""
KINDS: dict[str, Kind] = {kind.kind: kind for kind in (TENANT, TEMPLATE, OPERATOR_CONFIG, TASK)}
EXAMPLE = """
replicas: 1
resources:
  requests: {cpu: "200m", memory: "512Mi"}
  limits: {cpu: "1000m", memory: "1Gi"}
nodeSelector: {node-role.kubernetes.io/infra: ""}
tolerations:
  - {key: "dedicated", operator: "Equal", value: "infrastructure", effect: "NoSchedule"}
environmentVariables: {pollIntervalSeconds: 30, logLevel: "INFO"}
"""


@virtual_time
async def test_manifests_of_the_described_operator_are_accepted_and_kept() -> None:
    async with cluster() as world:
        for sample in yaml.safe_load_all(SAMPLES):
            stored = await world.user.create(KINDS[sample["kind"]], deepcopy(sample))
            assert stored["spec"] == sample["spec"], "nothing is pruned, and nothing is added"


@pytest.mark.parametrize(
    ("field", "value"),
    [("accountId", "x"), ("tunnelId", "not-a-uuid"), ("logLevel", "VERBOSE"), ("zoneId", "ZONE")],
)
@virtual_time
async def test_nonsense_in_a_tenant_is_refused_with_the_field(field: str, value: str) -> None:
    async with cluster() as world:
        with pytest.raises(InvalidError, match=field):
            await world.create(world.tenant("bad", **{field: value}))


@virtual_time
async def test_example_of_an_operator_config_is_applied_once() -> None:
    """A10, with the whole operator: applied on first sight, once per generation, and said in the status."""
    common = CommonOptions(CLUSTER, HOME, operator_deployment="cloudflare-zero-trust-operator")
    config = Key(HOME, "operator-config")
    async with cluster() as world:
        await world.create({"apiVersion": "apps/v1", "kind": "Deployment", **deepcopy(MANAGER)})
        metadata = {"name": config.name, "namespace": HOME}
        async with running(world, common=common):
            await world.user.create(OPERATOR_CONFIG, {"metadata": metadata, "spec": yaml.safe_load(EXAMPLE)})
            await world.until(
                lambda: world.condition(OPERATOR_CONFIG, config.name, HOME).get("status") == "True"
            )
            deployment = world.get(DEPLOYMENT, "cloudflare-zero-trust-operator", HOME)
            container = deployment["spec"]["template"]["spec"]["containers"][1]
            assert container["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}, (
                "as the server writes it"
            )
            assert {"name": "POLL_INTERVAL_SECONDS", "value": "30"} in container["env"]
            found = world.get(OPERATOR_CONFIG, config.name, HOME)["status"]
            assert found["observedGeneration"] == 1
            assert found["deploymentReady"] is True
            applied = world.condition(OPERATOR_CONFIG, config.name, HOME, "Applied")
            assert (applied["reason"], applied["message"]) == (
                "ConfigurationApplied",
                "OperatorConfig successfully applied to deployment",
            )
            generation = deployment["metadata"]["generation"]
            await world.elapse(minutes=30)
            same: JsonObject = world.get(DEPLOYMENT, "cloudflare-zero-trust-operator", HOME)
            assert same["metadata"]["generation"] == generation
            patch = {"spec": {"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}}}
            await world.user.merge_patch(OPERATOR_CONFIG, config, patch)
            await world.until(
                lambda: (
                    dig(world.get(OPERATOR_CONFIG, config.name, HOME), "status", "observedGeneration") == 2
                )
            )
            after = world.get(DEPLOYMENT, "cloudflare-zero-trust-operator", HOME)
            assert after["metadata"]["generation"] == generation + 1
