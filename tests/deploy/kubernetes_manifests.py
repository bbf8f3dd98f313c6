#!/usr/bin/env python3
"""Checks deploy/kubernetes without a cluster: every overlay is rendered, fits the API's schemas, and follows Waggle's own rules.

usage: kubernetes_manifests.py [-v]

It needs kubectl ($KUBECTL if that is set). kubernetes-validate, which has the schemas, is installed from PyPI into
build/deploy/venv. The executables of build/release/bin list the flags. Checks that lack something are skipped with a note.
"""

import copy
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
VENV = ROOT / "build/deploy/venv"
try:
    import kubernetes_validate
    import yaml
except ImportError:
    if sys.prefix == str(VENV):
        raise
    if not (VENV / "installed").exists():
        try:
            venv.create(VENV, clear=True, with_pip=True)
            subprocess.run([VENV / "bin/pip", "install", "--quiet", "kubernetes-validate"], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"kubernetes_manifests: SKIPPED, nothing was tested: kubernetes-validate cannot be installed: {error}",
                  file=sys.stderr)
            sys.exit(0)
        (VENV / "installed").touch()
    os.execv(VENV / "bin/python", [VENV / "bin/python", __file__, *sys.argv[1:]])

import manifest_rules as rules
from overlays import KUBERNETES, with_actor_image

BIN = ROOT / "build/release/bin"
KUBECTL = os.environ.get("KUBECTL") or shutil.which("kubectl")
CLUSTERS = ("local", "cpu", "gpu")
OVERLAYS = CLUSTERS + ("podman",)
SINGLE_FILES = [yaml.safe_load((KUBERNETES / name).read_text()) for name in ("namespace.yaml", "backup.yaml")]
# The fields that both kustomize 2.0, in Debian 12's kubectl 1.20, and kustomize 5 accept.
FIELDS = {"apiVersion", "kind", "namespace", "bases", "resources", "patchesStrategicMerge", "configMapGenerator", "images"}


@functools.cache
def rendered_text(overlay, folder):
    command = [KUBECTL, "kustomize", folder / "overlays" / overlay]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def rendered(overlay, folder=KUBERNETES):
    return list(yaml.safe_load_all(rendered_text(overlay, folder)))


def find(documents, kind, name):
    [found] = [one for one in documents if one["kind"] == kind and one["metadata"]["name"] == name]
    return found


def schema_versions():
    """The oldest and the newest version of Kubernetes with schemas here."""
    folder = pathlib.Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
    found = sorted({tuple(map(int, one.name.partition("-")[0][1:].split("."))) for one in folder.iterdir() if one.is_dir()})
    return [".".join(map(str, version)) for version in (found[0], found[-1])]


