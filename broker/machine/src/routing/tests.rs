//! Routing scenarios as data.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::*;
use crate::metadata::image::QueueKind;
use model::BrokerId;

/// Builds a virtual host from lines: `queue NAME`, `exchange NAME KIND [alternate=NAME]`,
/// `bind SOURCE queue|exchange DESTINATION KEY [name=value ...]` (`""` is the empty key).
fn vhost(text: &str) -> Arc<Vhost> {
    let mut vhost = Vhost::default();
    for (id, line) in text.lines().map(str::trim).enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            ["queue", name] => {
                let queue = Queue {
                    vhost: "/".into(),
                    name: (*name).into(),
                    id: id as u64,
                    kind: QueueKind::Classic { home: BrokerId(0) },
                    durable: true,
                    auto_delete: false,
                    exclusive: None,
                    arguments: Table::new(),
                };
                vhost.queues.insert((*name).into(), Arc::new(queue));
            }
            ["exchange", name, kind, rest @ ..] => {
                let mut arguments = Table::new();
                if let [alternate] = rest {
                    let name = alternate.strip_prefix("alternate=").unwrap();
                    let name = Value::String(name.to_owned());
                    arguments.insert(ALTERNATE_EXCHANGE.to_owned(), name);
                }
                let exchange = Exchange {
                    name: (*name).into(),
                    kind: match *kind {
                        "direct" => ExchangeKind::Direct,
                        "fanout" => ExchangeKind::Fanout,
                        "topic" => ExchangeKind::Topic,
                        _ => ExchangeKind::Headers,
                    },
                    durable: true,
                    auto_delete: false,
                    internal: false,
                    arguments,
                };
                vhost.exchanges.insert((*name).into(), Arc::new(exchange));
            }
            ["bind", source, kind, destination, key, arguments @ ..] => {
                let destination = match *kind {
                    "queue" => Destination::Queue((*destination).into()),
                    _ => Destination::Exchange((*destination).into()),
                };
                let binding = Binding {
                    source: (*source).into(),
                    destination,
                    routing_key: key.trim_matches('"').into(),
                    arguments: table(arguments),
                };
                let bindings = vhost.bindings.entry((*source).into()).or_default();
                bindings.push_back(Arc::new(binding));
            }
            other => panic!("scenario line not understood: {other:?}"),
        }
    }
    Arc::new(vhost)
}

/// `name=1` is an integer, `name=` is void, `name=text` a string.
fn table(pairs: &[&str]) -> Table {
    let pairs = pairs.iter().map(|pair| {
        let (name, value) = pair.split_once('=').unwrap();
        let value = match (value, value.parse()) {
            ("", _) => Value::Void,
            (_, Ok(number)) => Value::Int(number),
            (text, Err(_)) => Value::String(text.to_owned()),
        };
        (name.to_owned(), value)
    });
    pairs.collect()
}

fn names(routed: &Routed) -> String {
    let names: Vec<&str> = routed.queues.iter().map(|q| q.name.as_ref()).collect();
    names.join(" ")
}

#[track_caller]
fn check(vhost_text: &str, exchange: &str, key: &str, headers: &[&str], expected: &str) {
    let vhost = vhost(vhost_text);
    let headers = table(headers);
    let routed = route(&vhost, exchange, &[key], &|| headers.clone()).unwrap();
    assert_eq!(names(&routed), expected, "key {key:?}, headers {headers:?}");
    let mut cache = Cache::default();
    for round in ["first", "second"] {
        let cached = cache.route(&vhost, exchange, &[key], &|| headers.clone());
        assert_eq!(names(&cached.unwrap()), expected, "{round} time by cache");
    }
}

#[test]
fn topic_patterns_match_as_rabbitmq_does() {
    // pattern, keys that match, keys that do not
    let table: &[(&str, &[&str], &[&str])] = &[
        ("#", &["", "a", "a.b", ".", "a..b"], &[]),
        ("", &[""], &["a", "."]),
        ("*", &["a"], &["", "a.b", "."]),
        (
            "a.#.b",
            &["a.b", "a..b", "a.x.b", "a.x.y.b"],
            &["a", "b", "a.b.c"],
        ),
        ("a.*", &["a.b", "a."], &["a", "a.b.c", ".a"]),
        ("*.#", &["a", ".", "a.b", "a.b.c"], &[""]),
        ("#.*", &["a", "a.b"], &[""]),
        ("*.*", &["a.b", "."], &["a", "a.b.c"]),
        ("#.#", &["", "a", "a.b"], &[]),
        ("a.#", &["a", "a.b", "a.b.c"], &["", "b", "ab"]),
        (
            "#.a.#.b",
            &["a.b", "x.a.y.a.b", "a.a.b.b"],
            &["a", "b.a", "a.b.c"],
        ),
        (
            "quick.*.fox",
            &["quick.brown.fox"],
            &["quick.fox", "quick.a.b.fox"],
        ),
    ];
    for (pattern, matching, others) in table {
        for key in *matching {
            assert!(topic::matches(pattern, key), "{pattern:?} takes {key:?}");
        }
        for key in *others {
            assert!(!topic::matches(pattern, key), "{pattern:?} leaves {key:?}");
        }
    }
}

#[test]
fn topic_match_of_many_hashes_stays_cheap() {
    let pattern = vec!["#.a"; 40].join(".");
    let key = vec!["a"; 39].join(".") + ".b";
    assert!(!topic::matches(&pattern, &key));
}

