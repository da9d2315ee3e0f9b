//! Why a pod does not serve, in words that stay the same while it does not: the kubelet's own change
//! with every attempt.

use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod};

#[cfg(test)]
mod tests;

/// Something that keeps a pod from serving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) words: String,
    /// Its container cannot start at all; waiting cures it only by accident.
    pub(super) broken: bool,
}

/// `users` names the Secret that the pod mounts.
pub(super) fn of(pod: &Pod, users: Option<&str>) -> Option<Trouble> {
    let status = pod.status.as_ref()?;
    let condition = |kind: &str| {
        let mut all = status.conditions.iter().flatten();
        all.find(|c| c.type_ == kind)
    };
    if let Some(c) = condition("PodScheduled")
        && c.status == "False"
        && c.reason.as_deref() == Some("Unschedulable")
    {
        let message = c.message.as_deref().unwrap_or_default();
        return Some(broken(format!("no node takes it: {message}")));
    }
    let containers = status
        .init_container_statuses
        .iter()
        .chain(&status.container_statuses)
        .flatten();
    if let Some(trouble) = containers.filter(|c| !c.ready).find_map(of_container) {
        return Some(trouble);
    }
    // A sandbox comes after the volumes.
    let mounting = condition("PodScheduled").is_some_and(|c| c.status == "True")
        && condition("PodReadyToStartContainers").is_some_and(|c| c.status == "False")
        && pod.metadata.deletion_timestamp.is_none();
    mounting.then(|| Trouble {
        words: users.map_or_else(
            || "its volumes are not mounted yet".to_owned(),
            |name| format!("its volumes are not mounted yet; one of them is Secret {name}"),
        ),
        broken: false,
    })
}

fn of_container(container: &ContainerStatus) -> Option<Trouble> {
    let waiting = container.state.as_ref().and_then(|s| s.waiting.as_ref());
    let reason = waiting.and_then(|w| w.reason.as_deref());
    let said = || waiting.and_then(|w| w.message.as_deref()).unwrap_or("?");
    let image = &container.image;
    Some(match reason {
        Some("ImagePullBackOff" | "ErrImagePull") => {
            broken(format!("image {image} cannot be pulled"))
        }
        Some("ErrImageNeverPull") => broken(format!(
            "image {image} is not on its node, and imagePullPolicy is Never"
        )),
        Some("InvalidImageName") => broken(format!("image {image} is no name of an image")),
        Some("CreateContainerConfigError" | "CreateContainerError") => {
            broken(format!("its container cannot be created: {}", said()))
        }
        // Between two attempts it runs for a moment, which is no better.
        _ => Trouble {
            words: ended(container)?,
            broken: reason == Some("CrashLoopBackOff"),
        },
    })
}

/// How the container ended last, with the last line that it wrote.
fn ended(container: &ContainerStatus) -> Option<String> {
    let of = |state: &Option<ContainerState>| state.as_ref()?.terminated.clone();
    let end = of(&container.state).or_else(|| of(&container.last_state))?;
    if end.exit_code == 0 {
        return None;
    }
    let line = end
        .message
        .as_deref()
        .and_then(|text| text.trim_end().lines().next_back())
        .map(|line| line.strip_prefix("millrace: ").unwrap_or(line));
    Some(match (line, end.reason.as_deref()) {
        (_, Some("OOMKilled")) => "its memory limit killed it".to_owned(),
        (Some(line), _) => format!("it ended with code {}: {line}", end.exit_code),
        (None, _) => format!("it ended with code {}", end.exit_code),
    })
}

fn broken(words: String) -> Trouble {
    Trouble {
        words,
        broken: true,
    }
}
