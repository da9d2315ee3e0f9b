use super::*;

/// RabbitMQ's documentation: salt 908DC60A, password "test12".
const TEST12: &str = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR";

fn local() -> IpAddr {
    IpAddr::from([127, 0, 0, 1])
}

#[test]
fn the_documented_hash_of_rabbitmq_lets_its_password_in() {
    let users = Users::parse(&format!("# people\n\nme:{TEST12}\n")).unwrap();
    assert!(users.allow("me", b"test12", local()));
    assert!(!users.allow("me", b"test13", local()));
    assert!(!users.allow("you", b"test12", local()));
}

#[test]
fn guest_enters_from_loopback_only_and_only_where_allowed() {
    let users = Users::default();
    assert!(!users.allow("guest", b"guest", local()));
    let users = users.with_guest_from_loopback(true);
    assert!(users.allow("guest", b"guest", local()));
    assert!(users.allow("guest", b"guest", "::1".parse().unwrap()));
    assert!(users.allow("guest", b"guest", "::ffff:127.0.0.1".parse().unwrap()));
    assert!(!users.allow("guest", b"wrong", local()));
    assert!(!users.allow("guest", b"guest", IpAddr::from([10, 0, 0, 1])));
}

#[test]
fn a_wrong_line_is_named() {
    assert_eq!(Users::parse("\nme").unwrap_err(), InvalidUsers::NoColon(2));
    assert_eq!(Users::parse("me:AAAA").unwrap_err(), InvalidUsers::Hash(1));
}

#[test]
fn a_line_that_is_made_lets_its_user_in() {
    let line = users_file_line("a:b", b"secret");
    let users = Users::parse(&line).unwrap();
    assert!(users.allow("a:b", b"secret", local()));
    assert_ne!(line, users_file_line("a:b", b"secret"));
}