#[test]
fn headers_match_by_mode() {
    // arguments, headers, matches
    let cases: &[(&[&str], &[&str], bool)] = &[
        (&[], &[], true),
        (&[], &["a=1"], true),
        (&["x-match=any"], &["a=1"], false),
        (&["a=1", "b=2"], &["a=1", "b=2", "c=3"], true),
        (&["a=1", "b=2"], &["a=1"], false),
        (&["x-match=any", "a=1", "b=2"], &["b=2"], true),
        (&["x-match=any", "a=1", "b=2"], &["b=3"], false),
        (&["a="], &["a=anything"], true),
        (&["a="], &[], false),
        (&["a=one"], &["a=1"], false),
        (&["x-kind=1"], &[], true),
        (&["x-match=any", "x-kind=1"], &["x-kind=1"], false),
        (&["x-match=all-with-x", "x-kind=1"], &[], false),
        (&["x-match=all-with-x", "x-kind=1"], &["x-kind=1"], true),
        (
            &["x-match=any-with-x", "x-kind=1", "a=2"],
            &["x-kind=1"],
            true,
        ),
    ];
    for (arguments, headers, expected) in cases {
        let matched = headers::matches(&table(arguments), &table(headers));
        assert_eq!(matched, *expected, "{arguments:?} against {headers:?}");
    }
}

#[test]
fn default_exchange_reaches_the_queue_of_that_name() {
    check("queue a\nqueue b", "", "a", &[], "a");
    check("queue a\nqueue b", "", "none", &[], "");
}

#[test]
fn direct_exchange_gives_each_queue_one_copy() {
    let text = "queue a
        queue b
        exchange x direct
        bind x queue a k
        bind x queue b k
        bind x queue a k
        bind x queue a other";
    check(text, "x", "k", &[], "a b");
    check(text, "x", "other", &[], "a");
    check(text, "x", "none", &[], "");
}

#[test]
fn fanout_exchange_ignores_the_key() {
    let text = "queue a
        queue b
        exchange x fanout
        bind x queue b \"\"
        bind x queue a key";
    check(text, "x", "whatever", &[], "b a");
}

#[test]
fn several_keys_reach_a_queue_once() {
    let vhost = vhost(
        "queue a
        queue b
        exchange x direct
        bind x queue a k1
        bind x queue a k2
        bind x queue b k2",
    );
    let routed = route(&vhost, "x", &["k1", "k2"], &Table::new).unwrap();
    assert_eq!(names(&routed), "a b");
    let routed = route(&vhost, "", &["b", "a", "b"], &Table::new).unwrap();
    assert_eq!(names(&routed), "b a");
}

#[test]
fn exchange_cycles_end() {
    let text = "queue a
        queue b
        exchange x fanout
        exchange y topic
        bind x exchange y \"\"
        bind y exchange x #
        bind y queue a k.#
        bind x queue b \"\"";
    check(text, "x", "k.1", &[], "b a");
    check(text, "y", "k.1", &[], "a b");
}

#[test]
fn alternate_exchange_takes_what_finds_no_destination() {
    let text = "queue a
        queue lost
        exchange x direct alternate=y
        exchange y fanout
        bind x queue a k
        bind y queue lost \"\"";
    check(text, "x", "k", &[], "a");
    check(text, "x", "other", &[], "lost");
}

#[test]
fn alternate_exchanges_chain_and_loops_end() {
    let text = "queue lost
        exchange x direct alternate=y
        exchange y direct alternate=z
        exchange z fanout alternate=x
        bind z queue lost \"\"";
    check(text, "x", "k", &[], "lost");
    let loop_only = "exchange x direct alternate=y
        exchange y direct alternate=x";
    check(loop_only, "x", "k", &[], "");
    check("exchange x direct alternate=gone", "x", "k", &[], "");
}

#[test]
fn headers_exchange_is_routed_anew_each_time() {
    let vhost = vhost(
        "queue a
        exchange h headers
        bind h queue a \"\" kind=red",
    );
    let mut cache = Cache::default();
    let red = cache.route(&vhost, "h", &["k"], &|| table(&["kind=red"]));
    assert_eq!(names(&red.unwrap()), "a");
    let blue = cache.route(&vhost, "h", &["k"], &|| table(&["kind=blue"]));
    assert_eq!(names(&blue.unwrap()), "");
}

#[test]
fn cache_forgets_when_the_virtual_host_changes() {
    let mut cache = Cache::default();
    let before = vhost("queue a\nexchange x direct\nbind x queue a k");
    let routed = cache.route(&before, "x", &["k"], &Table::new).unwrap();
    assert_eq!(names(&routed), "a");
    let after = vhost("queue b\nexchange x direct\nbind x queue b k");
    let routed = cache.route(&after, "x", &["k"], &Table::new).unwrap();
    assert_eq!(names(&routed), "b");
}

#[test]
fn cache_is_bounded() {
    let mut cache = Cache::default();
    let vhost = vhost("exchange x direct");
    for key in 0..3 * CACHE_ENTRIES_MAX {
        let key = key.to_string();
        cache.route(&vhost, "x", &[&key], &Table::new).unwrap();
        assert!(cache.len <= CACHE_ENTRIES_MAX);
    }
}

#[test]
fn unknown_exchange_is_refused() {
    let vhost = vhost("queue a");
    let refused = route(&vhost, "x", &["a"], &Table::new);
    assert_eq!(refused, Err(NoSuchExchange("x".to_owned())));
}
