use super::*;

fn shell(script: &'static str) -> impl Fn(u16) -> io::Result<Command> {
    move |_| {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Ok(command)
    }
}

#[tokio::test(start_paused = true)]
async fn child_that_dies_is_started_again() {
    let mut children = Children::start(1, shell("exit 7"));
    for _ in 0..2 {
        assert!(matches!(
            children.event().await,
            Event::Started { index: 0, .. }
        ));
        match children.event().await {
            Event::Died { status, .. } => assert_eq!(status.code(), Some(7)),
            other => panic!("{other:?}"),
        }
    }
    children.stop(std::future::pending()).await;
}

#[tokio::test]
async fn stop_waits_for_a_child_that_cleans_up() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_owned();
    let mut children = Children::start(1, move |_| {
        let mut command = Command::new("sh");
        command.current_dir(&path).args([
            "-c",
            "trap 'echo clean > cleaned; exit 0' TERM; echo up > up; while :; do sleep 0.01; done",
        ]);
        Ok(command)
    });
    assert!(matches!(children.event().await, Event::Started { .. }));
    while !dir.path().join("up").exists() {
        tokio::task::yield_now().await;
    }
    children.stop(std::future::pending()).await;
    assert!(dir.path().join("cleaned").exists());
}

#[tokio::test]
async fn child_that_will_not_stop_is_killed_when_hurried() {
    let mut children = Children::start(1, shell("trap '' TERM; while :; do sleep 0.01; done"));
    assert!(matches!(children.event().await, Event::Started { .. }));
    children.stop(std::future::ready(())).await;
}

#[tokio::test(start_paused = true)]
async fn program_that_is_missing_is_reported() {
    let mut children = Children::start(1, |_| Ok(Command::new("/nonexistent/millrace")));
    assert!(matches!(children.event().await, Event::NotStarted { .. }));
}

#[test]
fn first_death_costs_no_delay_and_each_further_one_in_a_row_doubles_it() {
    let delays: Vec<u64> = (1..=8).map(|n| restart_delay(n).as_secs()).collect();
    assert_eq!(delays, [0, 1, 2, 4, 8, 16, 30, 30]);
    assert_eq!(restart_delay(u32::MAX), RESTART_DELAY_MAX);
}

#[test]
fn death_after_a_healthy_life_is_the_first_of_a_row() {
    assert_eq!(deaths_in_row(5, HEALTHY_AFTER), 1);
    assert_eq!(deaths_in_row(5, HEALTHY_AFTER / 2), 6);
    assert_eq!(deaths_in_row(0, Duration::ZERO), 1);
}
