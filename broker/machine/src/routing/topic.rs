//! Topic exchange: words between dots, `*` is one word, `#` is none or more (RabbitMQ:
//! `rabbit_exchange_type_topic`).
//!
//! The key `""` has no words at all; a word between two dots may be empty.

/// Greedy with one step back: linear in words for one `#`, at worst words of the pattern times words of
/// the key, and no recursion on what a client sent.
pub(super) fn matches(pattern: &str, key: &str) -> bool {
    let pattern: Vec<&str> = words(pattern).collect();
    let key: Vec<&str> = words(key).collect();
    let (mut p, mut k) = (0, 0);
    // Where the last `#` stood and the first key word it did not take yet.
    let mut hash: Option<(usize, usize)> = None;
    while k < key.len() {
        match pattern.get(p) {
            Some(&"#") => {
                hash = Some((p, k));
                p += 1;
            }
            Some(word) if *word == "*" || key.get(k) == Some(word) => {
                p += 1;
                k += 1;
            }
            _ => match hash {
                // Let the `#` take one word more.
                Some((at, taken)) => {
                    hash = Some((at, taken + 1));
                    p = at + 1;
                    k = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|word| *word == "#")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let text = (!text.is_empty()).then_some(text);
    text.into_iter().flat_map(|text| text.split('.'))
}
