"""prometheus.py FOLDER < MANIFESTS: FOLDER/prometheus.yml and rules.yml as Prometheus Operator would make them of the
PodMonitors and PrometheusRules among the manifests. FOLDER/pods.json is what `kubectl get pods -A -o json` says: Debian's
Prometheus has no discovery in Kubernetes, so the pods stand in a file, with the labels that discovery gives them."""

import json
import pathlib
import sys

import yaml


def labelled(name):
    return "".join(c if c.isalnum() else "_" for c in name)


def targets(pods):
    for pod in pods:
        meta, ip = pod["metadata"], pod["status"].get("podIP")
        labels = {f"__meta_kubernetes_pod_label_{labelled(k)}": v for k, v in meta.get("labels", {}).items()}
        for container in pod["spec"]["containers"]:
            for port in container.get("ports", []) if ip else []:
                yield {"targets": [f"{ip}:{port['containerPort']}"], "labels": labels | {
                    "__meta_kubernetes_namespace": meta["namespace"],
                    "__meta_kubernetes_pod_name": meta["name"],
                    "__meta_kubernetes_pod_container_name": container["name"],
                    "__meta_kubernetes_pod_container_port_name": port.get("name", ""),
                }}


def relabelings(monitor, endpoint):
    """What the operator puts before a PodMonitor's own relabelings (its pkg/prometheus/promcfg.go)."""
    for key, value in monitor["spec"]["selector"]["matchLabels"].items():
        yield {"source_labels": [f"__meta_kubernetes_pod_label_{labelled(key)}"], "regex": value, "action": "keep"}
    yield {"source_labels": ["__meta_kubernetes_pod_container_port_name"], "regex": endpoint["port"], "action": "keep"}
    for label, source in (("namespace", "namespace"), ("container", "pod_container_name"), ("pod", "pod_name")):
        yield {"source_labels": [f"__meta_kubernetes_{source}"], "target_label": label}
    for own in endpoint.get("relabelings", []):
        yield {"source_labels": own["sourceLabels"], "target_label": own["targetLabel"]}


def jobs(monitor):
    meta, spec = monitor["metadata"], monitor["spec"]
    names = spec.get("namespaceSelector", {})
    here = names.get("matchNames", [meta["namespace"]])
    among = [] if names.get("any") else [
        {"source_labels": ["__meta_kubernetes_namespace"], "regex": "|".join(here), "action": "keep"}]
    for n, endpoint in enumerate(spec["podMetricsEndpoints"]):
        yield {
            "job_name": f"{meta['namespace']}/{meta['name']}/{n}",
            "scrape_interval": endpoint["interval"],
            "honor_labels": endpoint.get("honorLabels", False),
            "file_sd_configs": [{"files": ["targets.json"]}],
            "relabel_configs": [*among, *relabelings(monitor, endpoint)],
        }


def main():
    folder = pathlib.Path(sys.argv[1])
    manifests = [m for m in yaml.safe_load_all(sys.stdin) if m]
    of = lambda kind: [m for m in manifests if m["kind"] == kind]
    groups = [g for rule in of("PrometheusRule") for g in rule["spec"]["groups"]]
    scrapes = [job for monitor in of("PodMonitor") for job in jobs(monitor)]
    pods = json.loads((folder / "pods.json").read_text())["items"]
    (folder / "targets.json").write_text(json.dumps(list(targets(pods))))
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": groups}))
    (folder / "prometheus.yml").write_text(yaml.safe_dump({
        "global": {"evaluation_interval": "5s"},
        "rule_files": ["rules.yml"],
        "scrape_configs": scrapes,
    }))


main()