class ManifestsTest(unittest.TestCase):
    maxDiff = None

    def test_kustomizations_use_what_old_and_new_kubectl_know(self):
        for path in KUBERNETES.rglob("kustomization.yaml"):
            with self.subTest(path=path):
                self.assertEqual(set(yaml.safe_load(path.read_text())) - FIELDS, set())

    def test_documents_fit_the_schemas(self):
        documents = {overlay: rendered(overlay) for overlay in OVERLAYS}
        documents["single files"] = SINGLE_FILES
        for version in schema_versions():
            for overlay, found in documents.items():
                for document in found:
                    with self.subTest(version=version, overlay=overlay, document=rules.name(document)):
                        kubernetes_validate.validate(document, version, strict=True)

    def test_clusters_keep_the_rules(self):
        for overlay in CLUSTERS:
            for rule in rules.OF_CLUSTERS:
                with self.subTest(overlay=overlay, rule=rule.__name__):
                    self.assertEqual(list(rule(rendered(overlay))), [])

    def test_the_pod_for_backups_is_confined(self):
        self.assertEqual(list(rules.containers_are_confined(SINGLE_FILES)), [])

    def test_podman_keeps_the_rules_of_pods(self):
        for rule in rules.OF_ALL:
            with self.subTest(rule=rule.__name__):
                self.assertEqual(list(rule(rendered("podman"))), [])

    def test_everything_lies_in_the_namespace(self):
        namespace = rules.of_kind(SINGLE_FILES, "Namespace")[0]["metadata"]["name"]
        for overlay in CLUSTERS:
            for document in rendered(overlay):
                with self.subTest(overlay=overlay, document=rules.name(document)):
                    self.assertEqual(document["metadata"]["namespace"], namespace)

    def test_every_flag_and_verb_exists(self):
        if not (BIN / "waggle").exists():
            print("kubernetes_manifests: SKIPPED the check of flags: build/release/bin has no executables", file=sys.stderr)
            self.skipTest("./dev build makes them")
        for workload in rules.of_kind(rendered("local"), *rules.WORKLOADS):
            program, *words = rules.container(workload)["command"]
            text = subprocess.run([BIN / program, "--help"], check=True, text=True, capture_output=True).stdout
            known = set(re.findall(r"(?m)^ +(--[a-z-]+)", text))
            for flag in [word for word in words if word.startswith("--")]:
                with self.subTest(workload=rules.name(workload), flag=flag):
                    self.assertIn(flag, known)
        subprocess.run([BIN / "waggle", "help", "health"], check=True, capture_output=True)

    def test_certificates_have_the_secrets_that_pods_mount_and_the_names_that_the_script_gives(self):
        documents = list(yaml.safe_load_all(rendered_text("../bases/certificates", KUBERNETES)))
        self.assertEqual({one["metadata"]["namespace"] for one in documents}, {"waggle"})
        issuers = {one["metadata"]["name"]: one for one in rules.of_kind(documents, "Issuer")}
        made = {one["spec"]["secretName"]: one["spec"] for one in rules.of_kind(documents, "Certificate")}
        self.assertEqual({spec["issuerRef"]["name"] for spec in made.values()}, set(issuers))
        self.assertEqual(issuers["waggle"]["spec"], {"ca": {"secretName": "waggle-authority"}})
        self.assertTrue(made.pop("waggle-authority")["isCA"])
        script = (ROOT / "deploy/certificates.sh").read_text()
        for secret, spec in made.items():
            [names] = re.findall(rf"(?m)^certificate {secret[len('waggle-'):]} ([a-z. ]+)", script)
            self.assertLessEqual(set(names.split()), set(spec["dnsNames"]))
        mounted = {volume["secret"]["secretName"] for one in rules.of_kind(rendered("local"), *rules.WORKLOADS)
                   for volume in rules.pod(one)["volumes"] if "secret" in volume}
        self.assertEqual(mounted, {"waggle-hub", "waggle-worker"})
        self.assertLessEqual(mounted, set(made))

    def test_one_node_has_one_of_each_and_shares_no_volume_with_another(self):
        for workload in rules.of_kind(rendered("local"), *rules.WORKLOADS):
            self.assertEqual(workload["spec"]["replicas"], 1)
            for claim in workload["spec"].get("volumeClaimTemplates", []):
                self.assertEqual(claim["spec"]["accessModes"], ["ReadWriteOnce"])

    def test_several_nodes_share_the_outputs(self):
        claims = find(rendered("cpu"), "StatefulSet", "hub")["spec"]["volumeClaimTemplates"]
        self.assertEqual([claim["spec"]["accessModes"] for claim in claims if claim["metadata"]["name"] == "experiments"],
                         [["ReadWriteMany"]])

    def test_an_actor_image_of_a_users_is_one_line_and_changes_actors_and_evaluators_alone(self):
        def images(documents):
            return {one["metadata"]["name"]: rules.container(one)["image"]
                    for one in rules.of_kind(documents, *rules.WORKLOADS)}

        [line] = re.findall(r"(?m)^  - {name: waggle-actor, .*}$", (KUBERNETES / "README.md").read_text())
        with with_actor_image(line) as folder:
            for overlay in OVERLAYS:
                with self.subTest(overlay=overlay):
                    changed = dict.fromkeys(("actor", "evaluator"), "REGISTRY/my-actor:1")
                    self.assertEqual(images(rendered(overlay, folder)), {**images(rendered(overlay)), **changed})

    def test_gpus_go_to_learners_alone(self):
        with_gpu = [one["metadata"]["name"] for one in rules.of_kind(rendered("gpu"), *rules.WORKLOADS)
                    if "nvidia.com/gpu" in rules.container(one)["resources"]["limits"]]
        self.assertEqual(with_gpu, ["learner"])
        learner = find(rendered("gpu"), "Deployment", "learner")
        self.assertIn({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
                      rules.pod(learner)["tolerations"])
        [volume] = [mount["name"] for mount in rules.container(learner)["volumeMounts"] if mount["mountPath"] == "/dev/shm"]
        self.assertIn("Memory", [one["emptyDir"]["medium"] for one in rules.pod(learner)["volumes"] if one["name"] == volume])

    def test_pods_of_podman_are_those_of_one_node(self):
        of_cluster = {one["metadata"]["name"]: rules.container(one) for one in rules.of_kind(rendered("local"), *rules.WORKLOADS)}
        for workload in rules.of_kind(rendered("podman"), *rules.WORKLOADS):
            mine, wanted = dict(rules.container(workload)), dict(of_cluster[workload["metadata"]["name"]])
            for one in (mine, wanted):  # These have to differ.
                for key in ("image", "ports", "envFrom", "env"):
                    one.pop(key, None)
                # podman's pods serve plain text.
                one["command"] = [word for word in one["command"] if word != "--insecure"]
                one["volumeMounts"] = [mount for mount in one["volumeMounts"] if mount["name"] != "certificates"]
            self.assertEqual(mine, wanted)

    def test_podman_publishes_the_hub_alone_and_to_this_machine_alone(self):
        """podman 4.3 publishes each port of a container, by default at all addresses."""
        published = {one["metadata"]["name"]: [port.get("hostIP") for port in rules.container(one).get("ports", [])]
                     for one in rules.of_kind(rendered("podman"), *rules.WORKLOADS)}
        self.assertEqual({name: ports for name, ports in published.items() if ports}, {"hub": ["127.0.0.1"]})

    def test_no_two_pods_of_podman_share_a_folder_unawares(self):
        """podman 4.3 keeps an emptyDir as a volume with that name, whatever its pod."""
        names = [volume["name"] for one in rules.of_kind(rendered("podman"), *rules.WORKLOADS)
                 for volume in rules.pod(one)["volumes"] if "emptyDir" in volume]
        self.assertEqual(sorted(names), sorted(set(names)))


def of(kind, name):
    return lambda documents: find(documents, kind, name)


def container_of(kind, name):
    return lambda documents: rules.container(find(documents, kind, name))


# For each rule, a change that breaks it: the object, the key, the new value.
BROKEN = (
    (rules.components_are_there, of("Deployment", "evaluator"), "kind", "Job"),
    (rules.containers_are_confined, container_of("Deployment", "actor"), "securityContext", {}),
    (rules.containers_are_confined, lambda documents: rules.pod(find(documents, "StatefulSet", "hub")), "securityContext",
     {"runAsNonRoot": True, "runAsUser": 0}),
    (rules.resources_are_said, container_of("Deployment", "learner"), "resources", {"limits": {"memory": "1Gi"}}),
    (rules.probes_ask_the_process_itself, container_of("Deployment", "learner"), "livenessProbe",
     {"exec": {"command": ["waggle", "health", "hub:7000"]}}),
    (rules.images_have_versions, container_of("Deployment", "learner"), "image", "registry:5000/waggle"),
    (rules.volumes_are_there, lambda documents: find(documents, "StatefulSet", "hub")["spec"], "volumeClaimTemplates", []),
    (rules.outputs_are_seen_at_one_path, lambda documents: rules.container(find(documents, "Deployment", "learner")),
     "volumeMounts", []),
    (rules.selectors_are_their_own, lambda documents: find(documents, "Deployment", "actor")["spec"], "selector",
     {"matchLabels": {"app.kubernetes.io/name": "waggle"}}),
    (rules.services_have_endpoints, lambda documents: find(documents, "Service", "hub")["spec"], "selector",
     {"app.kubernetes.io/component": "hup"}),
    (rules.services_have_endpoints, container_of("StatefulSet", "replay"), "ports", [{"name": "grpc", "containerPort": 7}]),
    (rules.budgets_select, lambda documents: find(documents, "PodDisruptionBudget", "actor")["spec"], "selector",
     {"matchLabels": {"app.kubernetes.io/component": "actress"}}),
    (rules.policies_allow_what_is_needed_alone, of("NetworkPolicy", "deny-all"), "spec",
     {"podSelector": {}, "policyTypes": ["Ingress"]}),
    (rules.policies_allow_what_is_needed_alone, lambda documents: find(documents, "NetworkPolicy", "to-replay-in")["spec"],
     "ingress", []),
    (rules.policies_allow_what_is_needed_alone,
     lambda documents: find(documents, "NetworkPolicy", "workers-to-hub-in")["spec"]["ingress"][0]["from"][0], "podSelector", {}),
    (rules.connections_are_encrypted, container_of("Deployment", "actor"), "env", []),
    (rules.connections_are_encrypted, container_of("StatefulSet", "hub"), "env",
     [{"name": "WAGGLE_TLS", "value": "/elsewhere"}]),
    (rules.connections_are_encrypted, lambda documents: rules.pod(find(documents, "Deployment", "learner"))["volumes"][0],
     "secret", {"secretName": "waggle-hub"}),
    (rules.connections_are_encrypted, container_of("Deployment", "learner"), "command", ["waggle-learner", "--insecure"]),
    (rules.hub_is_found, lambda documents: rules.of_kind(documents, "ConfigMap")[0]["data"], "WAGGLE_PARAM_SERVER", "hup:7000"),
)


class RulesTest(unittest.TestCase):
    def test_each_rule_can_be_broken(self):
        for rule, part, key, value in BROKEN:
            with self.subTest(rule=rule.__name__, key=key, value=value):
                documents = copy.deepcopy(rendered("local"))
                part(documents)[key] = value
                self.assertNotEqual(list(rule(documents)), [])

    def test_every_rule_is_broken_once(self):
        self.assertEqual({rule for rule, *_ in BROKEN}, set(rules.OF_CLUSTERS))


if __name__ == "__main__":
    if KUBECTL is None:
        print("kubernetes_manifests: SKIPPED, nothing was tested: there is no kubectl (Debian's package is kubernetes-client)",
              file=sys.stderr)
        sys.exit(0)
    unittest.main()
