"""The rules for Waggle's Kubernetes manifests beyond their schema. Each rule takes the documents of one rendered overlay
and yields its violations, one line each."""

WORKLOADS = ("StatefulSet", "Deployment")
COMPONENTS = ("hub", "replay", "learner", "actor", "evaluator", "gradient-reducer")
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
EVERY_PORT = "every port"
# The allowed connections, with their ports. All others are denied.
CONNECTIONS = {
    **{(worker, "hub"): {7000} for worker in COMPONENTS if worker != "hub"},
    **{(worker, "replay"): {7001} for worker in ("learner", "actor")},
    ("actor", "learner"): {7002},
    ("learner", "learner"): {EVERY_PORT},
    ("actor", "gradient-reducer"): {7004},
    ("gradient-reducer", "gradient-reducer"): {7004},
}


def of_kind(documents, *kinds):
    return [document for document in documents if document["kind"] in kinds]


def name(document):
    return f"{document['kind']} {document['metadata']['name']}"


def template(workload):
    return workload["spec"]["template"]


def pod(workload):
    return workload["spec"] if workload["kind"] == "Pod" else template(workload)["spec"]


def container(workload):
    [only] = pod(workload)["containers"]
    return only


def listened_port(workload):
    command = container(workload)["command"]
    return int(command[command.index("--listen") + 1].rpartition(":")[2])


def matches(selector, labels):
    """True if a LabelSelector of the API, or a Service's plain one, selects these labels. Knows only the operator In."""
    if selector and not {"matchLabels", "matchExpressions"} & set(selector):
        selector = {"matchLabels": selector}
    return (all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
            and all({"In": labels.get(one["key"]) in one["values"]}[one["operator"]]
                    for one in selector.get("matchExpressions", [])))


def selected(documents, selector):
    return [one for one in of_kind(documents, *WORKLOADS) if matches(selector, template(one)["metadata"]["labels"])]


def components_are_there(documents):
    found = sorted(one["metadata"]["name"] for one in of_kind(documents, *WORKLOADS))
    if found != sorted(COMPONENTS):
        yield f"got the workloads {found}; wanted {sorted(COMPONENTS)}"


def containers_are_confined(documents):
    for workload in of_kind(documents, *WORKLOADS, "Pod"):
        context, own = pod(workload).get("securityContext", {}), container(workload).get("securityContext", {})
        wanted = {
            "a user that is not root": context.get("runAsNonRoot") is True and context.get("runAsUser", 0) > 0
                                       and "runAsUser" not in own and "runAsNonRoot" not in own,
            "a group for its volumes": context.get("fsGroup", 0) > 0,
            "seccomp RuntimeDefault": context.get("seccompProfile") == {"type": "RuntimeDefault"},
            "a read-only root file system": own.get("readOnlyRootFilesystem") is True,
            "no privilege escalation": own.get("allowPrivilegeEscalation") is False,
            "no capabilities": own.get("capabilities") == {"drop": ["ALL"]},
            "no token of the API": pod(workload).get("automountServiceAccountToken") is False,
            "a writable /tmp": "/tmp" in [mount["mountPath"] for mount in container(workload)["volumeMounts"]],
            "nothing of the host": not {"hostNetwork", "hostPID", "hostIPC"} & set(pod(workload))
                                   and not any("hostPath" in volume for volume in pod(workload)["volumes"]),
        }
        yield from (f"{name(workload)}: lacks {what}" for what, holds in wanted.items() if not holds)


def resources_are_said(documents):
    for workload in of_kind(documents, *WORKLOADS):
        resources = container(workload)["resources"]
        for section, key in (("requests", "cpu"), ("requests", "memory"), ("limits", "memory")):
            if key not in resources.get(section, {}):
                yield f"{name(workload)}: has no {section}.{key}"
        if pod(workload).get("terminationGracePeriodSeconds", 0) < 30:
            yield f"{name(workload)}: got terminationGracePeriodSeconds below 30; a process may take 10 s, and more on a slow disk"


def probes_ask_the_process_itself(documents):
    for workload in of_kind(documents, *WORKLOADS):
        wanted = ["waggle", "health", f"127.0.0.1:{listened_port(workload)}"]
        for probe in PROBES:
            command = container(workload).get(probe, {}).get("exec", {}).get("command")
            if command != wanted:
                yield f"{name(workload)}: {probe}: got {command}; wanted {wanted}"


def images_have_versions(documents):
    for workload in of_kind(documents, *WORKLOADS):
        image = container(workload)["image"]
        tag = image.rpartition("/")[2].partition(":")[2]
        if tag in ("", "latest"):
            yield f"{name(workload)}: got the image {image}; wanted one with a version"


def volumes_are_there(documents):
    made = {document["metadata"]["name"] for document in of_kind(documents, "PersistentVolumeClaim")}
    for workload in of_kind(documents, "StatefulSet"):
        made |= {f"{claim['metadata']['name']}-{workload['metadata']['name']}-{ordinal}"
                 for claim in workload["spec"].get("volumeClaimTemplates", [])
                 for ordinal in range(workload["spec"]["replicas"])}
    for workload in of_kind(documents, *WORKLOADS):
        volumes = {volume["name"] for volume in pod(workload)["volumes"]}
        volumes |= {claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", [])}
        for mount in container(workload)["volumeMounts"]:
            if mount["name"] not in volumes:
                yield f"{name(workload)}: mounts {mount['name']}, which is no volume of it"
        for volume in pod(workload)["volumes"]:
            claim = volume.get("persistentVolumeClaim", {}).get("claimName")
            # podman has no StatefulSet here, and creates a volume for each unknown claim.
            if claim is not None and claim not in made and of_kind(documents, "StatefulSet"):
                yield f"{name(workload)}: claims {claim}, which nothing makes"


def outputs_are_seen_at_one_path(documents):
    claims = set()
    for workload in of_kind(documents, *WORKLOADS):
        if workload["metadata"]["name"] not in ("hub", "learner", "gradient-reducer"):
            continue
        mounted = [mount["name"] for mount in container(workload)["volumeMounts"] if mount["mountPath"] == "/experiments"]
        if mounted != ["experiments"]:
            yield f"{name(workload)}: got {mounted} at /experiments; wanted the volume experiments"
        claims |= {volume["persistentVolumeClaim"]["claimName"]
                   for volume in pod(workload)["volumes"] if volume["name"] == "experiments"}
    if claims != {"experiments-hub-0"}:
        yield f"got the claims {sorted(claims)} for experiments; wanted the hub's own, experiments-hub-0"


def selectors_are_their_own(documents):
    for workload in of_kind(documents, *WORKLOADS):
        found = [name(one) for one in selected(documents, workload["spec"]["selector"])]
        if found != [name(workload)]:
            yield f"{name(workload)}: its selector selects {found}; wanted itself alone"


def connections_are_encrypted(documents):
    """Each process has its certificates as a folder: single files of a secret (subPath) would never be renewed."""
    for workload in of_kind(documents, *WORKLOADS):
        role = "hub" if workload["metadata"]["name"] == "hub" else "worker"
        [folder] = [one["value"] for one in container(workload).get("env", []) if one["name"] == "WAGGLE_TLS"] or [None]
        mounts = [mount for mount in container(workload)["volumeMounts"] if mount["mountPath"] == folder]
        secrets = {volume["name"]: volume["secret"]["secretName"] for volume in pod(workload)["volumes"] if "secret" in volume}
        found = [secrets.get(mount["name"]) for mount in mounts if "subPath" not in mount]
        if found != [f"waggle-{role}"]:
            yield f"{name(workload)}: got the secrets {found} at WAGGLE_TLS={folder}; wanted waggle-{role}"
        if "--insecure" in container(workload)["command"]:
            yield f"{name(workload)}: has --insecure"


def services_have_endpoints(documents):
    for service in of_kind(documents, "Service"):
        found = selected(documents, service["spec"]["selector"])
        if len(found) != 1:
            yield f"{name(service)}: selects {[name(one) for one in found]}; wanted one workload"
            continue
        named = {port["name"]: port["containerPort"] for port in container(found[0]).get("ports", [])}
        for port in service["spec"]["ports"]:
            target = named.get(port["targetPort"], port["targetPort"])
            if target != listened_port(found[0]):
                yield f"{name(service)}: port {port['port']} leads to {target}; wanted {listened_port(found[0])}"


def budgets_select(documents):
    for budget in of_kind(documents, "PodDisruptionBudget"):
        found = selected(documents, budget["spec"]["selector"])
        if len(found) != 1:
            yield f"{name(budget)}: selects {[name(one) for one in found]}; wanted one workload"


def allowed(policies, direction, mine, theirs):
    """The ports at which these policies let pods with the labels `mine` and `theirs` talk."""
    ports = set()
    for policy in policies:
        if direction not in policy["spec"]["policyTypes"] or not matches(policy["spec"]["podSelector"], mine):
            continue
        for rule in policy["spec"].get(direction.lower(), []):
            peers = rule["from" if direction == "Ingress" else "to"]
            if any("namespaceSelector" not in peer and matches(peer["podSelector"], theirs) for peer in peers):
                ports |= {port["port"] for port in rule.get("ports", [])} or {EVERY_PORT}
    return ports


def policies_allow_what_is_needed_alone(documents):
    policies = of_kind(documents, "NetworkPolicy")
    for policy in policies:
        if not selected(documents, policy["spec"]["podSelector"]):
            yield f"{name(policy)}: selects nothing"
    if not any(one["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]} for one in policies):
        yield "no NetworkPolicy denies everything"
    labels = {one["metadata"]["name"]: template(one)["metadata"]["labels"] for one in of_kind(documents, *WORKLOADS)}
    labels["stranger"] = {"app.kubernetes.io/name": "other"}
    for source, mine in labels.items():
        for target, theirs in labels.items():
            ports = allowed(policies, "Egress", mine, theirs), allowed(policies, "Ingress", theirs, mine)
            wanted = CONNECTIONS.get((source, target), set())
            if ports != (wanted, wanted):
                yield f"{source} to {target}: got the ports {ports[0]} out and {ports[1]} in; wanted {wanted}"


def hub_is_found(documents):
    [settings] = of_kind(documents, "ConfigMap")
    address = settings["data"]["WAGGLE_PARAM_SERVER"]
    known = [f"{service['metadata']['name']}:{port['port']}" for service in of_kind(documents, "Service")
             for port in service["spec"]["ports"]]
    # podman's name for the pod of a Deployment.
    known += [f"{one['metadata']['name']}-pod-0:{listened_port(one)}" for one in of_kind(documents, "Deployment")]
    if address not in known:
        yield f"WAGGLE_PARAM_SERVER: got {address}; wanted one of {known}"
    for workload in of_kind(documents, *WORKLOADS):
        sources = [one["configMapRef"]["name"] for one in container(workload).get("envFrom", [])]
        wanted = [] if workload["metadata"]["name"] == "hub" else [settings["metadata"]["name"]]
        if sources != wanted:
            yield f"{name(workload)}: takes its environment from {sources}; wanted {wanted}"


OF_ALL = (components_are_there, containers_are_confined, resources_are_said, probes_ask_the_process_itself,
          images_have_versions, volumes_are_there, outputs_are_seen_at_one_path, selectors_are_their_own,
          budgets_select, hub_is_found)
OF_CLUSTERS = OF_ALL + (connections_are_encrypted, services_have_endpoints, policies_allow_what_is_needed_alone)
